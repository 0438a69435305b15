import type { JsonSchema } from '../tool.ts'

/** Turns a schema of Zod that cannot describe itself (before Zod 4.2) into JSON Schema. */
export type ConvertSchema = (schema: object) => unknown

/** A schema of parameters as JSON Schema of an object: JSON Schema as it is, Zod converted; undefined where it is neither. */
export function jsonSchemaOf(schema: unknown, convert?: ConvertSchema): JsonSchema | undefined {
  try {
    const json = written(schema, convert)
    if (!isRecord(json)) return undefined
    if (json.type === undefined) return { type: 'object', ...json }
    return json.type === 'object' ? json : undefined
  } catch {
    // A schema that JSON cannot express (Zod dates, transforms without an input form) makes its converter throw.
    return undefined
  }
}

/** Zod schemas have a `type` too, so that they must be told apart before a schema is taken for JSON. */
function written(schema: unknown, convert: ConvertSchema | undefined): unknown {
  if (!isRecord(schema)) return undefined
  const standard = schema['~standard']
  if (isRecord(standard) && isRecord(standard.jsonSchema) && typeof standard.jsonSchema.input === 'function') {
    return withoutDialect(standard.jsonSchema.input({ target: 'draft-2020-12' }))
  }
  if ('_zod' in schema || '_def' in schema) return withoutDialect(convert?.(schema))
  return schema
}

/** Why a definition's `parameters` can't be used as JSON Schema; undefined if they can. A validator object has a `type` too. */
export function parametersProblem(parameters: unknown): string | undefined {
  const schema = Object(parameters) as Readonly<Record<string, unknown>>
  const library = libraryOf(schema)
  if (library !== undefined) {
    return `Tool parameters must be a JSON Schema, not a schema of ${library}. Convert it first: with Zod 4, z.toJSONSchema(schema)`
  }
  if (!isRecord(parameters) || schema.type !== 'object') return 'Tool parameters must be an object schema'
  if (isPlain(schema)) return undefined
  const { name } = Object(schema.constructor) as { name?: unknown }
  return `Tool parameters must be a plain JSON Schema object, not an instance of ${String(name || 'a class')}`
}

/** The library that made a schema which validates by code. */
function libraryOf(schema: Readonly<Record<string, unknown>>): string | undefined {
  const standard = schema['~standard']
  if (standard !== undefined) return String((Object(standard) as { vendor?: unknown }).vendor ?? 'Standard')
  return '_zod' in schema || '_def' in schema ? 'zod' : undefined
}

/** Also true for objects of another realm, such as those of a `vm` context. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function withoutDialect(schema: unknown): unknown {
  if (!isRecord(schema)) return schema
  const { $schema: _, ...rest } = schema
  return rest
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
