import { describe, expect, it } from 'vitest'
import type { JsonSchema, Params } from '../tool.ts'
import { compileSchema } from './compiled-schema.ts'

function filled(schema: JsonSchema, params: Params): Params {
  compileSchema(schema).fillDefaults?.(params)
  return params
}

const many = () => ({ l: Array.from({ length: 10_000 }, () => ({})) })
const next = { properties: { next: { $ref: '#/$defs/n' } } }
const deep = () => JSON.parse(`${'{"next":'.repeat(60)}{}${'}'.repeat(60)}`)

const unit = { properties: { unit: { default: 'celsius' } } }

describe('fillDefaults', () => {
  it('adds no forbidden key', () => {
    const preset = JSON.parse('{"__proto__":{"admin":true},"list":[{"constructor":1,"kept":2}],"prototype":3}')
    const schema = { properties: { a: { default: preset } } }
    const params = filled(schema as unknown as JsonSchema, {})
    expect(JSON.stringify(params)).toBe('{"a":{"list":[{"kept":2}]}}')
    expect(Object.keys(params)).toEqual(['a'])
  })

  it('adds a property that the schema has, whatever its name', () => {
    const params = filled({ properties: { constructor: { default: 1 } } } as unknown as JsonSchema, {})
    expect(Object.entries(params)).toEqual([['constructor', 1]])
  })

  it.each<[string, JsonSchema, Params]>([
    ['in items', { properties: { l: { items: { properties: { a: { default: 'x'.repeat(9_000) } } } } } }, many()],
    ['in each other', { properties: { a: { $ref: '#', default: {} }, b: { $ref: '#', default: {} } } }, {}],
    [
      'on many ways to one value',
      { $ref: '#/$defs/n', $defs: { n: { allOf: [next, { ...next }], properties: { x: { default: 1 } } } } },
      deep(),
    ],
  ])('refuses defaults that multiply %s', (_, schema, params) => {
    expect(() => filled(schema, params)).toThrow('Invalid parameters: the parameters with their defaults are too large')
  })

  it.each<[string, JsonSchema, Params, Params]>([
    ['what is missing', unit, {}, { unit: 'celsius' }],
    ['not what is there, even null', unit, { unit: null }, { unit: null }],
    ['objects that were sent', { properties: { a: unit } }, { a: {} }, { a: { unit: 'celsius' } }],
    ['no objects that were not sent', { properties: { a: unit } }, {}, {}],
    [
      'an object with a default of its own',
      { properties: { a: { ...unit, default: {} } } },
      {},
      { a: { unit: 'celsius' } },
    ],
    [
      'items that are there',
      { properties: { a: { items: unit } } },
      { a: [{}, { unit: 'k' }, 3] },
      { a: [{ unit: 'celsius' }, { unit: 'k' }, 3] },
    ],
    ['through allOf', { allOf: [unit, { properties: { b: { default: 1 } } }] }, {}, { unit: 'celsius', b: 1 }],
    ['through references', { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { default: 2 } } }, {}, { a: 2 }],
    [
      'the default beside a reference first',
      { properties: { a: { $ref: '#/$defs/a', default: 1 } }, $defs: { a: { default: 2 } } },
      {},
      { a: 1 },
    ],
    [
      'recursive schemas as far as there are values',
      { properties: { n: { default: 0 }, next: { $ref: '#' } } },
      { next: { next: {} } },
      { n: 0, next: { n: 0, next: { n: 0 } } },
    ],
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    ['nothing under anyOf, oneOf and if', { anyOf: [unit], oneOf: [unit], if: unit, then: unit }, {}, {}],
    ['a property that is named default', { properties: { default: { default: 1 } } }, {}, { default: 1 }],
  ])('fills %s', (_, schema, params, expected) => {
    expect(filled(schema, params)).toEqual(expected)
  })

  it('is absent if the schema has no defaults', () => {
    expect(compileSchema({ properties: { a: { type: 'string' } } }).fillDefaults).toBeUndefined()
    expect(compileSchema({ default: {}, anyOf: [unit] }).fillDefaults).toBeUndefined()
  })

  it('gives every call its own copy', () => {
    const schema = { properties: { a: { default: { list: [1] } } } }
    const first = filled(schema, {})
    ;(first.a as { list: number[] }).list.push(2)
    expect(filled(schema, {})).toEqual({ a: { list: [1] } })
  })

  it('sets no prototype', () => {
    const params = filled({ properties: JSON.parse('{"__proto__":{"default":{"admin":true}},"b":{"default":1}}') }, {})
    expect(Object.getPrototypeOf(params)).toBe(Object.prototype)
    expect(JSON.stringify(params)).toBe('{"__proto__":{"admin":true},"b":1}')
  })

  it('ends for a recursive default', () => {
    const schema = { $ref: '#/$defs/a', $defs: { a: { properties: { next: { $ref: '#/$defs/a', default: {} } } } } }
    let depth = 0
    for (let at: unknown = filled(schema, {}); at !== undefined; at = (at as Params).next) depth++
    expect(depth).toBeLessThan(70)
  })
})
