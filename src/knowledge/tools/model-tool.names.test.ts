import { expect, test } from 'vitest'
import { readNames } from './model-tool.ts'

test('trims and deduplicates names', () => {
  expect(readNames({ types: [' a ', 'b c', 'a'] }, 'types')).toEqual(['a', 'b c'])
  expect(readNames({}, 'types')).toBeUndefined()
})

test.each([
  [[], 'types must be a list of 1 to 50 names'],
  ['people', 'types must be a list of 1 to 50 names'],
  [Array.from({ length: 51 }, String), 'types must be a list of 1 to 50 names'],
  [[' '], 'each of types must be a string of 1 to 100 characters'],
  [[5], 'each of types must be a string of 1 to 100 characters'],
  [['x'.repeat(101)], 'each of types must be a string of 1 to 100 characters'],
  [['__proto__'], "types must not contain '__proto__'"],
])('rejects list %#', (types, problem) => {
  expect(() => readNames({ types }, 'types')).toThrow(`Invalid parameters: ${problem}`)
})
