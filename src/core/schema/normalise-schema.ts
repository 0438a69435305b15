import { isPattern } from './linear-pattern.ts'
import { shortened } from './problem-words.ts'
import type { Draft } from './schema-draft.ts'
import { APPLICATORS, isObject, schemasUnder } from './schema-keywords.ts'
import { RefusedSchemaError } from './schema-references.ts'

const BESIDE_REFERENCE = new Set(['$ref', 'definitions', '$defs', 'title', 'description', 'default'])

/**
 * Brings what is common but no part of the drafts into their form, in place: `nullable: true` beside a type (OpenAPI),
 * and `exclusiveMinimum: true` beside a minimum (draft-04). `$schema` goes: the draft has been chosen. So does
 * what draft-07 ignores because it stands beside a `$ref`. Throws where a pattern is no regular expression.
 */
export function normaliseSchema(schema: unknown, draft: Draft): void {
  if (!isObject(schema)) return
  if (draft === 'draft-07' && typeof schema.$ref === 'string') leaveReference(schema)
  if (schema.nullable === true && schema.type !== undefined) schema.type = [...new Set([schema.type, 'null'].flat())]
  delete schema.nullable
  exclusive(schema, 'minimum', 'exclusiveMinimum')
  exclusive(schema, 'maximum', 'exclusiveMaximum')
  delete schema.$schema
  if (typeof schema.pattern === 'string') checkPattern(schema.pattern)
  if (isObject(schema.patternProperties)) Object.keys(schema.patternProperties).forEach(checkPattern)
  for (const key of Object.keys(schema)) {
    const applicator = APPLICATORS.get(key)
    if (applicator === undefined) continue
    for (const [inner] of schemasUnder(applicator.shape, schema[key])) normaliseSchema(inner, draft)
  }
}

/** Definitions are found where they stand, but one of the validators loses them beside a `$ref`: it moves away. */
function leaveReference(schema: Record<string, unknown>): void {
  for (const key of Object.keys(schema)) if (!BESIDE_REFERENCE.has(key)) delete schema[key]
  if (schema.definitions === undefined && schema.$defs === undefined) return
  schema.allOf = [{ $ref: schema.$ref }]
  delete schema.$ref
}

function checkPattern(source: string): void {
  if (!isPattern(source)) throw new RefusedSchemaError(`pattern "${shortened(source)}" is not a regular expression`)
}

function exclusive(schema: Record<string, unknown>, inclusive: string, rule: string): void {
  if (typeof schema[rule] !== 'boolean') return
  const bound = schema[inclusive]
  if (schema[rule] && bound !== undefined) {
    schema[rule] = bound
    delete schema[inclusive]
  } else delete schema[rule]
}
