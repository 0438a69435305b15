import type { Draft } from './schema-draft.ts'
import { APPLICATORS, isObject, schemasUnder } from './schema-keywords.ts'

/**
 * Brings what is common but no part of the drafts into their form, in place: `nullable: true` beside a type (OpenAPI),
 * and `exclusiveMinimum: true` beside a minimum (draft-04). `$schema` goes: the draft has been chosen. So does an `$id`
 * that draft-07 ignores because it stands beside a `$ref`.
 */
export function normaliseSchema(schema: unknown, draft: Draft): void {
  if (!isObject(schema)) return
  if (draft === 'draft-07' && typeof schema.$ref === 'string') delete schema.$id
  if (schema.nullable === true && schema.type !== undefined) schema.type = [...new Set([schema.type, 'null'].flat())]
  delete schema.nullable
  exclusive(schema, 'minimum', 'exclusiveMinimum')
  exclusive(schema, 'maximum', 'exclusiveMaximum')
  delete schema.$schema
  for (const key of Object.keys(schema)) {
    const applicator = APPLICATORS.get(key)
    if (applicator === undefined) continue
    for (const [inner] of schemasUnder(applicator.shape, schema[key])) normaliseSchema(inner, draft)
  }
}

function exclusive(schema: Record<string, unknown>, inclusive: string, rule: string): void {
  if (typeof schema[rule] !== 'boolean') return
  const bound = schema[inclusive]
  if (schema[rule] && bound !== undefined) {
    schema[rule] = bound
    delete schema[inclusive]
  } else delete schema[rule]
}
