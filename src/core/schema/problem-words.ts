import { canonicalText } from '../json/canonical-text.ts'
import { foreignText } from '../json/json-depth.ts'
import { typesInWords } from '../json/json-type.ts'
import { suggest } from '../suggest.ts'
import { isObject } from './schema-keywords.ts'

const MAX_VALUE_LENGTH = 80
const MAX_VALUES = 20
/** Characters that JSON doesn't escape but that change how a terminal shows text. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

const RULES: Readonly<Record<string, (expected: unknown) => string>> = {
  type: (types) => `must be ${typesInWords([types].flat())}`,
  enum: (values) => `must be one of: ${valuesInWords([values].flat())}`,
  const: (value) => `must be ${valueInWords(value)}`,
  format: (name) => `must match format "${shortened(foreignText(name))}"`,
  pattern: (source) => `must match pattern "${shortened(foreignText(source))}"`,
  minimum: (bound) => `must be at least ${bound}`,
  maximum: (bound) => `must be at most ${bound}`,
  exclusiveMinimum: (bound) => `must be more than ${bound}`,
  exclusiveMaximum: (bound) => `must be less than ${bound}`,
  multipleOf: (divisor) => `must be a multiple of ${divisor}`,
  minLength: (bound) => `must have at least ${counted(bound, 'character')}`,
  maxLength: (bound) => `must have at most ${counted(bound, 'character')}`,
  minItems: (bound) => `must have at least ${counted(bound, 'item')}`,
  maxItems: (bound) => `must have at most ${counted(bound, 'item')}`,
  uniqueItems: () => 'must not contain the same item twice',
  minProperties: (bound) => `must have at least ${counted(bound, 'entry')}`,
  maxProperties: (bound) => `must have at most ${counted(bound, 'entry')}`,
}

/** The message for a failed rule, after the path: `must be at least 0`. */
export const ruleInWords = (rule: string, expected: unknown): string => RULES[rule]?.(expected) ?? 'is not allowed'

export function valuesInWords(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_VALUES).map(valueInWords).join(', ')
  return values.length > MAX_VALUES ? `${shown} and ${values.length - MAX_VALUES} more` : shown
}

export function valueInWords(value: unknown): string {
  return shortened(typeof value === 'string' ? value : canonicalText(value))
}

/** The expected value in an error: long texts are cut, lists have at most 100 entries. */
export function boundedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 100).map(boundedText)
  return boundedText(value)
}

function boundedText(value: unknown): unknown {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return value
  const text = valueInWords(value)
  return text.length < MAX_VALUE_LENGTH ? value : text
}

export function counted(number: unknown, thing: string): string {
  return `${number} ${number === 1 ? thing : thing.endsWith('y') ? `${thing.slice(0, -1)}ies` : `${thing}s`}`
}

/** A time to wait, as people say it: `59 s`, `about 24 h`. */
export function waitInWords(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 120 * 60) return `about ${Math.round(seconds / 60)} min`
  const hours = Math.round(seconds / 3_600)
  return hours < 48 ? `about ${hours} h` : `about ${Math.round(hours / 24)} days`
}

/** An exact length of time: `24 h`, `90 s`, `250 ms`. */
export function periodInWords(ms: number): string {
  const [length, unit] = (
    [
      [3_600_000, 'h'],
      [60_000, 'min'],
      [1_000, 's'],
    ] as const
  ).find(([one]) => ms % one === 0) ?? [1, 'ms']
  return `${ms / length} ${unit}`
}

/** JSON on one line, truncated. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(typeof value === 'string' ? truncated(value) : value) ?? foreignText(value)
  return (typeof value === 'string' ? text : truncated(text))
    .toWellFormed()
    .replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Truncated to one line. */
export function shortened(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a message is one line whatever the schema holds
  return truncated(text).replaceAll(/[\u0000-\u001f\u007f]/g, ' ')
}

const truncated = (text: string): string =>
  text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH - 1)}…` : text

/**
 * A message for each key that `schema` doesn't declare, in nested objects too. Keys that start with `x-` are free, and
 * so are all keys of an object for which the schema declares none.
 */
export function unknownKeys(value: Readonly<Record<string, unknown>>, schema: object, place = ''): string[] {
  const known = propertiesOf(schema)
  if (known.size === 0) return []
  return Object.entries(value).flatMap(([key, one]) => {
    if (key.startsWith('x-')) return []
    const path = place === '' ? key : `${place}.${key}`
    const own = known.get(key)
    if (own !== undefined) return isObject(one) && isObject(own) ? unknownKeys(one, own, path) : []
    const [near] = suggest(key, known.keys())
    const fix = near === undefined ? 'remove it, or start its name with "x-"' : `did you mean '${near}'?`
    return [`unknown key '${path}': ${fix}`]
  })
}

function propertiesOf(schema: object): Map<string, unknown> {
  const { properties, oneOf } = schema as { properties?: object; oneOf?: readonly object[] }
  const forms = (oneOf ?? []).flatMap((form) => [...propertiesOf(form)])
  return new Map([...Object.entries(properties ?? {}), ...forms])
}
