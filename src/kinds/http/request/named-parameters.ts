import { APPLICATORS, isObject, schemasUnder } from '../../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../../core/tool.ts'

/** The parameters that a schema names, in its order, each with the keys that its own schemas name. */
export type NamedParameters = ReadonlyMap<string, ReadonlySet<string>>

/** What a schema names, itself or through what judges the same value: references, `allOf`, `oneOf` and their like. */
export function namedParameters(schema: JsonSchema): NamedParameters {
  const references = new SchemaReferences(schema)
  const named = new Map<string, Set<string>>()
  for (const [name, schemas] of propertiesOf([schema], references)) {
    named.set(name, new Set(propertiesOf(schemas, references).keys()))
  }
  return named
}

function propertiesOf(schemas: readonly unknown[], references: SchemaReferences): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>()
  const seen = new Set<unknown>()
  const visit = (schema: unknown): void => {
    if (!isObject(schema) || seen.has(schema)) return
    seen.add(schema)
    if (isObject(schema.properties)) {
      for (const [name, own] of Object.entries(schema.properties)) found.set(name, [...(found.get(name) ?? []), own])
    }
    visit(references.target(schema, schema.$ref))
    for (const [keyword, { shape, place }] of APPLICATORS) {
      if (place !== 'here' || keyword === 'not' || !Object.hasOwn(schema, keyword)) continue
      for (const [inner] of schemasUnder(shape, schema[keyword])) visit(inner)
    }
  }
  for (const schema of schemas) visit(schema)
  return found
}
