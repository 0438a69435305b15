import type { StandardSchemaV1 } from '@standard-schema/spec'
import { depthProblem, foreignText } from '../json/json-depth.ts'
import type { JsonSchema } from '../tool.ts'
import { isObject } from './schema-keywords.ts'

/** Converts a schema of Zod before 4.2 to JSON Schema. */
export type ConvertSchema = (schema: object) => unknown

/** The rules of a schema library that JSON Schema can't express. They apply after the JSON Schema. */
export interface Refinement {
  /** Its output is what the handler gets. */
  readonly validate: StandardSchemaV1.Props['validate']
  /** `validate` fills in the defaults, so the executor must not: a default may be a function. */
  readonly fillsDefaults: boolean
}

/** A schema of any library as JSON Schema, with the rules that JSON Schema can't express. */
export interface ReadSchema {
  readonly schema: JsonSchema
  readonly refinement?: Refinement
}

/** Converts Zod and JSON Schema to the JSON Schema of an object, if possible. */
export function jsonSchemaOf(schema: unknown, convert?: ConvertSchema): JsonSchema | undefined {
  try {
    return objectSchema(written(schema, convert))
  } catch {
    // The converter throws for types that JSON Schema can't express, such as dates.
    return undefined
  }
}

/** The keywords that say something about an object without `type`. */
const ABOUT_OBJECTS = ['properties', '$ref', 'allOf', 'anyOf', 'oneOf', 'additionalProperties', 'patternProperties']

function objectSchema(json: unknown): JsonSchema | undefined {
  if (!isObject(json)) return undefined
  if (json.type !== undefined) return json.type === 'object' ? json : undefined
  // A map of properties is not a schema: nothing would be validated.
  const isSchema = ABOUT_OBJECTS.some((keyword) => keyword in json) || !Object.values(json).some(isObject)
  return isSchema ? { type: 'object', ...json } : undefined
}

function written(schema: unknown, convert: ConvertSchema | undefined): unknown {
  const toJson = describer(schema)
  if (toJson !== undefined) return withoutDialect(toJson({ target: 'draft-2020-12' }))
  if (!isObject(schema)) return undefined
  if ('_zod' in schema || '_def' in schema) return withoutDialect(convert?.(schema))
  return schema
}

type Describe = (options: { readonly target: 'draft-2020-12' }) => unknown

/** How a schema of a library describes itself as JSON Schema, if it can. */
function describer(schema: unknown): Describe | undefined {
  const { jsonSchema } = Object(standardOf(schema)) as { jsonSchema?: { input?: unknown } }
  const input = jsonSchema?.input
  return typeof input === 'function' ? (options) => input.call(jsonSchema, options) : undefined
}

const standardOf = (schema: unknown): Partial<StandardSchemaV1.Props> | undefined =>
  (Object(schema) as Partial<StandardSchemaV1>)['~standard']

/**
 * Reads the `parameters` of a definition, or the `input` of a tool in code. `json` replaces the library's own
 * description. Throws a TypeError with the reason if nothing could be validated.
 */
export function readSchema(schema: unknown, json?: unknown): ReadSchema {
  let problem: string | undefined
  try {
    const isDescribed = json === undefined && describer(schema) !== undefined
    const described = isDescribed ? objectSchema(written(schema, undefined)) : (json ?? schema)
    const refinement = refinementOf(schema, isDescribed)
    problem = parametersProblem(described)
    if (json !== undefined && refinement === undefined)
      problem ??= 'json is only allowed with a schema of a validation library'
    if (problem === undefined) return { schema: described as JsonSchema, ...(refinement && { refinement }) }
  } catch (error) {
    problem = `Tool parameters can't be converted to JSON Schema: ${error instanceof Error ? error.message : typeof error}`
  }
  throw new TypeError(problem)
}

function refinementOf(schema: unknown, fillsDefaults: boolean): Refinement | undefined {
  const standard = standardOf(schema)
  const validate = standard?.validate
  if (typeof validate !== 'function') return undefined
  return { validate: (value) => validate.call(standard, value), fillsDefaults }
}

/** Reads the `output` of a tool in code, which may be of any type. */
export function readOutput(output: unknown): ReadSchema {
  const schema = describer(output) === undefined ? output : written(output, undefined)
  if (!isObject(schema) || libraryOf(schema) !== undefined || !isPlain(schema)) {
    throw new TypeError('output must be a JSON Schema, or a schema that can describe itself as JSON Schema')
  }
  const problem = depthProblem(schema)
  if (problem !== undefined) throw new TypeError(`output: ${problem}`)
  const refinement = refinementOf(output, true)
  return { schema, ...(refinement && { refinement }) }
}

const NOT_AN_OBJECT = 'Tool parameters must be an object schema'

/** Why `parameters` can't be used as JSON Schema, if so. Objects of validation libraries have a `type` too. */
export function parametersProblem(parameters: unknown): string | undefined {
  const schema = Object(parameters) as Readonly<Record<string, unknown>>
  if (parameters instanceof Promise) return 'Tool parameters must be a JSON Schema, not a Promise: await it first'
  const library = libraryOf(schema)
  if (library !== undefined) {
    return (
      `Tool parameters must be a JSON Schema, not a schema of ${library} that can't describe itself as JSON Schema. ` +
      'Use Zod 4.2 or later, arktype, or toStandardJsonSchema of @valibot/to-json-schema, or pass the JSON Schema'
    )
  }
  if (!isObject(parameters) || schema.type !== 'object') return NOT_AN_OBJECT
  if (isPlain(schema)) return undefined
  const { name } = Object(schema.constructor) as { name?: unknown }
  return `Tool parameters must be a plain JSON Schema object, not an instance of ${foreignText(name || 'a class')}`
}

function libraryOf(schema: Readonly<Record<string, unknown>>): string | undefined {
  const standard = schema['~standard']
  if (standard !== undefined) return foreignText((Object(standard) as { vendor?: unknown }).vendor ?? 'Standard')
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
