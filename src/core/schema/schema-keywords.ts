/** What the value of a keyword holds: one schema, a list of them, a map of them, or a mixture. */
export type Shape = 'schema' | 'list' | 'map' | 'schema-or-list' | 'map-or-names'

/**
 * Which value the schemas under a keyword judge: the same one, one named property, any property, any item, or none
 * (they only stand ready for a reference).
 */
export type Place = 'here' | 'named' | 'property' | 'item' | 'none'

/** How a keyword holds schemas. */
export interface Applicator {
  readonly shape: Shape
  readonly place: Place
}

/** The keywords with schemas under them. Whatever is not listed holds data, and nothing inside data is a schema. */
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

/** The schemas directly under one keyword, with the property name where they stand in a map. */
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

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
