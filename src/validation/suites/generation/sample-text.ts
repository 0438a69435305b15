import { linearPattern } from '../../../core/schema/linear-pattern.ts'
import { samplePattern } from './sample-pattern.ts'

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

/** What a text is likely to be, by the last word of its name. */
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

/** What is known of a text. */
export interface TextRules {
  readonly name: string
  readonly format?: unknown
  readonly pattern?: unknown
  readonly minLength?: unknown
  readonly maxLength?: unknown
  /** Tells the items of a list apart. */
  readonly number: number
}

/** A text that keeps the rules, as far as it can be found. */
export function sampleText({ name, format, pattern, minLength, maxLength, number }: TextRules): string {
  const least = typeof minLength === 'number' ? minLength : 0
  const most = typeof maxLength === 'number' ? maxLength : Number.POSITIVE_INFINITY
  const fitsLength = (text: string) => [...text].length >= least && [...text].length <= most
  const given = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  const words = wordsOf(name)
  const plain = given ?? (BY_WORD[words.at(-1) ?? ''] || `example ${words.join(' ')}`.trim())
  if (typeof pattern !== 'string') {
    return given ?? fitted(number === 0 ? plain : `${plain} ${number + 1}`, least, most)
  }
  const rule = linearPattern(pattern)
  const tried = [plain, ...words, ...Object.values(FORMATS)]
  for (const repeats of [1, 2, 4, 8, 16, 32, 64]) tried.push(samplePattern(pattern, repeats) ?? plain)
  return tried.find((text) => fitsLength(text) && rule?.test(text)) ?? samplePattern(pattern) ?? plain
}

/** The words of a name such as `startDate` or `user_id`. */
export const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')

function fitted(text: string, least: number, most: number): string {
  const characters = [...text]
  if (characters.length > most) return characters.slice(0, most).join('').trimEnd().padEnd(least, 'x')
  return text.padEnd(Math.min(least, 10_000), 'x')
}
