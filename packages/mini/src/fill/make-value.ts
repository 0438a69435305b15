import { wordsOfName } from '../base/tool-text.ts'
import type { SpanScores } from '../engine/tool-reader.ts'
import { inTimeUnit, timeUnit } from '../values/durations.ts'
import { inUnit, unitAfter, unitWanted } from '../values/measures.ts'
import { type FoundNumber, numbersIn } from '../values/numbers-in.ts'
import { patternsIn, patternWanted } from '../values/patterns.ts'
import { withState } from '../values/places.ts'
import { type Candidate, joins } from './assign-spans.ts'
import type { Parameter } from './parameter.ts'

/** A share is a fraction, unless it is asked for in percent. */
const IN_PERCENT = /percent|%|0 (?:to|and|-) 100/i
const IN_FRACTION = /decimal|fraction|0\.\d/i

/** The value that a piece of the message stands for; undefined if it isn't of the parameter's kind. */
export function makeValue(parameter: Parameter, candidate: Candidate, span: SpanScores, said: string): unknown {
  const { from, to, value } = candidate
  if (value !== undefined && parameter.kind !== 'list') return value
  switch (parameter.kind) {
    case 'number':
    case 'integer':
      return numberAt(parameter, from, to, said)
    case 'list':
      return listAt(parameter, from, to, span, said)
    default:
      return textAt(parameter, from, to, said)
  }
}

function numberAt(parameter: Parameter, from: number, to: number, said: string): number | undefined {
  const { kind, name, description } = parameter
  const number = numbersIn(said).find((one) => one.from < to && from < one.to)
  if (number === undefined) return undefined
  const asked = `${name} ${description}`
  if (number.percent && kind === 'number' && (IN_FRACTION.test(asked) || !IN_PERCENT.test(asked))) {
    return Number((number.value / 100).toPrecision(12))
  }
  return inWantedUnit(parameter, number, said)
}

/** A measure or a duration in the unit that the parameter is counted in. */
function inWantedUnit({ kind, name, description }: Parameter, { value, to }: FoundNumber, said: string): number {
  const unit = unitWanted(name, description)
  const given = unit === undefined ? undefined : unitAfter(said, to)
  if (unit !== undefined && given !== undefined) {
    const measured = inUnit(value, given, unit) ?? value
    return kind === 'integer' ? Math.round(measured) : measured
  }
  const time = timeUnit(name, description)
  return time === undefined ? value : inTimeUnit(value, said, to, time)
}

/** The pieces that the model marked, else the parts between commas and "and". */
function listAt(parameter: Parameter, from: number, to: number, span: SpanScores, said: string): unknown[] | undefined {
  const { items, name, description } = parameter
  const pattern = patternWanted(name, description, items?.format)
  const written = pattern === undefined ? [] : patternsIn(pattern, said)
  if (written.length > 0) return written.map(({ value }) => value)
  const marked = markedPieces(span, said)
  const pieces = marked.some((one) => one.from < to && from < one.to) ? marked : [{ from, to }]
  const texts = pieces.map((one) => said.slice(one.from, one.to))
  if (items?.kind === 'number' || items?.kind === 'integer') {
    const numbers = texts
      .flatMap(numbersIn)
      .map(({ value, percent }) => (percent && items.kind === 'number' ? value / 100 : value))
    return numbers.length > 0 ? numbers : undefined
  }
  const values = texts.length > 1 ? texts.map(plainText) : partsOf(texts[0] as string)
  return values.length > 0 ? values : undefined
}

/** The pieces of the message that the model marked as parts of a value, in whole words. */
export function markedPieces({ from, to, inside }: SpanScores, said: string): { from: number; to: number }[] {
  const pieces: { from: number; to: number }[] = []
  for (const [at, logit] of inside.entries()) {
    if (logit <= 0) continue
    let [start, end] = [from[at] as number, to[at] as number]
    while (start > 0 && joins(said, start) && joins(said, start - 1)) start--
    while (end < said.length && joins(said, end - 1) && joins(said, end)) end++
    const last = pieces.at(-1)
    if (last !== undefined && said.slice(last.to, start).trim() === '') last.to = Math.max(end, last.to)
    else pieces.push({ from: start, to: end })
  }
  return pieces
}

/** The parts of an enumeration: "a, b and c", "[1, 2, 3]", "a; b". */
function partsOf(text: string): string[] {
  return text
    .split(/(?:(?<!\s)\s+)?(?:;|,(?!\d{3}(?:\D|$))\s*(?:and|or)?\b|,|\s(?:and|or|&)\s)\s*/)
    .map((part) => plainText(part ?? ''))
    .filter((part) => part !== '')
}

function textAt({ name, description }: Parameter, from: number, to: number, said: string): string | undefined {
  const written = said.slice(from, to).trim()
  if (/["'“‘]/.test(said[from - 1] ?? '')) return written || undefined
  return withState(withoutName(name, plainText(written)), description) || undefined
}

/** "the collection shop" for the parameter `collection` is "shop". */
function withoutName(name: string, text: string): string {
  const words = `${wordsOfName(name)} `
  return text.toLowerCase().startsWith(words) ? text.slice(words.length) : text
}

/** Without quotes, brackets and "the". */
export function plainText(text: string): string {
  return text
    .trim()
    .replace(/^["'“‘`[(]+/, '')
    .replace(/(?<!["'”’`\])])["'”’`\])]+$/, '')
    .trim()
    .replace(/^the\s+/i, '')
}
