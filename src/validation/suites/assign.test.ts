import { expect, test } from 'vitest'
import { assign } from './assign.ts'

test('each row gets a column of its own, though an earlier one must give up its first choice', () => {
  expect(
    assign([
      [true, true, false],
      [true, false, false],
      [false, true, true],
    ]),
  ).toEqual([1, 0, 2])
})

test('a row without a column is left, and as few as can be', () => {
  const rows = assign([
    [true, false],
    [true, false],
  ])
  expect(rows.filter((column) => column === undefined)).toHaveLength(1)
  expect(assign([])).toEqual([])
})
