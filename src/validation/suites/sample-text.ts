import { ownValue } from '../../core/json/json-type.ts'
import { linearPattern, nativePattern } from '../../core/schema/linear-pattern.ts'

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-03-14',
  time: '09:30:00Z',
  'date-time': '2026-03-14T09:30:00Z',
  'iso-time': '09:30:00',
  'iso-date-time': '2026-03-14T09:30:00Z',
  duration: 'PT1H30M',
  email: 'anna@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.10',
  ipv6: '2001:db8::10',
  uri: 'https://example.com/page',
  url: 'https://example.com/page',
  'uri-reference': '/page',
  'uri-template': 'https://example.com/{id}',
  uuid: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  regex: '^a+$',
  'json-pointer': '/a/b',
  'json-pointer-uri-fragment': '#/a/b',
  'relative-json-pointer': '1/a',
  byte: 'aGVsbG8=',
  json: '{"a": 1}',
}

/** Typical strings by the last word of a parameter's name. */
const BY_WORD: Readonly<Record<string, string>> = {
  address: '12 Main Street',
  branch: 'main',
  city: 'Paris',
  color: 'blue',
  colour: 'blue',
  country: 'France',
  currency: 'EUR',
  date: '2026-03-14',
  domain: 'example.com',
  email: 'anna@example.com',
  file: 'report.txt',
  filename: 'report.txt',
  host: 'example.com',
  id: 'a1b2c3',
  language: 'en',
  location: 'Paris',
  path: '/tmp/report.txt',
  phone: '+15550100',
  query: 'solar panels',
  text: 'The quick brown fox',
  time: '09:30',
  timezone: 'Europe/Paris',
  title: 'Spring report',
  url: 'https://example.com/page',
  username: 'anna',
}

/** The characters tried for a class or an escape, in this order. */
const CANDIDATES = [
  ...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./: #@+=,;!?&%$*()[]{}<>|~^"\'\\`',
]
const MAX_PATTERN_CHARACTERS = 1_000
const MAX_DEPTH = 20
const MAX_PATTERN_TEXT = 300
const MAX_PADDED_TEXT = 10_000
const ATOM = /\[\^?(?:[^\]\\]|\\.)*\]|\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|.)|[^\\]/suy
const QUANTIFIER = /[*+?]\??|\{\d+(?:,\d*)?\}\??/y
const ANCHOR = /[$^]|\\[bB]/y
const GROUP = /\((?:\?(?::|<[A-Za-z_]\w*>))?/y

export interface TextRules {
  readonly name: string
  readonly format?: unknown
  readonly pattern?: unknown
  readonly minLength?: unknown
  readonly maxLength?: unknown
  /** The position in a list, which makes items distinct. */
  readonly number: number
}

/** A string that follows the rules, if one is found; callers validate the result. */
export function sampleText({ name, format, pattern, minLength, maxLength, number }: TextRules): string {
  const least = typeof minLength === 'number' ? minLength : 0
  const most = typeof maxLength === 'number' ? maxLength : Number.POSITIVE_INFINITY
  const fitsLength = (text: string) => [...text].length >= least && [...text].length <= most
  const given = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  const words = wordsOf(name)
  const plain = given ?? (ownValue(BY_WORD, words.at(-1) ?? '') || `example ${words.join(' ')}`.trim())
  if (typeof pattern !== 'string') {
    return given ?? fitted(number === 0 ? plain : `${plain} ${number + 1}`, least, most)
  }
  const rule = linearPattern(pattern)
  const tried = [plain, ...words, ...Object.values(FORMATS)]
  for (const repeats of [1, 2, 4, 8, 16, 32, 64]) tried.push(samplePattern(pattern, repeats) ?? plain)
  return tried.find((text) => fitsLength(text) && rule?.test(text)) ?? samplePattern(pattern) ?? plain
}

/** Splits a name such as `startDate` or `user_id` into lower-case words. */
export const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')

function fitted(text: string, least: number, most: number): string {
  const characters = [...text]
  const short = characters.length > most ? characters.slice(0, most).join('').trimEnd() : text
  return short.padEnd(Math.min(least, MAX_PADDED_TEXT), 'x')
}

/**
 * A string that should match, repeating `*` and `+` about `repeats` times; undefined if the pattern isn't supported.
 */
export function samplePattern(source: string, repeats = 1): string | undefined {
  if (source.length > MAX_PATTERN_CHARACTERS) return undefined
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(source)?.[0]
    at += found?.length ?? 0
    return found
  }
  /** Moves past the end, which makes the whole sample fail. */
  const giveUp = (): undefined => {
    at = source.length + 1
  }
  const part = (depth: number): string | undefined => {
    if (take(ANCHOR) !== undefined) return ''
    if (source[at] !== '(') return oneOf(take(ATOM) ?? giveUp())
    const opening = take(GROUP)
    // Lookarounds don't produce text.
    if (depth > MAX_DEPTH || opening === undefined || source[at] === '?') return giveUp()
    const inside = alternatives(depth + 1)
    at++
    return inside
  }
  const sequence = (depth: number): string | undefined => {
    let text: string | undefined = ''
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const one = part(depth)
      const repeated = repeat(one, take(QUANTIFIER), repeats)
      text = text === undefined || repeated === undefined ? undefined : text + repeated
    }
    return text
  }
  /** The first alternative with a sample; the others are only parsed. */
  const alternatives = (depth: number): string | undefined => {
    let text = sequence(depth)
    while (source[at] === '|') {
      at++
      const other = sequence(depth)
      text ??= other
    }
    return text
  }
  const text = alternatives(0)
  return at >= source.length ? text : undefined
}

function repeat(part: string | undefined, quantifier: string | undefined, repeats: number): string | undefined {
  if (part === undefined || quantifier === undefined) return part
  const [, least, comma, most] = /^\{(\d+)(,?)(\d*)/.exec(quantifier) ?? []
  const upTo = most ? Number(most) : comma ? Number.POSITIVE_INFINITY : Number(least)
  const times =
    quantifier[0] === '?' ? 1 : least === undefined ? repeats : Math.min(upTo, Math.max(Number(least), repeats))
  return part.length * times > MAX_PATTERN_TEXT ? undefined : part.repeat(times)
}

function oneOf(atom: string | undefined): string | undefined {
  if (atom === undefined) return undefined
  if (atom.length === 1 && atom !== '.') return atom
  try {
    const pattern = nativePattern(`^(?:${atom})$`)
    return CANDIDATES.find((character) => pattern.test(character))
  } catch {
    return undefined
  }
}
