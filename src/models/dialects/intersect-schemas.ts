import { canonicalText } from '../../core/json/canonical-text.ts'
import { ownValue } from '../../core/json/json-type.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { modern } from './canonical-schema.ts'

/** Annotations: the outer schema's win. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
])

/** Merges two values of a keyword; undefined if they can't be merged. */
const TOGETHER: Readonly<Record<string, (one: never, other: never) => unknown>> = {
  type: commonTypes,
  enum: commonValues,
  required: (one: string[], other: string[]) => [...new Set([...one, ...other])],
  properties: commonProperties,
  items: both,
  additionalProperties: both,
  propertyNames: both,
  minimum: Math.max,
  exclusiveMinimum: Math.max,
  minLength: Math.max,
  minItems: Math.max,
  minProperties: Math.max,
  maximum: Math.min,
  exclusiveMaximum: Math.min,
  maxLength: Math.min,
  maxItems: Math.min,
  maxProperties: Math.min,
  uniqueItems: (one: boolean, other: boolean) => one || other,
}

/**
 * Merges two schemas for the same value. Nested schemas are combined with `allOf` and merged later. If keywords can't
 * be merged, `lost` is called and `outer` wins.
 */
export function intersectSchemas(outer: JsonSchema, inner: JsonSchema, lost: (keyword: string) => void): JsonSchema {
  const result: Record<string, unknown> = { ...outer }
  for (const [keyword, value] of Object.entries(inner)) {
    const own = ownValue(result, keyword)
    if (own === undefined) result[keyword] = value
    else if (!ANNOTATIONS.has(keyword) && !same(own, value)) {
      const joined = ownValue(TOGETHER, keyword)?.(own as never, value as never)
      if (joined === undefined) lost(keyword)
      else result[keyword] = joined
    }
  }
  return result
}

export function both(one: unknown, other: unknown): unknown {
  if (one === false || other === false) return false
  if (one === true || same(one, other)) return other
  return other === true ? one : { allOf: [one, other] }
}

export function typesOf(schema: JsonSchema): string[] {
  return schema.type === undefined ? [] : ([schema.type].flat() as string[])
}

function commonTypes(one: unknown, other: unknown): unknown {
  const [ones, others] = [typesOf({ type: one }), typesOf({ type: other })]
  const common = new Set<string>()
  for (const type of ones)
    if (others.includes(type) || (type === 'integer' && others.includes('number'))) common.add(type)
  for (const type of others) if (type === 'integer' && ones.includes('number')) common.add(type)
  const list = [...common]
  return list.length > 1 ? list : list[0]
}

function commonValues(one: unknown[], other: unknown[]): unknown {
  const others = new Set(other.map(canonicalText))
  const values = one.filter((value) => others.has(canonicalText(value)))
  return values.length > 0 ? values : undefined
}

function commonProperties(one: JsonSchema, other: JsonSchema): unknown {
  const result = new Map(Object.entries(one))
  for (const [name, schema] of Object.entries(other)) {
    result.set(name, Object.hasOwn(one, name) ? both(one[name], schema) : schema)
  }
  return Object.fromEntries(result)
}

function same(one: unknown, other: unknown): boolean {
  return one === other || (isCompound(one) && isCompound(other) && JSON.stringify(one) === JSON.stringify(other))
}

const isCompound = (value: unknown): boolean => isObject(value) || Array.isArray(value)

/** How many characters of schemas may be merged: for each character of the whole schema, and at least. */
const MERGED_PER_CHARACTER = 50
const MIN_MERGED = 500_000
const left = new WeakMap<SchemaReferences, number>()

/** Whether two more schemas may be merged: a few references and lists of alternatives make any number of pairs. */
function mayMerge(one: JsonSchema, other: unknown, references: SchemaReferences, lost: (keyword: string) => void) {
  const before = left.get(references) ?? Math.max(MIN_MERGED, MERGED_PER_CHARACTER * lengthOf(references.root))
  if (before <= 0) return false
  const after = before - lengthOf(one) - lengthOf(other)
  left.set(references, after)
  if (after <= 0) lost('allOf')
  return after > 0
}

const lengths = new WeakMap<object, number>()

/** Schemas don't change: many references have the same target. */
export function lengthOf(schema: unknown): number {
  if (!isObject(schema)) return 1
  const length = lengths.get(schema) ?? JSON.stringify(schema).length
  lengths.set(schema, length)
  return length
}

interface FoldedSchema {
  readonly schema: JsonSchema
  /** The targets of its references. */
  readonly targets: readonly unknown[]
}

/** Resolves `$ref` and `allOf` of one level, and turns `const` into `enum`; nested schemas stay as they are. */
export function foldSchema(
  raw: unknown,
  references: SchemaReferences,
  lost: (keyword: string) => void,
  targets: unknown[] = [],
): FoldedSchema {
  const { $ref, allOf, $defs, definitions, const: only, ...own } = modern(raw)
  let schema: JsonSchema = only === undefined ? own : { ...own, enum: [only] }
  const take = (part: unknown): void => {
    if (!mayMerge(schema, part, references, lost)) return
    schema = intersectSchemas(schema, foldSchema(part, references, lost, targets).schema, lost)
  }
  if ($ref !== undefined) {
    const target = references.target(raw, $ref)
    if (target === undefined) lost('$ref')
    else if (!targets.includes(target)) {
      // Repeated references add nothing.
      targets.push(target)
      take(target)
    }
  }
  if (Array.isArray(allOf)) allOf.forEach(take)
  return { schema, targets }
}
