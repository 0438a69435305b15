/** What neither XML nor HTML can hold: control characters, halves of characters, and two that are none. */
const IMPOSSIBLE = /[^\P{Cc}\n\t\r]|\p{Cs}|[\ufffe\uffff]/gu
const SPECIAL = /[&<>"'\r]/g
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\r': '&#13;',
}

/** Any text as text, in XML and HTML, between tags and in attributes; what cannot be there is written as `\u0000`. */
export const escapeMarkup = (text: string): string =>
  text
    .replace(IMPOSSIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(SPECIAL, (character) => ENTITIES[character] as string)

/** The same for an attribute of XML, in which a line break would be read as a space. */
export const escapeAttribute = (text: string): string =>
  escapeMarkup(text).replaceAll('\n', '&#10;').replaceAll('\t', '&#9;')
