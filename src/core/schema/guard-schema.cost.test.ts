import fc from 'fast-check'
import { expect, it } from 'vitest'
import { guardSchema } from './guard-schema.ts'
import { isObject } from './schema-keywords.ts'
import { SchemaReferences } from './schema-references.ts'

type Schema = Record<string, unknown>

const { schema } = fc.letrec<{ schema: Schema }>((tie) => {
  const inner = tie('schema')
  const properties = fc.dictionary(fc.constantFrom('a', 'b', 'c'), inner, { maxKeys: 3 })
  return {
    schema: fc.oneof(
      { maxDepth: 5 },
      fc.constant({}),
      fc.record({ $ref: fc.constantFrom('#', '#/$defs/x', '#/$defs/y') }),
      fc.record({ properties }),
      fc.record({ allOf: fc.array(inner, { maxLength: 3 }), items: inner }),
      fc.record({ anyOf: fc.array(inner, { maxLength: 3 }), additionalProperties: inner }),
      fc.record({ properties, patternProperties: fc.record({ '.': inner }), contains: inner, items: inner }),
    ),
  }
})

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constant(1),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { maxKeys: 3 }),
    fc.array(tie('value'), { maxLength: 2 }),
  ),
}))

it('the cost of a schema is never lower than the number of schemas that check one value', () => {
  fc.assert(
    fc.property(schema, schema, schema, fc.array(value, { minLength: 3 }), (root, x, y, values) => {
      const whole = { ...root, $defs: { x, y } }
      const cost = costOf(whole)
      if (Number.isFinite(cost)) for (const each of values) expect(mostVisits(whole, each)).toBeLessThanOrEqual(cost)
    }),
    { numRuns: 2000 },
  )
})

function costOf(whole: Schema): number {
  try {
    return guardSchema(whole).cost
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Judges a value under all that applies, and counts for each part of it. */
function mostVisits(whole: Schema, params: unknown): number {
  const references = new SchemaReferences(whole)
  const visits = new Map<string, number>()

  function judge(at: unknown, part: unknown, path: string): void {
    visits.set(path, (visits.get(path) ?? 0) + 1)
    const { $ref, allOf, anyOf, items, contains, properties, patternProperties, additionalProperties } = at as Schema
    const apply = (inner: unknown, to: unknown, step = '') => inner !== undefined && judge(inner, to, path + step)
    if ($ref !== undefined) apply(references.target(at, $ref), part)
    for (const branch of [allOf ?? [], anyOf ?? []].flat()) apply(branch, part)
    if (Array.isArray(part)) {
      for (const [index, item] of part.entries()) for (const inner of [items, contains]) apply(inner, item, `/${index}`)
    } else if (isObject(part)) {
      for (const [name, inner] of Object.entries(part)) {
        const named = (properties as Schema | undefined)?.[name]
        apply(named ?? additionalProperties, inner, `/${name}`)
        apply((patternProperties as Schema | undefined)?.['.'], inner, `/${name}`)
      }
    }
  }

  judge(whole, params, '')
  return Math.max(...visits.values())
}
