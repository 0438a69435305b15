import { wordsOf } from './sample-text.ts'

/** What a number is likely to be, by the last word of its name. */
const BY_WORD: Readonly<Record<string, number>> = {
  latitude: 48.85,
  lat: 48.85,
  longitude: 2.35,
  lng: 2.35,
  lon: 2.35,
  page: 2,
  port: 8080,
  year: 2026,
}

interface NumberRules {
  readonly name: string
  readonly integer: boolean
  readonly schema: Readonly<Record<string, unknown>>
  /** Tells several numbers apart. */
  readonly number: number
}

/** A number within the bounds of its schema, as far as there is one. */
export function sampleNumber({ name, integer, schema, number }: NumberRules): number {
  const step = typeof schema.multipleOf === 'number' && schema.multipleOf > 0 ? schema.multipleOf : 1
  const least = lowest(schema, integer, step)
  const most = highest(schema, integer, step)
  const likely = (BY_WORD[wordsOf(name).at(-1) ?? ''] ?? 5) + number
  const wanted = Math.min(Math.max(likely, least), most)
  if (schema.multipleOf === undefined) return integer ? whole(wanted, least) : wanted
  const multiple = Math.ceil(wanted / step) * step
  return multiple <= most ? multiple : Math.floor(most / step) * step
}

const whole = (wanted: number, least: number): number => {
  const down = Math.floor(wanted)
  return down >= least ? down : down + 1
}

function lowest({ minimum, exclusiveMinimum }: NumberRules['schema'], integer: boolean, step: number): number {
  const bounds = [Number.NEGATIVE_INFINITY]
  if (typeof minimum === 'number') bounds.push(exclusiveMinimum === true ? beyond(minimum, integer, step) : minimum)
  if (typeof exclusiveMinimum === 'number') bounds.push(beyond(exclusiveMinimum, integer, step))
  return Math.max(...bounds)
}

function highest({ maximum, exclusiveMaximum }: NumberRules['schema'], integer: boolean, step: number): number {
  const bounds = [Number.POSITIVE_INFINITY]
  if (typeof maximum === 'number') bounds.push(exclusiveMaximum === true ? -beyond(-maximum, integer, step) : maximum)
  if (typeof exclusiveMaximum === 'number') bounds.push(-beyond(-exclusiveMaximum, integer, step))
  return Math.min(...bounds)
}

/** A little more than a bound: between 0 and 1 there are numbers, too. */
const beyond = (bound: number, integer: boolean, step: number): number => bound + (integer ? step : Math.min(step, 0.1))
