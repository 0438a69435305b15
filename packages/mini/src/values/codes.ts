import { stateCode } from './places.ts'

/** What a code stands for. */
export type CodeKind = 'language' | 'currency' | 'country' | 'state'

/** A recognized value and its position. */
export interface FoundValue {
  readonly from: number
  readonly to: number
  readonly value: string
}

interface Wanted {
  readonly kind: CodeKind
  readonly write: (code: string) => string
}

const CODE = /\bcodes?\b|\biso\b|iso[- ]?\d|(?:two|three|2|3)[- ]letters?|alpha-?2|abbreviat|4217|639/i
const NAMES: readonly (readonly [CodeKind, RegExp, RegExp])[] = [
  ['language', /\blang(?:uage)?\b|\blocale\b/i, /['"(](?:[a-z]{2}|[a-z]{2}-[A-Z]{2})['")]/],
  ['currency', /\bcurrenc(?:y|ies)\b/i, /\b(?:USD|EUR|GBP|JPY|CNY|INR)\b/],
  ['country', /\bcountry\b/i, /['"(](?:US|us|GB|gb|DE|de|FR|fr)['")]/],
  ['state', /\bstate\b/i, /['"(][A-Z]{2}['")]/],
]
/** Ambiguous names of currencies, by their usual meaning. */
const MONEY: Readonly<Record<string, string>> = {
  USD: '$|dollar|buck|american dollar|u.s. dollar',
  EUR: '€|euro',
  GBP: '£|pound|sterling|quid',
  JPY: '¥|yen',
  CNY: 'yuan|renminbi|rmb',
  INR: '₹|rupee',
  CHF: 'franc',
  MXN: 'peso',
  KRW: 'won',
  RUB: 'ruble',
  BRL: 'real|reais',
  ZAR: 'rand',
}
const COUNTRIES: Readonly<Record<string, string>> = {
  US: 'usa|u.s.|united states of america|america|the us',
  GB: 'uk|britain|great britain|england',
  NL: 'holland',
  TR: 'turkey',
  CZ: 'czech republic',
  KR: 'south korea',
}
const LANGUAGES: Readonly<Record<string, string>> = { zh: 'mandarin|simplified chinese', fa: 'farsi' }
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']

/** The kind of code that a parameter takes, by its name and description; undefined if none. */
export function codeWanted(name: string, description: string, fallback?: unknown): Wanted | undefined {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/[_-]+/g, ' ')
  const found = NAMES.find(([, about, shown]) => {
    const asked = about.test(words) || (about.test(description.slice(0, 80)) && CODE.test(description))
    const example = typeof fallback === 'string' ? `'${fallback}'` : ''
    return asked && (CODE.test(`${words} ${description}`) || shown.test(description) || shown.test(example))
  })
  if (found === undefined || /alpha-?3|(?:three|3)[- ]letter country/i.test(description)) return undefined
  return { kind: found[0], write: writerOf(found[0], `${description} '${fallback ?? ''}'`) }
}

/** As the description shows it: "us" in lower case, "de-DE" with the country. */
function writerOf(kind: CodeKind, shown: string): (code: string) => string {
  if (kind === 'language' && /\b[a-z]{2}-[A-Z]{2}\b/.test(shown)) {
    return (code) => (code.includes('-') ? code : `${code}-${new Intl.Locale(code).maximize().region}`)
  }
  const lower = /lower[- ]?case|['"(][a-z]{2}['")]/.test(shown)
  return kind === 'country' && lower ? (code) => code.toLowerCase() : (code) => code
}

/** The codes that a message names, by name or as a code. */
export function codesIn(kind: CodeKind, said: string): FoundValue[] {
  const names = namesOf(kind)
  const found: FoundValue[] = []
  for (const { index, 0: word } of said.matchAll(/[\p{L}\p{M}.&'’-]+|[$€£¥₹]/gu)) {
    if (index < (found.at(-1)?.to ?? 0)) continue
    const one = longestName(names, said, index) ?? writtenCode(kind, names, word, index)
    if (one !== undefined) found.push(one)
  }
  return found
}

function longestName(names: ReadonlyMap<string, string>, said: string, from: number): FoundValue | undefined {
  const rest = said.slice(from, from + 50)
  const ends = [...rest.matchAll(/[\p{L}\p{M}.$€£¥₹]+/gu)].slice(0, 5).map(({ index, 0: word }) => index + word.length)
  for (const end of ends.reverse()) {
    const text = rest.slice(0, end).toLowerCase().replace(/\.$/, '')
    const value = names.get(text) ?? names.get(text.replace(/e?s$/, '')) ?? names.get(text.replace(/s$/, ''))
    // "us" is a country only in capitals, and "in" is never a code.
    if (value !== undefined && text.length > 2) return { from, to: from + end, value }
    if (value !== undefined && (text.length === 1 || rest.slice(0, end) === text.toUpperCase())) {
      return { from, to: from + end, value }
    }
  }
  return undefined
}

/** A literal code: "CHF", "usd", "de-DE". */
function writtenCode(
  kind: CodeKind,
  names: ReadonlyMap<string, string>,
  word: string,
  from: number,
): FoundValue | undefined {
  const text = word.replace(/(?<![.'’-])[.'’-]+$/, '')
  const value = kind === 'language' ? text.toLowerCase() : text.toUpperCase()
  const plain = kind === 'currency' ? /^(?:[A-Z]{3}|usd|eur|gbp|jpy|cad|aud|chf|inr|cny)$/ : /^[A-Z]{2}$/
  if (kind === 'language' && /^[a-z]{2}-[A-Z]{2}$/.test(text)) return { from, to: from + text.length, value: text }
  return plain.test(text) && codesOf(kind, names).has(value) ? { from, to: from + text.length, value } : undefined
}

const known = new Map<CodeKind, ReadonlyMap<string, string>>()
const codes = new Map<CodeKind, ReadonlySet<string>>()

function codesOf(kind: CodeKind, names: ReadonlyMap<string, string>): ReadonlySet<string> {
  const all = codes.get(kind) ?? new Set(names.values())
  codes.set(kind, all)
  return all
}

function namesOf(kind: CodeKind): ReadonlyMap<string, string> {
  let names = known.get(kind)
  if (names === undefined) {
    names = kind === 'state' ? stateCode() : new Map([...listed(kind), ...aliases(kind)])
    known.set(kind, names)
  }
  return names
}

const ALIASES = { language: LANGUAGES, currency: MONEY, country: COUNTRIES }
const aliases = (kind: keyof typeof ALIASES): [string, string][] =>
  Object.entries(ALIASES[kind]).flatMap(([code, names]) =>
    names.split('|').map((name): [string, string] => [name, code]),
  )

/** The English names that the runtime knows. */
function listed(kind: 'language' | 'currency' | 'country'): [string, string][] {
  const type = kind === 'country' ? 'region' : kind
  const names = new Intl.DisplayNames('en', { type, fallback: 'none' })
  const pairs = LETTERS.flatMap((one) => LETTERS.map((other) => one + other))
  const regions = (): string[] => pairs.map((pair) => pair.toUpperCase())
  const codes = kind === 'currency' ? Intl.supportedValuesOf('currency') : kind === 'country' ? regions() : pairs
  const all = codes.flatMap((code): [string, string][] => {
    const name = isCurrent(kind, code) ? names.of(code)?.toLowerCase() : undefined
    return name === undefined ? [] : [[name, code]]
  })
  return kind === 'currency' ? [...all.map(([name, code]): [string, string] => [lastWord(name), code]), ...all] : all
}

/** Retired codes map to newer ones. */
function isCurrent(kind: string, code: string): boolean {
  if (kind === 'currency') return true
  const tag = kind === 'country' ? `und-${code}` : code
  return Intl.getCanonicalLocales(tag)[0] === tag
}

const lastWord = (name: string): string => name.split(' ').at(-1) as string
