/** Control characters, lone surrogates, and the marks that turn the direction of text: a terminal would act on them. */
const UNSAFE = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/gu

/** Text from tools and their callers, made safe for a terminal: what it would act on is written as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, escaped)
}

/** Like `printable`, and on one line. */
export function printableLine(text: string): string {
  return printable(text).replace(/[\n\t]/g, escaped)
}

/** The form that JSON has for it too, so that JSON which is made printable is still the same JSON. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
