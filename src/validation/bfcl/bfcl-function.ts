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

const JSON_TYPES: Readonly<Record<Exclude<DeclaredKind, 'any'>, string>> = {
  text: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  list: 'array',
  object: 'object',
}

const HINTS: Readonly<Record<BfclLanguage, string>> = {
  python: '',
  java: ' The function is written in Java 8.',
  javascript: ' The function is written in JavaScript.',
}

/** Providers refuse dots in names, and the published rules compare names in this form. */
export const plainName = (name: string): string => name.replaceAll('.', '_')

/** Converts a function to a mock tool with JSON Schema. */
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
      const kind = declaredKind(inner)
      if (kind === 'any') return []
      return [[key, kind === undefined ? inner : JSON_TYPES[kind]]]
    }
    if (key === 'properties' && isObject(inner)) {
      return [[key, Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, jsonSchema(one)]))]]
    }
    return [[key, key === 'items' || key === 'additionalProperties' ? jsonSchema(inner) : inner]]
  })
  return Object.fromEntries(entries)
}

/** The declared types, reduced to those of JSON. */
export type ValueKind = 'text' | 'integer' | 'number' | 'boolean' | 'list' | 'object' | 'null'

type DeclaredKind = Exclude<ValueKind, 'null'> | 'any'

const KINDS: Readonly<Record<string, DeclaredKind>> = {
  string: 'text',
  String: 'text',
  char: 'text',
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
  array: 'list',
  list: 'list',
  tuple: 'list',
  Array: 'list',
  ArrayList: 'list',
  Queue: 'list',
  Stack: 'list',
  object: 'object',
  dict: 'object',
  HashMap: 'object',
  Hashtable: 'object',
  any: 'any',
  Any: 'any',
  '': 'any',
}

/** The kind of a declared type; undefined if the type is unknown. */
export function declaredKind(type: unknown): DeclaredKind | undefined {
  if (type === undefined) return 'any'
  return typeof type === 'string' && Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
}

/** The kind of a JSON value. Python distinguishes 5.0 from 5, JSON doesn't: both are integers here. */
export function kindOf(value: unknown): ValueKind {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'string') return 'text'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return 'object'
}

/** Whether a value's kind is acceptable: an integer is a number, too. */
export const fits = (kind: ValueKind, wanted: ValueKind): boolean =>
  kind === wanted || (kind === 'integer' && wanted === 'number')

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

/**
 * The accepted values are a list. In two cases the list is empty, which means the empty list itself: otherwise nothing
 * would be right. In one case the value isn't in a list.
 */
export function acceptedValues(values: unknown): readonly unknown[] {
  if (!Array.isArray(values)) return [values]
  return values.length === 0 ? [[]] : values
}

/** Whether a parameter with these accepted values may be omitted. */
export const mayBeOmitted = (values: readonly unknown[]): boolean => values.includes('')
