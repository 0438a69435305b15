import { expect, it } from 'vitest'
import { isDeep } from './is-deep.ts'

it.each([
  ['[[1]]', false],
  ['[[[1]]]', true],
  ['{"a":{"b":[]}}', true],
  ['[[],[],[],[]]', false],
  ['"[[[[["', false],
  ['["\\"[[[[", [1]]', false],
  ['["\\\\", [[1]]]', true],
  ['', false],
])('%s is deeper than two: %s', (text, deep) => {
  expect(isDeep(text, 2)).toBe(deep)
})
