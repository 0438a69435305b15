import { expect, it } from 'vitest'
import type { JsonSchema } from '../tool.ts'
import { requiredParameters } from './parameter-check.ts'

const parameter = (schema: unknown, more: object = {}) =>
  requiredParameters({ required: ['a'], properties: { a: schema }, ...more })[0]

it('lists the required top-level parameters in order, with type and description', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { b: { type: 'integer' }, a: { type: 'string', description: 'Where' }, c: {} },
    required: ['a', 'b', 'a', 'x', 7],
  }
  expect(requiredParameters(schema)).toEqual([
    { name: 'a', type: 'string', description: 'Where' },
    { name: 'b', type: 'integer', description: '' },
    { name: 'x', type: 'any', description: '' },
  ])
})

it.each<[unknown, string]>([
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ anyOf: [{ type: 'string' }, { type: 'array' }] }, 'string | array'],
  [{ oneOf: [{ type: 'string' }, {}] }, 'any'],
  [{ enum: ['x', 1, null] }, 'string | number | null'],
  [{ const: [] }, 'array'],
  [true, 'any'],
])('writes the type of %j as %s', (schema, type) => {
  expect(parameter(schema)?.type).toBe(type)
})

it('follows references, and prefers the description beside them', () => {
  const $defs = { city: { type: 'string', description: 'A city' } }
  expect(parameter({ $ref: '#/$defs/city' }, { $defs })).toEqual({ name: 'a', type: 'string', description: 'A city' })
  expect(parameter({ $ref: '#/$defs/city', description: 'Home' }, { $defs })?.description).toBe('Home')
  expect(requiredParameters({ $ref: '#/$defs/all', $defs: { all: { required: ['q'] } } })).toEqual([
    { name: 'q', type: 'any', description: '' },
  ])
})

it('tolerates invalid schemas', () => {
  expect(requiredParameters({ required: 'a', properties: 3 })).toEqual([])
  expect(requiredParameters({ $ref: '#' })).toEqual([])
  expect(parameter({ $ref: '#/nowhere' })?.type).toBe('any')
})
