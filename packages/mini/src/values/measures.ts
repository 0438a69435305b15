import { create, type Unit, unitDependencies } from 'mathjs'

/** Common names of units, and those of mathjs. */
const WORDS: readonly (readonly [string, string])[] = [
  ['kilomet(?:er|re)s? per hour|kilomet(?:er|re)s?/h|km/h|kph|kmh', 'km/h'],
  ['miles? per hour|mph', 'mi/h'],
  ['met(?:er|re)s? per second|m/s', 'm/s'],
  ['kilomet(?:er|re)s?|kms?', 'km'],
  ['centimet(?:er|re)s?|cms?', 'cm'],
  ['millimet(?:er|re)s?|mm', 'mm'],
  ['met(?:er|re)s?|m', 'm'],
  ['miles?|mi', 'mi'],
  ['feet|foot|ft', 'ft'],
  ['inch(?:es)?', 'inch'],
  ['yards?|yds?', 'yard'],
  ['kilograms?|kilos?|kgs?', 'kg'],
  ['milligrams?|mg', 'mg'],
  ['grams?|g', 'g'],
  ['pounds?|lbs?', 'lb'],
  ['ounces?|oz', 'oz'],
  ['millilit(?:er|re)s?|ml', 'ml'],
  ['lit(?:er|re)s?|l', 'l'],
  ['gallons?', 'gallon'],
  ['(?:degrees? |° ?)?(?:celsius|centigrade)|° ?C|degrees? C', 'degC'],
  ['(?:degrees? |° ?)?fahrenheit|° ?F|degrees? F', 'degF'],
  ['kelvins?', 'K'],
  ['terabytes?|TB', 'TB'],
  ['gigabytes?|GB', 'GB'],
  ['megabytes?|MB', 'MB'],
  ['kilobytes?|KB', 'kB'],
]
const ANY = WORDS.map(([words]) => `(${words})`).join('|')
const AFTER = new RegExp(`^[\\s-]?(?:${ANY})(?![\\p{L}\\d])`, 'iu')
/** "in km", "in degrees Celsius", "(kg)". */
const DESCRIBED = new RegExp(`(?:\\bin |\\()(?:${ANY})(?![\\p{L}\\d/])`, 'giu')
const NAMED = new RegExp(`(?:^|[_ ])(?:in )?(?:${ANY})$`, 'iu')

/** Time is excluded: durations have their own rules. */
const TIMES: readonly string[] = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']
const ALONE = new RegExp(`^(?:${ANY})$`, 'iu')

let units: { unit(value: number, name: string): Unit } | undefined

/** The unit of a parameter, if its name or description has exactly one. */
export function unitWanted(name: string, description: string): string | undefined {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .trim()
  const named = words.includes(' ') ? unitOf(NAMED.exec(words)) : undefined
  if (named !== undefined) return named
  const described = new Set([...description.matchAll(DESCRIBED)].map(unitOf))
  return described.size === 1 ? [...described][0] : undefined
}

/** The unit right after a number. */
export const unitAfter = (said: string, to: number): string | undefined => unitOf(AFTER.exec(said.slice(to, to + 24)))

/** The unit that a text names, times too. */
export function unitNamed(text: string): string | undefined {
  const name = text.trim().toLowerCase()
  return TIMES.find((time) => name === time || name === `${time}s`) ?? unitOf(ALONE.exec(text.trim()))
}

/** Whether one unit can be counted in the other. */
export function sameMeasure(unit: string, other: string): boolean {
  return library().unit(1, unit).equalBase(library().unit(1, other))
}

/** "2 miles" in km; undefined if the units are incompatible. */
export function inUnit(value: number, unit: string, wanted: string): number | undefined {
  if (unit === wanted) return value
  if (!sameMeasure(unit, wanted)) return undefined
  return Number(library().unit(value, unit).toNumber(wanted).toPrecision(6))
}

function unitOf(found: RegExpExecArray | null): string | undefined {
  const at = found === null ? -1 : found.slice(1).findIndex((one) => one !== undefined)
  return WORDS[at]?.[1]
}

/** Only what units need of the library. */
function library(): { unit(value: number, name: string): Unit } {
  units ??= create({ ...unitDependencies }) as unknown as { unit(value: number, name: string): Unit }
  return units
}
