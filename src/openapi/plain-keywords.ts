import { FORMATS } from '../core/schema/formats.ts'
import { linearPattern } from '../core/schema/linear-pattern.ts'
import { isObject, own, quoted, type RawObject } from './raw.ts'

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const COUNTS = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
]
/** What depends on where a schema is used, or on what others have looked at. */
const NOT_CARRIED_OVER = ['$dynamicRef', 'unevaluatedProperties', 'unevaluatedItems', 'additionalItems']
const LONGEST_EXAMPLE = 80

/** What a keyword becomes, in JSON Schema 2020-12. */
type Keywords = Record<string, unknown>

/**
 * The keywords of a schema that hold no schemas, as JSON Schema 2020-12 has them: whatever the document says, the result
 * is well formed. `lost` is told of rules that are left out, so that more is allowed than the document says.
 */
export function plainKeywords(value: RawObject, lost: (what: string) => void): Keywords {
  const keywords: Keywords = {}
  const nullable = own(value, 'nullable') === true || own(value, 'x-nullable') === true
  const choices = choicesOf(value, lost)
  const types = typesOf(value, nullable, lost)
  if (types.length > 0 && (choices === undefined || choices.some((one) => fits(one, types)))) {
    keywords.type = types.length === 1 ? types[0] : types
  } else if (types.length > 0)
    lost(`the type ${quoted(types.join(', '))}, which none of the values has that are allowed`)
  if (choices !== undefined) keywords.enum = nullable && !choices.includes(null) ? [...choices, null] : choices
  if (Object.hasOwn(value, 'const')) keywords.const = value.const
  texts(value, keywords, lost)
  numbers(value, keywords, lost)
  const required = own(value, 'required')
  if (Array.isArray(required)) {
    const names = new Set(required.filter((name) => typeof name === 'string'))
    if (names.size > 0) keywords.required = [...names]
  }
  if (typeof value.additionalProperties === 'boolean') keywords.additionalProperties = value.additionalProperties
  const dependent = own(value, 'dependentRequired')
  if (isObject(dependent) && Object.values(dependent).every(isNames)) keywords.dependentRequired = dependent
  if (own(value, 'deprecated') === true) keywords.deprecated = true
  for (const rule of NOT_CARRIED_OVER)
    if (Object.hasOwn(value, rule)) lost(`the rule ${quoted(rule)}, which tools do not have`)
  const examples = examplesOf(value)
  if (examples !== undefined) keywords.examples = examples
  return keywords
}

function typesOf(value: RawObject, nullable: boolean, lost: (what: string) => void): unknown[] {
  const written = [own(value, 'type') ?? []].flat()
  const known = written.filter((type) => TYPES.has(type))
  if (known.length < written.length) lost(`the type ${quoted(written.join(', '))}, which JSON Schema does not have`)
  return known.length > 0 && nullable ? [...new Set([...known, 'null'])] : [...new Set(known)]
}

function choicesOf(value: RawObject, lost: (what: string) => void): unknown[] | undefined {
  const choices = own(value, 'enum')
  if (choices === undefined) return undefined
  if (Array.isArray(choices) && choices.length > 0) return choices
  lost('an enum without values')
  return undefined
}

function fits(value: unknown, types: readonly unknown[]): boolean {
  if (value === null) return types.includes('null')
  if (typeof value === 'number')
    return types.includes('number') || (Number.isInteger(value) && types.includes('integer'))
  return types.includes(Array.isArray(value) ? 'array' : typeof value)
}

function texts(value: RawObject, keywords: Keywords, lost: (what: string) => void): void {
  const { format, pattern } = { format: own(value, 'format'), pattern: own(value, 'pattern') }
  if (typeof format === 'string' && FORMATS.has(format)) keywords.format = format
  if (pattern === undefined) return
  if (typeof pattern === 'string' && linearPattern(pattern) !== undefined) keywords.pattern = pattern
  else lost(`the pattern ${quoted(String(pattern))}, which cannot be matched in bounded time`)
}

function numbers(value: RawObject, keywords: Keywords, lost: (what: string) => void): void {
  const take = (name: string, isFit: (number: number) => boolean): void => {
    const number = own(value, name)
    if (number === undefined || number === null || typeof number === 'boolean') return
    if (typeof number === 'number' && Number.isFinite(number) && isFit(number)) keywords[name] = number
    else lost(`${name} ${quoted(String(number))}, which is no such number`)
  }
  for (const name of COUNTS) take(name, (number) => Number.isInteger(number) && number >= 0)
  for (const name of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']) take(name, () => true)
  take('multipleOf', (number) => number > 0)
  // In OpenAPI 3.0 these are switches.
  for (const [bound, rule] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (own(value, rule) !== true || keywords[bound] === undefined) continue
    keywords[rule] = keywords[bound]
    delete keywords[bound]
  }
  if (own(value, 'uniqueItems') === true) keywords.uniqueItems = true
}

/** One short example is worth more to a model than a long one. */
function examplesOf(value: RawObject): unknown[] | undefined {
  const written = own(value, 'examples')
  const example = Object.hasOwn(value, 'example') ? value.example : Array.isArray(written) ? written[0] : undefined
  return isShortExample(example) && own(value, 'enum') === undefined ? [example] : undefined
}

/** Whether a value says more than its type does, and is short. */
export function isShortExample(example: unknown): boolean {
  if (typeof example === 'string') return example !== '' && example.length <= LONGEST_EXAMPLE
  return typeof example === 'number' && Number.isFinite(example)
}

const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')
