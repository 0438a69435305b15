import { checkAgainstDraft } from '../../core/schema/ajv-check.ts'
import { guardSchema } from '../../core/schema/guard-schema.ts'
import { normaliseSchema } from '../../core/schema/normalise-schema.ts'
import { isObject, schemaDraft } from '../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'

/** A checked copy of a schema, with its references resolved. */
export interface CanonicalSchema {
  readonly root: unknown
  readonly references: SchemaReferences
}

/** Reads a schema like the executor. Throws a `RefusedSchemaError` if the executor would reject it. */
export function canonicalSchema(schema: JsonSchema): CanonicalSchema {
  guardSchema(schema)
  const root: unknown = JSON.parse(JSON.stringify(schema))
  const draft = schemaDraft(root)
  normaliseSchema(root, draft)
  checkAgainstDraft(root, draft)
  return { root, references: new SchemaReferences(root) }
}

/** Annotations that models don't need. */
const NAMES = ['$schema', '$id', '$anchor', '$dynamicAnchor', '$recursiveAnchor', '$comment']

/** Converts one level of a schema to draft 2020-12; nested schemas stay as they are. */
export function modern(schema: unknown): JsonSchema {
  if (!isObject(schema)) return schema === false ? { not: {} } : {}
  const { additionalItems, dependencies, ...rest } = schema
  for (const name of NAMES) delete rest[name]
  if (Array.isArray(rest.items)) {
    rest.prefixItems = rest.items
    if (additionalItems === undefined) delete rest.items
    else rest.items = additionalItems
  }
  if (isObject(dependencies)) {
    const entries = Object.entries(dependencies)
    const names = entries.filter(([, value]) => Array.isArray(value))
    const schemas = entries.filter(([, value]) => !Array.isArray(value))
    if (names.length > 0) rest.dependentRequired = { ...Object.fromEntries(names), ...object(rest.dependentRequired) }
    if (schemas.length > 0) rest.dependentSchemas = { ...Object.fromEntries(schemas), ...object(rest.dependentSchemas) }
  }
  return rest
}

const object = (value: unknown): object => (isObject(value) ? value : {})
