import { expect, test } from 'vitest'
import type { JsonSchema } from '../core/tool.ts'
import { typedValue } from './typed-value.ts'

const cases: [string, string, JsonSchema | undefined, unknown][] = [
  ['text for a string, even if it looks like a number', '5', { type: 'string' }, '5'],
  ['quotes for a string are part of it', '"5"', { type: 'string' }, '"5"'],
  ['a number for an integer', '5', { type: 'integer' }, 5],
  ['a fraction for an integer, which validation refuses', '5.5', { type: 'integer' }, 5.5],
  ['a word for an integer, which validation refuses', 'five', { type: 'integer' }, 'five'],
  ['true for a boolean', 'true', { type: 'boolean' }, true],
  ['a list for an array', '["a",1]', { type: 'array' }, ['a', 1]],
  ['an object for an object', '{"a":{"b":1}}', { type: 'object' }, { a: { b: 1 } }],
  ['text where both fit', '5', { type: ['integer', 'string'] }, '5'],
  ['null where it is wanted', 'null', { type: ['integer', 'null'] }, null],
  ['text where nothing is said', '1.10', {}, '1.10'],
  ['text where the schema does not name the parameter', '1.10', undefined, '1.10'],
  ['the member of an enumeration, a number', '2', { enum: [1, 2] }, 2],
  ['the member of an enumeration, a text', '2', { enum: ['1', '2'] }, '2'],
  ['what one of several schemas wants', '2', { anyOf: [{ type: 'number' }, { type: 'null' }] }, 2],
]

test.each(cases)('%s', (_, text, schema, expected) => {
  expect(typedValue(text, schema)).toEqual(expected)
})
