import { type ParsedComponents, parse } from 'chrono-node'
import { DateTime } from 'luxon'
import { takeTurns } from '../base/take-turns.ts'
import type { SpanScores } from '../engine/tool-reader.ts'
import { codesIn, codeWanted, type FoundValue } from '../values/codes.ts'
import { type FoundNumber, numbersIn } from '../values/numbers-in.ts'
import { patternsIn, patternWanted } from '../values/patterns.ts'
import { timeZonesIn, wantsTimeZone } from '../values/time-zones.ts'
import type { Parameter } from './parameter.ts'

/** A piece of the message that may be the value. */
export interface Candidate {
  /** Above 0: more likely than no value. */
  readonly score: number
  readonly from: number
  readonly to: number
  /** The value, if the piece is known to stand for it, and its type. */
  readonly value?: string
  readonly type?: string
}

interface Claim {
  readonly parameter: Parameter
  readonly candidate: Candidate
}

interface Said {
  readonly said: string
  readonly numbers: readonly FoundNumber[]
  readonly quotes: readonly Quote[]
  readonly now: Date
}

const MAX_NUMBERS = 100
const TOP_SIDES = 15
const TOP_SPANS = 12
const MAX_TOKENS = 24
const REQUIRED_BONUS = 2
/** Of the values of one type, required parameters come first. */
const TYPED_REQUIRED_BONUS = 12
const TYPE_BONUS = 10
/** The score of a typed value that the model didn't mark. */
const UNMARKED = -8

/** Gives pieces of the message to parameters: best first, and no two share a piece. */
export async function assignSpans(
  parameters: readonly Parameter[],
  spans: readonly SpanScores[],
  said: string,
  now: Date,
): Promise<Map<Parameter, Candidate>> {
  const numbers = numbersIn(said).slice(0, MAX_NUMBERS)
  const claims = await claimsOf(parameters, spans, { said, numbers, quotes: quotesIn(said), now })
  const given = new Map<Parameter, Candidate>()
  for (const { parameter, candidate } of claims) {
    if (given.has(parameter) || (candidate.score < 0 && !parameter.required)) continue
    if ([...given.values()].some((used) => collide(candidate, used))) continue
    given.set(parameter, candidate)
  }
  return given
}

/** Values of two types may share a piece: "tomorrow at 8" is a day and a time. */
function collide(candidate: Candidate, used: Candidate): boolean {
  if (candidate.from >= used.to || used.from >= candidate.to) return false
  return candidate.type === undefined || used.type === undefined || candidate.type === used.type
}

async function claimsOf(parameters: readonly Parameter[], spans: readonly SpanScores[], said: Said): Promise<Claim[]> {
  const bonus = ({ type }: Candidate): number => (type === undefined ? REQUIRED_BONUS : TYPED_REQUIRED_BONUS)
  const rank = ({ parameter, candidate }: Claim): number =>
    candidate.score + (parameter.required ? bonus(candidate) : 0)
  const claims: Claim[] = []
  for (const [index, parameter] of parameters.entries()) {
    await takeTurns()
    const candidates = candidatesOf(parameter, spans[index] as SpanScores, said)
    claims.push(...candidates.map((candidate) => ({ parameter, candidate })))
  }
  return claims.sort((left, right) => rank(right) - rank(left))
}

function candidatesOf(parameter: Parameter, span: SpanScores, { said, numbers, quotes, now }: Said): Candidate[] {
  const spans = spansOf(span)
  if (parameter.kind === 'number' || parameter.kind === 'integer') return numberCandidates(spans, numbers)
  const typed = typedValues(parameter, said, now)
  const found = typed?.values.map((value) => ({ ...value, type: typed.type, ...typedScore(spans, value) })) ?? []
  if (typed !== undefined && (found.length > 0 || !parameter.required)) return found
  return spans.slice(0, TOP_SPANS).flatMap((one) => wholeSpan(one, said, parameter.kind === 'list' ? [] : quotes) ?? [])
}

/** Each number is as good as the best piece that holds it and no other number. */
function numberCandidates(spans: readonly Candidate[], numbers: readonly FoundNumber[]): Candidate[] {
  const found = new Map<FoundNumber, Candidate>()
  for (const { score, from, to } of spans) {
    const [only, ...others] = numbers.filter((number) => number.from < to && from < number.to)
    if (only === undefined || others.length > 0 || found.has(only)) continue
    found.set(only, { score, from: only.from, to: only.to })
  }
  return [...found.values()]
}

/** A value of the wanted type is as good as the best piece that touches it, and better for its type. */
function typedScore(spans: readonly Candidate[], { from, to }: Pick<Candidate, 'from' | 'to'>): { score: number } {
  const marked = spans.find((one) => one.from < to && from < one.to && one.to - one.from <= 2 * (to - from) + 10)
  return { score: Math.max(marked?.score ?? UNMARKED, UNMARKED) + TYPE_BONUS }
}

