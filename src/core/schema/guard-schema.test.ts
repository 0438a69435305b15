import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guardSchema } from './guard-schema.ts'

describe('guardSchema', () => {
  it('treats keywords inside properties as names', () => {
    const properties = { default: {}, $ref: {}, pattern: {}, $async: {}, $id: {}, enum: {}, unevaluatedItems: {} }
    expect(guardSchema({ properties })).toMatchObject({ ordinary: true, cost: 1, hasDefaults: false })
  })

  it('counts the values of enum and const', () => {
    const names = Array.from({ length: 1000 }, (_, n) => `name ${n}`)
    const entries = Object.fromEntries(names.map((name) => [name, 1]))
    expect(guardSchema({ items: { items: { enum: names } } }).cost).toBeGreaterThan(250)
    for (const rule of [{ const: entries }, { not: { const: entries } }, { enum: [entries] }]) {
      expect(guardSchema({ items: { items: rule } }).cost).toBeGreaterThan(1000)
    }
    expect(guardSchema({ items: { items: { examples: names } } }).cost).toBe(1)
  })

  it("doesn't treat data as schemas", () => {
    const data = { $ref: 'http://x', $async: true, pattern: '(?=a)', default: 1, $dynamicRef: '#a' }
    expect(guardSchema({ enum: [data], const: data, examples: [data] })).toMatchObject({
      ordinary: true,
      hasDefaults: false,
    })
    expect(guardSchema({ default: data })).toMatchObject({ ordinary: true, cost: 1, hasDefaults: true })
  })

  it.each<[string, unknown]>([
    ['$dynamicRef', { $dynamicRef: '#a', $defs: { b: { $dynamicAnchor: 'a' } } }],
    ['unevaluatedItems', { unevaluatedItems: false }],
    ['unevaluatedProperties with a condition', { unevaluatedProperties: false, allOf: [{ if: {} }] }],
    ['an empty enum', { enum: [] }],
    ['a property named __proto__', { properties: JSON.parse('{"__proto__":{}}') }],
    ['a lookahead', { properties: { a: { pattern: '^(?!x)' } } }],
    ['a backreference in a property name', { patternProperties: { '(a)\\1': {} } }],
    ['a meta-schema', { items: { $ref: 'https://json-schema.org/draft/2020-12/schema' } }],
    ['a schema with a nested $id', { $defs: { a: { $id: 'a.json' } }, items: { $ref: 'a.json' } }],
  ])('leaves %s to the exact validator', (_, schema) => {
    expect(guardSchema(schema).ordinary).toBe(false)
  })

  it.each<[string, unknown, number]>([
    ['a flat object', { properties: { a: {}, b: {}, c: {} } }, 1],
    ['a choice of three', { properties: { a: { anyOf: [{}, {}, {}] } } }, 4],
    ['additional beside named properties', { properties: { a: {} }, patternProperties: { x: {}, y: {} } }, 3],
    [
      'unevaluatedProperties without a condition',
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      2,
    ],
    ['a reference', { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: {} } }, 2],
    [
      'any JSON',
      {
        $defs: {
          json: {
            anyOf: [
              { type: 'string' },
              { type: 'array', items: { $ref: '#/$defs/json' } },
              { type: 'object', additionalProperties: { $ref: '#/$defs/json' } },
            ],
          },
        },
        properties: { a: { $ref: '#/$defs/json' } },
      },
      5,
    ],
    [
      'a filter of and, or, not',
      {
        anyOf: [
          { properties: { and: { items: { $ref: '#' } } } },
          { properties: { or: { items: { $ref: '#' } } } },
          { properties: { not: { $ref: '#' } } },
        ],
      },
      5,
    ],
    ['a tree of two branches', { properties: { left: { $ref: '#' }, right: { $ref: '#' } } }, 2],
  ])('validates %s in the main process', (_, schema, cost) => {
    expect(guardSchema(schema)).toMatchObject({ ordinary: true, cost, hasDefaults: false })
  })

  it.each<[string, unknown]>([
    [
      'references that double at each step',
      {
        $defs: Object.fromEntries(
          Array.from({ length: 20 }, (_, n) => [
            n,
            n === 19 ? {} : { allOf: [{ $ref: `#/$defs/${n + 1}` }, { $ref: `#/$defs/${n + 1}` }] },
          ]),
        ),
        $ref: '#/$defs/0',
      },
    ],
    [
      'two ways down to the same property',
      { oneOf: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' }, b: {} } }] },
    ],
    [
      'two ways down through different names',
      { properties: { a: { $ref: '#' } }, patternProperties: { '.': { $ref: '#' } } },
    ],
    [
      'a circle that doubles',
      {
        $defs: {
          a: { properties: { x: { $ref: '#/$defs/b' } } },
          b: { allOf: [{ items: { $ref: '#/$defs/a' } }, { items: { $ref: '#/$defs/a' } }] },
        },
        $ref: '#/$defs/a',
      },
    ],
    [
      'very many branches',
      {
        properties: { a: { $ref: '#/$defs/a' } },
        $defs: {
          a: { allOf: Array.from({ length: 150 }, () => ({ $ref: '#/$defs/b' })) },
          b: { allOf: Array.from({ length: 150 }, () => ({})) },
        },
      },
    ],
    ['more than 500 nodes', { properties: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [n, {}])) }],
  ])('does not validate %s in the main process', (_, schema) => {
    expect(guardSchema(schema).ordinary).toBe(false)
  })

  it('counts the rules that read a whole text or array', () => {
    const text = { anyOf: [{ format: 'uri' }, { minLength: 1, maxLength: 2 }] }
    expect(guardSchema({ properties: { a: {} } }).textCost).toBe(0)
    expect(guardSchema({ properties: { a: text } }).textCost).toBe(3)
    expect(guardSchema({ items: { uniqueItems: true, items: { uniqueItems: true } } }).textCost).toBe(2)
    const twice = {
      properties: { a: { allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } },
      $defs: { a: { format: 'uri' } },
    }
    expect(guardSchema(twice).textCost).toBeGreaterThanOrEqual(2)
    const nested = { $ref: '#/$defs/a', $defs: { a: { uniqueItems: true, items: { $ref: '#/$defs/a' } } } }
    expect(guardSchema(nested).textCost).toBeGreaterThanOrEqual(64)
  })

  it('ends for graphs with more paths than can be walked', () => {
    // Only the test's timeout can end a walk of all paths.
    const refs = Array.from({ length: 40 }, (_, n) => ({ $ref: `#/$defs/${n}` }))
    const $defs = Object.fromEntries(
      refs.map((_, n) => [
        n,
        { properties: { [`p${n}`]: { anyOf: refs.slice(0, 20) } }, items: { allOf: refs.slice(20) } },
      ]),
    )
    expect(guardSchema({ $defs, ...refs[0] }).ordinary).toBe(false)
    const chain = Object.fromEntries(
      Array.from({ length: 900 }, (_, n) => [n, n === 899 ? {} : { $ref: `#/$defs/${n + 1}` }]),
    )
    expect(guardSchema({ $defs: chain, $ref: '#/$defs/0' }).cost).toBeGreaterThan(800)
  })

  it('throws only Errors with a message, for any input', () => {
    const keyword = fc.constantFrom(
      'properties',
      'items',
      'allOf',
      'anyOf',
      '$ref',
      '$defs',
      '$id',
      '$async',
      'not',
      'pattern',
      'enum',
      'required',
      '__proto__',
      '$dynamicRef',
      'patternProperties',
      'dependencies',
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.jsonValue(),
        fc.constantFrom('#', '#/items', '#/$defs/a', '#/%', 'a:b', '(?=', '('),
        fc.anything(),
        tie('object'),
        fc.array(tie('value'), { maxLength: 3 }),
      ),
      object: fc.dictionary(keyword, tie('value'), { maxKeys: 4 }),
    }))
    fc.assert(
      fc.property(value, (schema) => {
        try {
          const facts = guardSchema(schema)
          expect(facts.cost).toBeGreaterThan(0)
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
          expect((error as Error).message).toMatch(/\w/)
        }
      }),
      { numRuns: 2000 },
    )
  })
})
