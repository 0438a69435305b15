import type { FoundValue } from './codes.ts'

/** Values that are known by how they are written. */
export type Pattern = 'email' | 'url' | 'phone' | 'file' | 'airport' | 'ticker'

const PATTERNS: Readonly<Record<Pattern, RegExp>> = {
  email: /[^\s@<>,;:'"()]{1,64}@[^\s@<>,;'"()]{1,200}\.[\p{L}\d-]{2,30}/gu,
  url: /\b(?:https?|ftp|wss?):\/\/[^\s<>"'`]{1,1000}|(?<![@\p{L}\d.])(?:www\.[^\s<>"'`,]{3,500}|(?:[\p{L}\d-]{1,60}\.){1,4}(?:com|org|net|io|dev|edu|gov|example)(?:\/[^\s<>"'`]{0,500})?)/giu,
  phone: /(?<![\p{L}\d.-])\+?\d[\d ().-]{5,18}\d(?![\p{L}\d])/gu,
  airport: /\b[A-Z]{3}\b/g,
  ticker: /\b(?![AI]\b)[A-Z]{1,5}(?:\.[A-Z]{1,2})?\b(?!['’])/g,
  file: /(?<![\p{L}\d@]|(?<!@)[_./\\-])(?:[A-Za-z]:\\|~?\.{0,2}\/)?[\p{L}\d_./\\-]{1,1000}\.(?:[a-z]{1,2}\d?|[a-z]{3,5}|mp[34]|7z)(?![\p{L}\d@])/gu,
}
const ABOUT: readonly (readonly [Pattern, RegExp, RegExp])[] = [
  ['email', /e-?mail/i, /\be-?mail address|addresses? of (?:those|the (?:guests|recipients))/i],
  ['url', /\b(?:url|uri|link|website|webpage|endpoint)s?\b/i, /^[^.]{0,40}\b(?:url|uri)s?\b/i],
  ['phone', /\bphone|\bmobile/i, /^[^.]{0,40}\b(?:tele)?phone number/i],
  ['file', /\b(?:file|filename|path|attachment)s?\b/i, /^[^.]{0,30}\b(?:path to|file ?name|name of the file)/i],
  ['airport', /\biata\b|airport code/i, /\biata\b|airport code/i],
  ['ticker', /\bticker/i, /\bticker\b|stock symbol/i],
]
const AT_THE_END = /(?<![.,;:!?)\]}'"])[.,;:!?)\]}'"]+$/

/** The pattern of a parameter's values, if its name or description has one. */
export function patternWanted(name: string, description: string, format?: string): Pattern | undefined {
  if (format === 'email') return 'email'
  if (format === 'uri' || format === 'url') return 'url'
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/[_-]+/g, ' ')
  if (/\b(?:body|subject|content|text|message|type|format|extension)\b/i.test(words)) return undefined
  return ABOUT.find(([, named, described]) => named.test(words) || described.test(description))?.[0]
}

/** The values in a message that match the pattern. */
export function patternsIn(pattern: Pattern, said: string): FoundValue[] {
  return [...said.matchAll(PATTERNS[pattern])].map(({ index, 0: text }) => {
    const value = text.replace(AT_THE_END, '')
    return { from: index, to: index + value.length, value }
  })
}
