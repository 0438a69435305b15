import { inTimeUnit, timesAYear, timeUnit, wordDuration } from '../values/durations.ts'
import { bracketsAround, numberList, textList } from '../values/list-at.ts'
import { partsOf, plainText } from '../values/lists.ts'
import { inUnit, unitAfter, unitWanted } from '../values/measures.ts'
import { type FoundNumber, numbersIn } from '../values/numbers-in.ts'
import { patternsIn, patternWanted } from '../values/patterns.ts'
import { withState } from '../values/places.ts'
import { shapesIn, shapeWanted } from '../values/shapes.ts'
import { timeZoneOf } from '../values/time-zones.ts'
import type { Candidate } from './candidates.ts'
import type { Parameter } from './parameter.ts'
import { textWithoutName } from './text-without-name.ts'

const NUMBER_ALONE = /^\d+(?:\.\d+)?$/
const TIME_AFTER = /^[\s-](?:day|week|month|year|hour|minute|second)s?\b/i
/** A share is a fraction, unless it is asked for in percent. */
const IN_PERCENT = /percent|%|0 (?:to|and|-) 100/i
const FROM_THE_END = /\bnegative\b[^.;]{0,30}\bfrom the end\b/i
/** Longer than the word that is looked for and any space after it. */
const LOOK_BACK = 50
const IN_FRACTION = /decimal|fraction|0\.\d/i

/** The value that a piece of what was said stands for; undefined where it is none of the parameter's kind. */
export function makeValue(parameter: Parameter, candidate: Candidate, said: string): unknown {
  const { from, to, value } = candidate
  if (value !== undefined && parameter.kind !== 'list') return value
  switch (parameter.kind) {
    case 'number':
    case 'integer':
      return numberAt(parameter, from, to, said)
    case 'list':
      return listAt(parameter, from, to, said)
    default:
      return textAt(parameter, from, to, said)
  }
}

/** A number that is said in words of its own: "the next week" in days, "quarterly" as times a year. */
export function wordedNumber({ name, description }: Parameter, said: string): number | undefined {
  const unit = timeUnit(name, description)
  return (unit === undefined ? undefined : wordDuration(said, unit)) ?? timesAYear(name, description, said)
}

function numberAt(parameter: Parameter, from: number, to: number, said: string): number | undefined {
  const { kind, name, description } = parameter
  const number = numbersIn(said).find((one) => one.from < to && from < one.to)
  if (number === undefined) return undefined
  const asked = `${name} ${description}`
  if (
    /\blast\s+$/i.test(said.slice(Math.max(0, number.from - LOOK_BACK), number.from)) &&
    FROM_THE_END.test(description)
  )
    return -number.value
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

function listAt(parameter: Parameter, from: number, to: number, said: string): unknown[] | undefined {
  const { items, name, description } = parameter
  const pattern = patternWanted(name, description, items?.format)
  const shape = pattern === undefined ? shapeWanted(description) : undefined
  const written = pattern !== undefined ? patternsIn(pattern, said) : shape === undefined ? [] : shapesIn(shape, said)
  if (written.length > 0) return written.map(({ value }) => value)
  const inside = bracketsAround(said, from, to)
  const numeric = items?.kind === 'number' || items?.kind === 'integer'
  const values: readonly unknown[] = numeric
    ? (inside?.split(',').flatMap((part) => numbersIn(part)[0]?.value ?? []) ??
      numberList(said, from, to, items.kind === 'number'))
    : ((inside === undefined ? undefined : partsOf(inside)) ?? textList(said, from, to))
  return values.length > 0 ? [...values] : undefined
}

function textAt(parameter: Parameter, from: number, to: number, said: string): string | undefined {
  const { name, description } = parameter
  const quoted = /["'“‘]/.test(said[from - 1] ?? '')
  const written = said.slice(from, to).trim()
  if (quoted) return written || undefined
  const asked = `${name} ${description}`
  const text = plainText(written)
  if (/time ?zone/i.test(asked.replaceAll('_', ' '))) return timeZoneOf(text) ?? text
  if (NUMBER_ALONE.test(text)) return text + (TIME_AFTER.exec(said.slice(to, to + 10))?.[0] ?? '')
  return withState(textWithoutName(text, name), description) || undefined
}
