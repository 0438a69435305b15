import { sample, stringMatching } from 'fast-check'

type Schema = Readonly<Record<string, unknown>>

/** A value of each format that is checked. */
const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-02-28',
  time: '12:34:56Z',
  'date-time': '2026-02-28T12:34:56Z',
  'iso-time': '12:34:56',
  'iso-date-time': '2026-02-28T12:34:56',
  duration: 'P1DT2H',
  email: 'someone@example.com',
  hostname: 'host.example.com',
  ipv4: '192.0.2.7',
  ipv6: '2001:db8::7',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
  uri: 'https://example.com/a?b=c',
  url: 'https://example.com/a?b=c',
  'uri-reference': '/a?b=c',
  'uri-template': 'https://example.com/{a}',
  'json-pointer': '/a/b',
  'json-pointer-uri-fragment': '#/a/b',
  'relative-json-pointer': '1/a',
  regex: 'a+',
  byte: 'aGVsbG8=',
}

const SEED = 20260228

/** A text that a schema allows, most likely; `plain` is what is taken where it says nothing of it. */
export function makeText(schema: Schema, plain: string): string {
  const { format, pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema
  const known = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  if (known !== undefined) return known
  const [least, most] = [Number(minLength), Number(maxLength)]
  if (typeof pattern === 'string') {
    const made = matching(pattern, least, most, schema.examples)
    if (made !== undefined) return made
  }
  return [...plain.padEnd(least, 'x')].slice(0, most).join('')
}

function matching(pattern: string, least: number, most: number, examples: unknown): string | undefined {
  const expression = expressionOf(pattern)
  if (expression === undefined) return undefined
  const fits = (text: string): boolean => [...text].length >= least && [...text].length <= most && expression.test(text)
  const easy = [
    ...['a', 'A', '1', 'a1', 'abc', 'ABC', '123', 'abc-123', 'abc_123', '12345678', 'a@b.co', 'a.b', '/a/b', '*'],
    ...['123e4567-e89b-42d3-a456-426614174000', 'arn:aws:a:us-east-1:123456789012:a/b', 'https://example.com/a'],
  ]
  const given = (Array.isArray(examples) ? examples : []).filter((one) => typeof one === 'string')
  const padded = ['a', 'A', '1'].map((letter) => letter.repeat(Math.min(Math.max(least, 1), 10_000)))
  const found = [...given, ...easy, ...padded].find(fits)
  if (found !== undefined) return found
  try {
    // Long repetitions are made short: a text of thousands of letters says nothing more.
    const short = pattern.replace(/\{(\d+),(\d+)\}/g, (_, from, to) => `{${from},${Math.min(to, Number(from) + 4)}}`)
    const drawn = sample(stringMatching(expressionOf(short) ?? expression), { seed: SEED, numRuns: 100 })
    const made = [...drawn, ...drawn.map((text) => text.padEnd(least, text.at(-1)).slice(0, most))]
    // What is written with letters alone can be sent anywhere.
    return made.filter((text) => fits(text) && /^[!-~]*$/.test(text))[0] ?? made.find(fits)
  } catch {
    return undefined
  }
}

/** Some escape what needs no escape, which the flag forbids. */
function expressionOf(pattern: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags)
    } catch {
      // The next, or none.
    }
  }
  return undefined
}
