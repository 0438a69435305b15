import { dateAs, dateFormat, wantsDate } from '../values/dates.ts'
import { durationFactor, timesAYear, timeUnit, wordDuration } from '../values/durations.ts'
import { bracketsAround, numberList, textList } from '../values/list-at.ts'
import { partsOf, plainText } from '../values/lists.ts'
import { numbersIn } from '../values/numbers-in.ts'
import { timeZoneOf, withState } from '../values/places.ts'
import type { Candidate } from './candidates.ts'
import type { Parameter } from './parameter.ts'
import { textWithoutName } from './text-without-name.ts'

const NUMBER_ALONE = /^\d+(?:\.\d+)?$/
const TIME_AFTER = /^[\s-](?:day|week|month|year|hour|minute|second)s?\b/i
/** A share is a fraction, unless it is asked for in percent. */
const IN_PERCENT = /percent|%|0 (?:to|and|-) 100/i
const IN_FRACTION = /decimal|fraction|0\.\d/i
const EMAIL = /[^\s@<>,;'"()]+@[^\s@<>,;'"()]+\.[\p{L}\d-]+/u

/** The value that a piece of what was said stands for; undefined where it is none of the parameter's kind. */
export function makeValue(parameter: Parameter, { from, to }: Candidate, said: string, now: Date): unknown {
  switch (parameter.kind) {
    case 'number':
    case 'integer':
      return numberAt(parameter, from, to, said)
    case 'list':
      return listAt(parameter, from, to, said)
    default:
      return textAt(parameter, from, to, said, now)
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
  if (number.percent && kind === 'number' && (IN_FRACTION.test(asked) || !IN_PERCENT.test(asked))) {
    return Number((number.value / 100).toPrecision(12))
  }
  const unit = timeUnit(name, description)
  return unit === undefined ? number.value : number.value * durationFactor(said, number.to, unit)
}

function listAt({ items }: Parameter, from: number, to: number, said: string): unknown[] | undefined {
  const inside = bracketsAround(said, from, to)
  const numeric = items?.kind === 'number' || items?.kind === 'integer'
  const values: readonly unknown[] = numeric
    ? (inside?.split(',').flatMap((part) => numbersIn(part)[0]?.value ?? []) ??
      numberList(said, from, to, items.kind === 'number'))
    : ((inside === undefined ? undefined : partsOf(inside)) ?? textList(said, from, to))
  return values.length > 0 ? [...values] : undefined
}

function textAt(parameter: Parameter, from: number, to: number, said: string, now: Date): string | undefined {
  const { name, description, format } = parameter
  const quoted = /["'“‘]/.test(said[from - 1] ?? '')
  const written = said.slice(from, to).trim()
  if (quoted) return written || undefined
  const asked = `${name} ${description}`
  if (format === 'email' || /e-?mail/i.test(name) || /e-?mail address/i.test(description)) {
    const email = EMAIL.exec(said.slice(from, to)) ?? EMAIL.exec(said)
    if (email !== null) return email[0]
  }
  const text = plainText(written)
  if (/time ?zone/i.test(asked.replaceAll('_', ' '))) return timeZoneOf(text) ?? text
  const wanted = dateFormat(description, format)
  if (wanted !== undefined && wantsDate(name, description)) {
    // The piece may hold only a part of the date.
    const date = dateAs(text, wanted, now) ?? dateAs(said.slice(from, to + 20), wanted, now)
    if (date !== undefined) return date
  }
  if (NUMBER_ALONE.test(text)) return text + (TIME_AFTER.exec(said.slice(to, to + 10))?.[0] ?? '')
  return withState(textWithoutName(text, name), description) || undefined
}