/** Whether a parameter takes a date. */
export const takesDate = ({ kind, name, description, format }: Parameter): boolean =>
  kind === 'text' &&
  /y/.test(dateFormat(description, format) ?? '') &&
  (format !== undefined || wantsDate(name, description))

/** The values in the message that have the type of a parameter; undefined if it has none. */
export function typedValues(
  parameter: Parameter,
  said: string,
  now: Date,
): { readonly type: string; readonly values: readonly FoundValue[] } | undefined {
  const { name, description, format, fallback } = parameter
  const pattern = patternWanted(name, description, format)
  if (pattern !== undefined) return { type: pattern, values: patternsIn(pattern, said) }
  if (parameter.kind === 'list') return undefined
  const wanted = dateFormat(description, format)
  if (wanted !== undefined && (format !== undefined || wantsDate(name, description))) {
    return { type: wanted, values: datesIn(said, wanted, now) }
  }
  if (wantsTimeZone(name, description)) return { type: 'zone', values: timeZonesIn(said) }
  const code = codeWanted(name, description, fallback)
  if (code === undefined) return undefined
  return { type: code.kind, values: codesIn(code.kind, said).map((one) => ({ ...one, value: code.write(one.value) })) }
}

/** The pieces with the best starts and ends, best first. */
function spansOf(span: SpanScores): Candidate[] {
  const found: Candidate[] = []
  const ends = bestOf(span.end)
  for (const first of bestOf(span.start)) {
    for (const last of ends) {
      if (last < first || last >= first + MAX_TOKENS) continue
      const score = (span.start[first] as number) + (span.end[last] as number) - span.absent
      found.push({ score, from: span.from[first] as number, to: span.to[last] as number })
    }
  }
  return found.sort((left, right) => right.score - left.score)
}

const bestOf = (logits: readonly number[]): number[] =>
  [...logits.keys()].sort((left, right) => (logits[right] as number) - (logits[left] as number)).slice(0, TOP_SIDES)

const WORD = /[\p{L}\p{N}\p{M}_]/u

/** A candidate with whole words, a whole quote and no loose punctuation. */
export function wholeSpan(candidate: Candidate, said: string, quotes: readonly Quote[]): Candidate | undefined {
  const { score } = candidate
  let { from, to } = candidate
  while (from > 0 && joins(said, from) && joins(said, from - 1)) from--
  while (to < said.length && (to === from || joins(said, to - 1)) && joins(said, to)) to++
  const quote = quotes.find((one) => from < one.to && one.from < to)
  if (quote !== undefined) return { score, from: quote.from, to: quote.to }
  while (from < to && /[\s,.;:!?)\]'"”’]/.test(said[from] as string)) from++
  while (from < to && /[\s,;:!?([]/.test(said[to - 1] as string)) to--
  return /[\p{L}\p{N}]/u.test(said.slice(from, to)) ? { score, from, to } : undefined
}

/** Letters and digits, and a sign between two of them: "S&P", "john.doe@example.com", "2022-04-27". */
export function joins(said: string, at: number): boolean {
  const character = said[at] as string
  if (WORD.test(character)) return true
  return /[&@_\-/:.]/.test(character) && WORD.test(said[at - 1] ?? '') && WORD.test(said[at + 1] ?? '')
}

/** A quoted text: the position of its content, without the quotes. */
export interface Quote {
  readonly from: number
  readonly to: number
}

const QUOTED = [
  /"([^"\n]{1,1000})"/g,
  /“([^“”\n]{1,1000})”/g,
  // An apostrophe within a word is not a quote.
  /(?<![\p{L}\p{N}])['‘](?=\S)([^\n]{1,1000}?)(?<=\S)['’](?![\p{L}\p{N}])/gu,
]

/** The quoted texts of what was said, unless everything is one quote. */
export function quotesIn(said: string): Quote[] {
  const found: Quote[] = []
  const taken = new Uint8Array(said.length)
  const longest = said.trim().length - 4
  for (const pattern of QUOTED) {
    for (const { index, 1: content = '' } of said.matchAll(pattern)) {
      const quote = { from: index + 1, to: index + 1 + content.length }
      if (content.length > longest || taken.subarray(quote.from, quote.to).includes(1)) continue
      taken.fill(1, quote.from, quote.to)
      found.push(quote)
    }
  }
  return found
}

/** A date, with its time if one was said. */
const ISO = "yyyy-MM-dd['T'HH:mm:ss]"

