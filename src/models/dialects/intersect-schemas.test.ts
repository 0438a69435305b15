import { expect, test, vi } from 'vitest'
import { intersectSchemas } from './intersect-schemas.ts'

const lost = (keyword: string) => {
  throw new Error(keyword)
}

test('keeps the values that both enums have, whatever the order of their keys', () => {
  const outer = { enum: [{ a: 1, b: 2 }, 'x', null, 3] }
  const inner = { enum: ['x', { b: 2, a: 1 }, 4] }
  expect(intersectSchemas(outer, inner, lost)).toEqual({ enum: [{ a: 1, b: 2 }, 'x'] })
})

test('reads each value of two large enums once', () => {
  const values = Array.from({ length: 900 }, (_, id) => ({ id, name: `value ${id}` }))
  const read = vi.spyOn(JSON, 'stringify')
  const { enum: common } = intersectSchemas({ enum: values }, { enum: values.toReversed() }, lost)
  const reads = read.mock.calls.length
  read.mockRestore()
  expect(common).toEqual(values)
  // Keys and values of both, but no pair of them.
  expect(reads).toBeLessThan(900 * 20)
})
