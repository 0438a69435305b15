import { expect, test } from 'vitest'
import type { JsonSchema } from '../base/port.ts'
import { readParameters } from './parameter.ts'

const list = { type: 'array', items: { $ref: '#/$defs/list' } }
const object = { type: 'object', properties: { a: { $ref: '#/$defs/object' }, b: { $ref: '#' } } }
const either = { anyOf: [{ $ref: '#/$defs/either' }, { type: 'string' }] }
const mixed = { type: 'array', items: { type: 'object', properties: { a: { $ref: '#/$defs/mixed' } } } }
const $defs = { list, object, either, mixed, circle: { $ref: '#/$defs/circle' }, root: { $ref: '#' } }

test.each(Object.keys($defs))('reads a parameter whose schema refers to itself: %s', (name) => {
  const schema = { type: 'object', properties: { x: { $ref: `#/$defs/${name}` }, y: { type: 'string' } }, $defs }
  expect(readParameters(schema as JsonSchema).map((one) => one.name)).toEqual(['x', 'y'])
})

test('reads lists of lists, and a list that contains itself to a limited depth', () => {
  const numbers = { type: 'array', items: { type: 'array', items: { type: 'number' } } }
  const schema = { type: 'object', properties: { numbers, x: { $ref: '#/$defs/list' } }, $defs }
  const [first, second] = readParameters(schema as JsonSchema)
  expect(first?.items?.items?.kind).toBe('number')
  expect(second?.items?.kind).toBe('list')
  expect(JSON.stringify(second).length).toBeLessThan(1_000)
})

test('reads a schema of 10,000 levels', () => {
  const items: JsonSchema = JSON.parse('{"type":"array","items":'.repeat(10_000) + '{}'.concat('}'.repeat(10_000)))
  const schema = { type: 'object', properties: { deep: items } }
  expect(readParameters(schema as JsonSchema)).toMatchObject([{ name: 'deep', kind: 'list' }])
})
