import { isPattern } from './linear-pattern.ts'
import { shortened } from './problem-words.ts'
import { APPLICATORS, type Draft, isObject, schemasUnder } from './schema-keywords.ts'
import { RefusedSchemaError } from './schema-references.ts'

const BESIDE_REFERENCE = new Set(['$ref', 'definitions', '$defs', 'title', 'description', 'default'])

/**
 * Rewrites common extensions, in place: OpenAPI's `nullable: true`, and draft-04's `exclusiveMinimum: true`. Removes
 * `$schema`, and what draft-07 ignores beside a `$ref`. Throws if a pattern isn't a regular expression.
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

/** One of the validators doesn't find definitions beside a `$ref`: moves the `$ref` into `allOf`. */
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