/** The date format that a description asks for, as a luxon pattern. */
export function dateFormat(description: string, format?: string): string | undefined {
  if (format === 'date') return 'yyyy-MM-dd'
  if (format === 'date-time') return "yyyy-MM-dd'T'HH:mm:ssZZ"
  if (format === 'time') return 'HH:mm:ss'
  const text = description.toLowerCase()
  const found =
    /\b(?:yyyy|yy|mm|dd|d)(?:([-/.])(?:yyyy|mm|dd|d)){2}(?:[t ]+hh:mm(?::ss)?)?/.exec(text) ??
    /\b(?:year|month|day)(?:([-/.])(?:year|month|day)){2}\b/.exec(text)
  if (found !== null) {
    return found[0]
      .replace(/t(?=hh)/, "'T'")
      .replace('hh:mm:ss', 'HH:##:ss')
      .replace('hh:mm', 'HH:##')
      .replace(/year/, 'yyyy')
      .replace(/month|mm/, 'MM')
      .replace(/\bday\b/, 'dd')
      .replace('##', 'mm')
  }
  if (/\biso[- ]?8601\b/.test(text)) return ISO
  if (/\bhh:mm:ss\b/.test(text)) return 'HH:mm:ss'
  if (/\bhh:mm ?(?:am|a\.m\.)/.test(text)) return 'hh:mm a'
  return /\bhh:mm\b/.test(text) || (/24[- ]hour/.test(text) && /time/.test(text)) ? 'HH:mm' : undefined
}

/** Whether a parameter wants a date or a time of day. */
const wantsDate = (name: string, description: string): boolean =>
  /date|\bday\b|time(?!zone| ?frame| ?out)|deadline|birthday|\bwhen\b|\b(?:start|begin|end|due|check[ _]?(?:in|out)|depart(?:ure)?|arrival|return)\b/i.test(
    `${name.replaceAll('_', ' ')} ${description.slice(0, 60)}`,
  )

/** The date in a text, also a relative one, in this format; undefined if there is none. */
export function dateAs(text: string, format: string, now: Date): string | undefined {
  return datesIn(text, format, now)[0]?.value
}

/** The dates or times in a text, also relative ones, in this format. */
export function datesIn(text: string, format: string, now: Date): FoundValue[] {
  // "1 May this year" is one date, not two; the places stay.
  const readable = text.replaceAll(
    RELATIVE_YEAR,
    (_, day: string, which: string) => `${day}${yearOf(which, now)}${' '.repeat(which.length + 1)}`,
  )
  const found = parse(readable, now, { forwardDate: !PAST.test(text) }).flatMap(
    ({ index, text: piece, start, end }) => {
      const joint = end ? RANGE.exec(piece) : null
      if (end == null || joint === null) return dateAt(start, index, piece.length, format)
      const second = joint.index + joint[0].length
      return [
        ...dateAt(start, index, joint.index, format),
        ...dateAt(end, index + second, piece.length - second, format),
      ]
    },
  )
  const named = /^h/i.test(format) ? [] : namedDays(text, format, now)
  return [...found, ...named.filter((one) => !found.some(({ from, to }) => from < one.to && one.from < to))]
}

const RELATIVE_YEAR =
  /((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}(?: \d{1,2}(?:st|nd|rd|th)?)?,? (?:of )?)(this|last|next) year\b/gi
const yearOf = (which: string, now: Date): number =>
  now.getFullYear() + ({ last: -1, next: 1 }[which.toLowerCase()] ?? 0)
/** Words that speak of a day that is over. */
const PAST = /\b(?:since|was|were|did|born|ago)\b/i

/** Between the two dates of a range. */
const RANGE = /(?<!\s)\s+(?:to|until|till|through|and|[-–—])\s+|[–—]/i

const PARTS = ['year', 'month', 'day', 'weekday', 'hour'] as const

function dateAt(date: ParsedComponents, from: number, length: number, format: string): FoundValue[] {
  // "night" alone is no date.
  if (!PARTS.some((part) => date.isCertain(part))) return []
  const day = date.isCertain('day') || date.isCertain('weekday') || !date.isCertain('hour')
  if (/^h/i.test(format) ? !date.isCertain('hour') : !day && !/H/.test(format)) return []
  const pattern = format === ISO ? (date.isCertain('hour') ? "yyyy-MM-dd'T'HH:mm:ss" : 'yyyy-MM-dd') : format
  return [{ from, to: from + length, value: DateTime.fromJSDate(date.date()).toFormat(pattern) }]
}

/** Days that have a name and the same date every year; the next one is meant. */
const NAMED_DAYS: readonly (readonly [RegExp, number, number])[] = [
  [/\bchristmas eve\b/gi, 12, 24],
  [/\b(?:christmas|xmas)(?: day)?\b(?! eve)/gi, 12, 25],
  [/\bnew year['’]?s eve\b/gi, 12, 31],
  [/\b(?:the )?new year(?:['’]?s)?(?: day)?\b(?! eve)/gi, 1, 1],
  [/\bhallowe['’]?en\b/gi, 10, 31],
  [/\bvalentine['’]?s(?: day)?\b/gi, 2, 14],
]

function namedDays(text: string, format: string, now: Date): FoundValue[] {
  const today = DateTime.fromJSDate(now).startOf('day')
  return NAMED_DAYS.flatMap(([pattern, month, date]) =>
    [...text.matchAll(pattern)].map(({ index, 0: name }) => {
      const day = today.set({ month, day: date })
      const next = day < today ? day.plus({ years: 1 }) : day
      return { from: index, to: index + name.length, value: next.toFormat(format === ISO ? 'yyyy-MM-dd' : format) }
    }),
  )
}
