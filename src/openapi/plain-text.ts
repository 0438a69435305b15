const TAGS =
  'a|b|i|u|p|br|hr|em|h[1-6]|ul|ol|li|dl|dt|dd|td|th|tr|tt|pre|sup|sub|div|img|code|span|font|small|strong|table|thead|tbody|center|script|style|details|summary|blockquote'
const TAG = new RegExp(`</?(?:${TAGS})(?:\\s[^<>]{0,400})?/?>`, 'gi')
const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&apos;': "'",
  '&nbsp;': ' ',
}

/**
 * Converts a text of the document to one plain paragraph, truncated, without markup and control characters; empty if it
 * isn't text.
 */
export function plainText(value: unknown, maxLength: number): string {
  if (typeof value !== 'string') return ''
  // Cleans only as much as can remain; markup is rarely more than half of a text.
  const text = value
    .slice(0, maxLength * 4 + 1000)
    .toWellFormed()
    .replace(/<!--[\s\S]{0,2000}?-->/g, ' ')
    .replace(/^[ \t]{0,8}(?:#{1,6}(?=\s)|>(?:[ \t]?\[![A-Z]+\])?)/gm, '')
    .replace(/^[ \t|:=-]{3,}$/gm, ' ')
    .replace(/^[ \t]{0,8}(?:`{3,}|~{3,})[\w-]{0,20}/gm, ' ')
    .replace(/!\[[^\][]{0,300}\]\([^()]{0,1000}\)/g, ' ')
    .replace(/\[([^\][]{1,300})\]\([^()]{0,1000}\)/g, '$1')
    .replace(/\*\*/g, '')
    .replace(/(?<=^|[\s(])_([^_\n]{1,500})_(?=$|[\s.,;:!?)])/gm, '$1')
    .replace(TAG, ' ')
    .replace(/&(?:amp|lt|gt|quot|#39|apos|nbsp);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
  return shortened(text, maxLength)
}

/** Truncates at the end of a sentence if one ends late enough, else between words. */
export function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const room = text.slice(0, maxLength + 1)
  const sentence = Math.max(...['. ', '! ', '? '].map((end) => room.lastIndexOf(end)))
  if (sentence >= maxLength / 2) return text.slice(0, sentence + 1)
  const cut = room.slice(0, maxLength - 1)
  const word = room.lastIndexOf(' ', maxLength - 1)
  return `${(word >= maxLength / 2 ? cut.slice(0, word) : cut).trimEnd()}…`.toWellFormed().replace(/\uFFFD…$/, '…')
}

/** Joins texts as sentences; empty ones are skipped. */
export function sentences(...texts: readonly string[]): string {
  return texts
    .filter((text) => text !== '')
    .map((text, at, all) => (at < all.length - 1 && !/[.!?…:;]["')\]]?$/.test(text) ? `${text}.` : text))
    .join(' ')
}
