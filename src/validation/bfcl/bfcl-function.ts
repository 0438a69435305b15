import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema, ToolDefinition } from '../../core/tool.ts'
import type { BfclLanguage } from './bfcl-category.ts'

/** A function as the leaderboard documents it. */
export interface BfclFunction {
  readonly name: string
  readonly description: string
  readonly parameters: BfclParameters
}

interface BfclParameters {
  readonly properties: Readonly<Record<string, BfclParameter>>
  readonly required: readonly string[]
}

export interface BfclParameter {
  readonly type?: string
  readonly items?: { readonly type?: string }
  readonly default?: unknown
}

const HINTS: Readonly<Record<BfclLanguage, string>> = {
  python: '',
  java: ' The function is written in Java 8.',
  javascript: ' The function is written in JavaScript.',
}

/** Providers refuse dots in names, and the published rules compare names in this form. */
export const plainName = (name: string): string => name.replaceAll('.', '_')

export function bfclTool(documented: BfclFunction, language: BfclLanguage): ToolDefinition {
  const schema = jsonSchema(documented.parameters) as Record<string, unknown>
  const properties = (isObject(schema.properties) ? schema.properties : {}) as Record<string, JsonSchema>
  if (language !== 'python') {
    for (const name of Object.keys(properties)) properties[name] = orText(properties[name] as JsonSchema)
  }
  return {
    name: plainName(documented.name),
    description: documented.description + HINTS[language],
    parameters: { ...schema, type: 'object', properties },
    implementation: { type: 'mock', mock_response: { ok: true } },
  }
}

/** In Java and JavaScript a value may be the name of a variable, or a literal such as `10L`. */
function orText(schema: JsonSchema): JsonSchema {
  return typeof schema.type === 'string' && schema.type !== 'string'
    ? { ...schema, type: [schema.type, 'string'] }
    : schema
}

/** Maps the types of Python, Java and JavaScript to JSON Schema; a property may itself be named `type`. */
function jsonSchema(value: unknown): unknown {
  if (!isObject(value)) return value
  const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (key === 'type') {
      const type = declaredType(inner)
      return type === 'any' ? [] : [[key, type ?? inner]]
    }
    if (key === 'properties' && isObject(inner)) {
      return [[key, Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, jsonSchema(one)]))]]
    }
    return [[key, key === 'items' || key === 'additionalProperties' ? jsonSchema(inner) : inner]]
  })
  return Object.fromEntries(entries)
}

export type ValueType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'null'

type DeclaredType = Exclude<ValueType, 'null'> | 'any'

const TYPES: Readonly<Record<string, DeclaredType>> = {
  string: 'string',
  String: 'string',
  char: 'string',
  integer: 'integer',
  long: 'integer',
  short: 'integer',
  byte: 'integer',
  Bigint: 'integer',
  number: 'number',
  float: 'number',
  double: 'number',
  boolean: 'boolean',
  Boolean: 'boolean',
  bool: 'boolean',
  array: 'array',
  list: 'array',
  tuple: 'array',
  Array: 'array',
  ArrayList: 'array',
  Queue: 'array',
  Stack: 'array',
  object: 'object',
  dict: 'object',
  HashMap: 'object',
  Hashtable: 'object',
  any: 'any',
  Any: 'any',
  '': 'any',
}

/** The JSON type of a declared type; undefined if the type is unknown. */
export function declaredType(type: unknown): DeclaredType | undefined {
  if (type === undefined) return 'any'
  return typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
}

/** Python distinguishes 5.0 from 5, JSON doesn't: both are integers here. */
export function typeOf(value: unknown): ValueType {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'string' || typeof value === 'boolean' ? (typeof value as ValueType) : 'object'
}

export const fits = (type: ValueType, wanted: ValueType): boolean =>
  type === wanted || (type === 'integer' && wanted === 'number')

/** An accepted call: the function, and the accepted values of each parameter. */
export interface AcceptedCall {
  readonly name: string
  readonly params: AcceptedParams
}

/** `""` among the values of a parameter means that it may be omitted. */
export type AcceptedParams = Readonly<Record<string, readonly unknown[]>>

/** Reads `{function: {parameter: [values]}}` from an answer file; undefined if it has another form. */
export function acceptedCall(source: unknown): AcceptedCall | undefined {
  if (!isObject(source)) return undefined
  const [entry, ...others] = Object.entries(source)
  if (entry === undefined || others.length > 0) return undefined
  const [name, params] = entry
  if (!isObject(params)) return undefined
  const accepted = Object.entries(params).map(([parameter, values]) => [parameter, acceptedValues(values)])
  return { name, params: Object.fromEntries(accepted) }
}

/** In two cases the list is empty, which means the empty list itself; in one the value isn't in a list. */
export function acceptedValues(values: unknown): readonly unknown[] {
  if (!Array.isArray(values)) return [values]
  return values.length === 0 ? [[]] : values
}

export const mayBeOmitted = (values: readonly unknown[]): boolean => values.includes('')
