import { checkAgainstDraft } from '../../core/schema/ajv-check.ts'
import { guardSchema } from '../../core/schema/guard-schema.ts'
import { normaliseSchema } from '../../core/schema/normalise-schema.ts'
import { schemaDraft } from '../../core/schema/schema-draft.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'

/** A copy of a schema that is known to be sound, and what its references lead to. */
export interface CanonicalSchema {
  readonly root: unknown
  readonly references: SchemaReferences
}

/** Reads a schema as the executor does. Throws a `RefusedSchemaError` where the executor would refuse it. */
export function canonicalSchema(schema: JsonSchema): CanonicalSchema {
  guardSchema(schema)
  const root: unknown = JSON.parse(JSON.stringify(schema))
  const draft = schemaDraft(root)
  normaliseSchema(root, draft)
  checkAgainstDraft(root, draft)
  return { root, references: new SchemaReferences(root) }
}

/** Names and remarks for people: no model needs them, and nothing is lost without them. */
const NAMES = ['$schema', '$id', '$anchor', '$dynamicAnchor', '$recursiveAnchor', '$comment']

/** One schema in the words of 2020-12: booleans, and what draft-07 says otherwise. Schemas under it stay as they are. */
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
