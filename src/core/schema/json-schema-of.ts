import type { JsonSchema } from '../tool.ts'
import { isObject } from './schema-keywords.ts'

/** Converts a schema of Zod before 4.2 to JSON Schema. */
export type ConvertSchema = (schema: object) => unknown

/** Converts Zod and JSON Schema to the JSON Schema of an object, if possible. */
export function jsonSchemaOf(schema: unknown, convert?: ConvertSchema): JsonSchema | undefined {
  try {
    const json = written(schema, convert)
    if (!isObject(json)) return undefined
    if (json.type === undefined) return { type: 'object', ...json }
    return json.type === 'object' ? json : undefined
  } catch {
    // The converter throws for types that JSON Schema can't express, such as dates.
    return undefined
  }
}

function written(schema: unknown, convert: ConvertSchema | undefined): unknown {
  if (!isObject(schema)) return undefined
  const standard = schema['~standard']
  if (isObject(standard) && isObject(standard.jsonSchema) && typeof standard.jsonSchema.input === 'function') {
    return withoutDialect(standard.jsonSchema.input({ target: 'draft-2020-12' }))
  }
  if ('_zod' in schema || '_def' in schema) return withoutDialect(convert?.(schema))
  return schema
}

/** Why `parameters` can't be used as JSON Schema, if so. Objects of validation libraries have a `type` too. */
export function parametersProblem(parameters: unknown): string | undefined {
  const schema = Object(parameters) as Readonly<Record<string, unknown>>
  const library = libraryOf(schema)
  if (library !== undefined) {
    return `Tool parameters must be a JSON Schema, not a schema of ${library}. Convert it first: with Zod 4, z.toJSONSchema(schema)`
  }
  if (!isObject(parameters) || schema.type !== 'object') return 'Tool parameters must be an object schema'
  if (isPlain(schema)) return undefined
  const { name } = Object(schema.constructor) as { name?: unknown }
  return `Tool parameters must be a plain JSON Schema object, not an instance of ${String(name || 'a class')}`
}

function libraryOf(schema: Readonly<Record<string, unknown>>): string | undefined {
  const standard = schema['~standard']
  if (standard !== undefined) return String((Object(standard) as { vendor?: unknown }).vendor ?? 'Standard')
  return '_zod' in schema || '_def' in schema ? 'zod' : undefined
}

/** Also true for objects of another realm, such as a `vm` context. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function withoutDialect(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const { $schema: _, ...rest } = schema
  return rest
}
