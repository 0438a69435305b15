import type { JsonSchema } from '../tool.ts'

/** The value of a keyword: one schema, a list, a map, or a mix. */
export type Shape = 'schema' | 'list' | 'map' | 'schema-or-list' | 'map-or-names'

/** What the schemas apply to: the same value, a named or any property, any item, or nothing (definitions). */
type Place = 'here' | 'named' | 'property' | 'item' | 'none'

interface Applicator {
  readonly shape: Shape
  readonly place: Place
}

/** The keywords that contain schemas. All others contain data. */
export const APPLICATORS: ReadonlyMap<string, Applicator> = new Map<string, Applicator>([
  ['properties', { shape: 'map', place: 'named' }],
  ['items', { shape: 'schema-or-list', place: 'item' }],
  ['additionalProperties', { shape: 'schema', place: 'property' }],
  ['anyOf', { shape: 'list', place: 'here' }],
  ['oneOf', { shape: 'list', place: 'here' }],
  ['allOf', { shape: 'list', place: 'here' }],
  ['not', { shape: 'schema', place: 'here' }],
  ['if', { shape: 'schema', place: 'here' }],
  ['then', { shape: 'schema', place: 'here' }],
  ['else', { shape: 'schema', place: 'here' }],
  ['$defs', { shape: 'map', place: 'none' }],
  ['definitions', { shape: 'map', place: 'none' }],
  ['patternProperties', { shape: 'map', place: 'property' }],
  ['unevaluatedProperties', { shape: 'schema', place: 'property' }],
  ['propertyNames', { shape: 'schema', place: 'property' }],
  ['dependentSchemas', { shape: 'map', place: 'here' }],
  ['dependencies', { shape: 'map-or-names', place: 'here' }],
  ['prefixItems', { shape: 'list', place: 'item' }],
  ['additionalItems', { shape: 'schema', place: 'item' }],
  ['unevaluatedItems', { shape: 'schema', place: 'item' }],
  ['contains', { shape: 'schema', place: 'item' }],
  ['contentSchema', { shape: 'schema', place: 'none' }],
])

/** The schemas directly under a keyword, with the property name if it is a map. */
export function* schemasUnder(shape: Shape, value: unknown): Generator<readonly [schema: unknown, name: string]> {
  if (shape === 'schema' || (shape === 'schema-or-list' && !Array.isArray(value))) {
    yield [value, '']
  } else if (shape === 'list' || shape === 'schema-or-list') {
    if (Array.isArray(value)) for (const schema of value) yield [schema, '']
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      if (shape === 'map' || !Array.isArray(value[name])) yield [value[name], name]
    }
  }
}

export type Values = Record<string, unknown>

export function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The supported drafts. */
export type Draft = '2020-12' | 'draft-07'

/** The draft of a schema: 2020-12 by default, draft-07 if it has a list of `items`, which 2020-12 doesn't allow. */
export function schemaDraft(schema: unknown): Draft {
  return namedDraft(schema) ?? (listsItems(schema, 0) ? 'draft-07' : '2020-12')
}

/** Reads draft-04 and draft-06 as draft-07. */
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

const BACKTRACKING = /\(\?(?:=|!|<=|<!)|\\(?:[1-9]|k<)/

/** A quick check: false if the pattern needs backtracking. */
export function seemsLinear(source: string): boolean {
  return !BACKTRACKING.test(source)
}

/**
 * The library that described itself with such a pattern checks it too. A child process need not. `isChecked`: which schemas
 * need their patterns no more.
 */
export const withoutSlowPatterns = (
  schema: JsonSchema,
  isChecked: (schema: { readonly format?: unknown }) => boolean = () => true,
): JsonSchema =>
  JSON.parse(JSON.stringify(schema), function (this: { readonly format?: unknown }, key, value) {
    const isSlow = key === 'pattern' && typeof value === 'string' && !seemsLinear(value)
    return isSlow && isChecked(this) ? undefined : value
  })
