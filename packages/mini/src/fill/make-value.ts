import { wordsOfName } from '../base/tool-text.ts'
import type { SpanScores } from '../engine/tool-reader.ts'
import { inTimeUnit, timeUnit } from '../values/durations.ts'
import { inUnit, unitAfter, unitWanted } from '../values/measures.ts'
import { type FoundNumber, numbersIn } from '../values/numbers-in.ts'
import { patternsIn, patternWanted } from '../values/patterns.ts'
import { withState } from '../values/places.ts'
import { shapesIn, shapeWanted } from '../values/shapes.ts'
import { timeZoneOf } from '../values/time-zones.ts'
import type { Candidate } from './assign-spans.ts'
import type { Parameter } from './parameter.ts'

const NUMBER_ALONE = /^\d+(?:\.\d+)?$/
const TIME_AFTER = /^[\s-](?:day|week|month|year|hour|minute|second)s?\b/i
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

/** The items in brackets, else the pieces that the model marked, else the parts between commas and "and". */
function listAt(parameter: Parameter, from: number, to: number, span: SpanScores, said: string): unknown[] | undefined {
  const { items, name, description } = parameter
  const pattern = patternWanted(name, description, items?.format)
  const shape = pattern === undefined ? shapeWanted(description) : undefined
  const written = pattern !== undefined ? patternsIn(pattern, said) : shape === undefined ? [] : shapesIn(shape, said)
  if (written.length > 0) return written.map(({ value }) => value)
  const text = bracketsAround(said, from, to) ?? said.slice(from, to)
  if (items?.kind === 'number' || items?.kind === 'integer') {
    const numbers = numbersIn(text).map(({ value, percent }) =>
      percent && items.kind === 'number' ? value / 100 : value,
    )
    return numbers.length > 0 ? numbers : undefined
  }
  const marked = markedPieces(span, said).filter((one) => one.from >= from && one.to <= to)
  const values = marked.length > 1 ? marked.map((one) => plainText(said.slice(one.from, one.to))) : partsOf(text)
  return values.length > 0 ? values : undefined
}

/** The pieces of the message that the model marked as parts of a value. */
export function markedPieces({ from, to, inside }: SpanScores, said: string): { from: number; to: number }[] {
  const pieces: { from: number; to: number }[] = []
  let open = false
  for (const [at, logit] of inside.entries()) {
    const [start, end] = [from[at] as number, to[at] as number]
    const last = pieces.at(-1)
    if (logit > 0 && open && last !== undefined && said.slice(last.to, start).trim() === '') last.to = end
    else if (logit > 0) pieces.push({ from: start, to: end })
    open = logit > 0
  }
  return pieces
}

/** The content of the brackets around a piece, if they hold an enumeration. */
function bracketsAround(said: string, from: number, to: number): string | undefined {
  const open = said.lastIndexOf('[', from)
  const close = said.indexOf(']', Math.max(to - 1, open))
  if (open < 0 || close < 0 || close - open > 1000 || said.slice(open, from).includes(']')) return undefined
  return said.slice(open + 1, close)
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
  const text = withoutName(name, plainText(written))
  if (/time ?zone/i.test(`${name} ${description}`.replaceAll('_', ' '))) return timeZoneOf(text) ?? text
  if (NUMBER_ALONE.test(text)) return text + (TIME_AFTER.exec(said.slice(to, to + 10))?.[0] ?? '')
  return withState(text, description) || undefined
}

/** "the collection shop" for the parameter `collection` is "shop". */
const withoutName = (name: string, text: string): string => {
  const words = `${wordsOfName(name)} `
  return text.toLowerCase().startsWith(words) ? text.slice(words.length) : text
}

/** Without quotes, brackets and a leading article. */
export function plainText(text: string): string {
  return text
    .trim()
    .replace(/^["'“‘`[(]+/, '')
    .replace(/(?<!["'”’`\])])["'”’`\])]+$/, '')
    .trim()
    .replace(/^(?:the|an?)\s+/i, '')
}
