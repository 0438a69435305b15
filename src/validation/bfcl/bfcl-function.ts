import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema, ToolDefinition } from '../../core/tool.ts'
import type { BfclLanguage } from './bfcl-category.ts'
import { type DeclaredKind, declaredKind } from './bfcl-type.ts'

/** A function as the leaderboard documents it. */
export interface BfclFunction {
  readonly name: string
  readonly description: string
  readonly parameters: BfclParameters
}

export interface BfclParameters {
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

/** A function as a tool with JSON Schema, which answers `{"ok": true}` and does nothing. */
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

/** The types are those of Python, Java and JavaScript; a property may itself be called `type`. */
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
