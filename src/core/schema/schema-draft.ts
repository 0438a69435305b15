import { APPLICATORS, isObject, schemasUnder } from './schema-keywords.ts'

/** The two drafts that are judged. */
export type Draft = '2020-12' | 'draft-07'

/**
 * The draft a schema is read as. A schema that names no draft, or one we do not have, is 2020-12, unless it lists
 * `items` one by one: only the older drafts do that, and 2020-12 has no meaning for it.
 */
export function schemaDraft(schema: unknown): Draft {
  return namedDraft(schema) ?? (listsItems(schema, 0) ? 'draft-07' : '2020-12')
}

/** The draft that `$schema` names, as far as we have it: draft-04 and draft-06 are read as draft-07. */
function namedDraft(schema: unknown): Draft | undefined {
  const named = isObject(schema) ? schema.$schema : undefined
  if (typeof named !== 'string') return undefined
  if (named.includes('2020-12')) return '2020-12'
  return /draft-0[3467]/.test(named) ? 'draft-07' : undefined
}

function listsItems(schema: unknown, depth: number): boolean {
  if (!isObject(schema) || depth > 64) return false
  if (Array.isArray(schema.items)) return true
  for (const [keyword, { shape }] of APPLICATORS) {
    if (!Object.hasOwn(schema, keyword)) continue
    for (const [inner] of schemasUnder(shape, schema[keyword])) if (listsItems(inner, depth + 1)) return true
  }
  return false
}
