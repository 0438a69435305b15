import { takeTurns } from '../base/take-turns.ts'
import type { SpanScores } from '../engine/tool-reader.ts'
import { codesIn, codeWanted, type FoundValue } from '../values/codes.ts'
import { dateFormat, datesIn, wantsDate } from '../values/dates.ts'
import { timeAfter, timeUnit } from '../values/durations.ts'
import { sameMeasure, unitAfter, unitWanted } from '../values/measures.ts'
import { type FoundNumber, numbersIn } from '../values/numbers-in.ts'
import { patternsIn, patternWanted } from '../values/patterns.ts'
import { type Quote, quotesIn } from '../values/quotes-in.ts'
import { shapesIn, shapeWanted } from '../values/shapes.ts'
import { timeZonesIn, wantsTimeZone } from '../values/time-zones.ts'
import { directionFits } from './direction.ts'
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
  /** The words that name the chosen options: they are hardly a value as well. */
  readonly chosen: readonly { readonly from: number; readonly to: number }[]
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
const DIRECTION_BONUS = 30
const CHOSEN = -20
const TOUCHES_CHOSEN = -5

/** Gives pieces of the message to parameters: best first, and no two share a piece. */
export async function assignSpans(
  parameters: readonly Parameter[],
  spans: readonly SpanScores[],
  said: string,
  now: Date,
  chosen: Said['chosen'] = [],
): Promise<Map<Parameter, Candidate>> {
  const numbers = numbersIn(said).slice(0, MAX_NUMBERS)
  const claims = await claimsOf(parameters, spans, { said, numbers, quotes: quotesIn(said), now, chosen })
  const given = new Map<Parameter, Candidate>()
  for (const { parameter, candidate } of claims) {
    if (given.has(parameter) || (candidate.score < 0 && !parameter.required)) continue
    if ([...given.values()].some((used) => collide(candidate, used))) continue
    given.set(parameter, candidate)
  }
  // A required text that found everything taken may share.
  for (const { parameter, candidate } of claims) {
    if (parameter.required && !given.has(parameter) && parameter.kind === 'text') given.set(parameter, candidate)
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
    for (const candidate of candidatesOf(parameter, spans[index] as SpanScores, said)) {
      const direction = DIRECTION_BONUS * directionFits(parameter.name, said.said, candidate.from)
      const score = candidate.score + takenBy(said.chosen, candidate) + direction
      claims.push({ parameter, candidate: { ...candidate, score } })
    }
  }
  return claims.sort((left, right) => rank(right) - rank(left))
}

function takenBy(chosen: Said['chosen'], { from, to, type }: Candidate): number {
  if (type !== undefined) return 0
  if (chosen.some((one) => one.from <= from && to <= one.to)) return CHOSEN
  return chosen.some((one) => one.from < to && from < one.to) ? TOUCHES_CHOSEN : 0
}

function candidatesOf(parameter: Parameter, span: SpanScores, { said, numbers, quotes, now }: Said): Candidate[] {
  const spans = spansOf(span)
  if (parameter.kind === 'number' || parameter.kind === 'integer') {
    const measured = numbers.filter(({ to }) => hasUnit(parameter, said, to))
    return [
      ...numberCandidates(spans, numbers),
      ...measured.map(({ from, to }) => ({ ...typedScore(spans, { from, to }), from, to })),
    ]
  }
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

/** Whether a number is followed by a unit of what the parameter counts: "two hours" for `minutes`. */
function hasUnit({ name, description }: Parameter, said: string, to: number): boolean {
  const unit = unitWanted(name, description)
  const given = unitAfter(said, to)
  if (unit !== undefined && given !== undefined) return sameMeasure(unit, given)
  return timeUnit(name, description) !== undefined && timeAfter(said, to) !== undefined
}

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
  const shape = shapeWanted(description)
  if (shape !== undefined) return { type: 'shape', values: shapesIn(shape, said) }
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
function wholeSpan(candidate: Candidate, said: string, quotes: readonly Quote[]): Candidate | undefined {
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
function joins(said: string, at: number): boolean {
  const character = said[at] as string
  if (WORD.test(character)) return true
  return /[&@_\-/:.]/.test(character) && WORD.test(said[at - 1] ?? '') && WORD.test(said[at + 1] ?? '')
}
