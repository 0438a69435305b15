import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readableJson } from './call.ts'

test('keeps values that fit on one line', () => {
  expect(readableJson({ temperature: 22, list: [1, 'a'], none: {}, empty: [] })).toBe(
    '{ "temperature": 22, "list": [1, "a"], "none": {}, "empty": [] }',
  )
})

test('breaks longer values only as far as needed', () => {
  const long = 'x'.repeat(90)
  expect(readableJson({ a: { b: long, c: [1, 2] }, d: true })).toBe(
    `{\n  "a": {\n    "b": "${long}",\n    "c": [1, 2]\n  },\n  "d": true\n}`,
  )
})

test('it is the same JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(readableJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})
