import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { SchemaReferences } from '../../../core/schema/schema-references.ts'
import { mergedSchema } from './merged-schema.ts'
import { sampleNumber } from './sample-number.ts'
import { sampleText } from './sample-text.ts'

/** How a value is made. */
export interface Sampling {
  readonly references: SchemaReferences
  /** Another number makes other choices, where there are any. */
  readonly variant: number
  /** Which parameter it is, so that no two of them have the same number. */
  readonly position: number
}

/** Stands for no value: there is none that fits, or none was found. */
export const NONE = Symbol('none')

/** Whether a caller may send a parameter of that name. */
export const maySend = (name: string): boolean => !['__proto__', 'constructor', 'prototype'].includes(name)

const MAX_DEPTH = 12
const MOST_ITEMS = 20
/** Of what need not be there, an object that would be empty gets this many. */
const OPTIONAL_ENTRIES = 1

type Schema = Readonly<Record<string, unknown>>

/** A value that fits a schema, as far as one is found: an example, a listed value, a default, else one of its type. */
export function sampleValue(written: unknown, name: string, how: Sampling, depth = 0, number = 0): unknown {
  const schema = depth > MAX_DEPTH ? undefined : mergedSchema(written, how.references, how.variant)
  if (schema === undefined) return NONE
  if ('const' in schema) return schema.const
  const listed = listedValues(schema)
  if (listed.length > 0) return listed[(how.variant + number) % listed.length]
  switch (typeOf(schema)) {
    case 'string':
      if (typeof schema.default === 'string' && schema.default !== '' && number === 0) return schema.default
      return sampleText({ ...schema, name, number } as Parameters<typeof sampleText>[0])
    case 'integer':
    case 'number':
      if (typeof schema.default === 'number' && number === 0) return schema.default
      return sampleNumber({ name, integer: typeOf(schema) === 'integer', schema, number: how.position + number })
    case 'boolean':
      return schema.default !== true
    case 'array':
      return sampleList(schema, name, how, depth)
    case 'object':
      return sampleObject(schema, how, depth)
    case 'null':
      return null
    default:
      return schema.default ?? sampleText({ name, number })
  }
}

/** Values that the schema itself names: examples first, then its list, of which one that is no default says more. */
function listedValues({ examples, example, enum: list, default: preset }: Schema): readonly unknown[] {
  const given = Array.isArray(examples) ? examples : example === undefined ? [] : [example]
  if (!Array.isArray(list)) return given
  const useful = list.filter((value) => value !== null && value !== '' && value !== preset)
  return [...given.filter((value) => list.includes(value)), ...(useful.length > 0 ? useful : list)]
}

function typeOf({ type, properties, items, minimum, maximum, pattern }: Schema): unknown {
  const types = Array.isArray(type) ? type : [type]
  const named = types.find((one) => one !== 'null') ?? types[0]
  if (named !== undefined) return named
  if (properties !== undefined) return 'object'
  if (items !== undefined) return 'array'
  if (minimum !== undefined || maximum !== undefined) return 'number'
  return pattern === undefined ? undefined : 'string'
}

function sampleList(schema: Schema, name: string, how: Sampling, depth: number): unknown {
  const { default: preset, items, prefixItems, minItems, maxItems } = schema
  if (Array.isArray(preset) && preset.length > 0) return preset
  const most = typeof maxItems === 'number' ? maxItems : MOST_ITEMS
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
  const rest = Array.isArray(items) ? schema.additionalItems : items
  const wanted = Math.max(typeof minItems === 'number' ? minItems : 1, first.length)
  const list: unknown[] = []
  for (let at = 0; at < Math.min(wanted, most, MOST_ITEMS); at++) {
    list.push(sampleValue(first[at] ?? rest, singular(name), how, depth + 1, at < first.length ? 0 : at))
  }
  return list.includes(NONE) ? NONE : list
}

const singular = (name: string): string => name.replace(/(?<=..)s$/, '')

/** What must be there, else the first that may; where any names will do, one of our own. */
function sampleObject(schema: Schema, how: Sampling, depth: number): unknown {
  const { default: preset, additionalProperties: others, minProperties } = schema
  const properties = isObject(schema.properties) ? schema.properties : {}
  if (isObject(preset) && Object.keys(preset).length > 0) return preset
  const required = (Array.isArray(schema.required) ? schema.required : []) as string[]
  const least = Math.max(typeof minProperties === 'number' ? minProperties : 0, OPTIONAL_ENTRIES)
  const optional = Object.keys(properties).filter((name) => !required.includes(name) && maySend(name))
  const names = [...required, ...optional.slice(0, Math.max(0, least - required.length))]
  const entries = new Map<string, unknown>()
  for (const name of names) {
    const value = maySend(name) ? sampleValue(properties[name] ?? others, name, how, depth + 1) : NONE
    if (value !== NONE) entries.set(name, value)
    else if (required.includes(name)) return NONE
  }
  for (let at = 1; others !== false && entries.size < least && at <= least; at++) {
    const value = sampleValue(others, 'value', how, depth + 1, at - 1)
    if (value !== NONE) entries.set(at === 1 ? 'key' : `key${at}`, value)
  }
  return Object.fromEntries(entries)
}
