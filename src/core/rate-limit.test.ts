import { expect, test } from 'vitest'
import { RateLimit } from './rate-limit.ts'

test('as many calls as allowed run in any window, and the next says how long to wait', () => {
  const limit = new RateLimit(2, 100)
  expect([limit.take('a', 0), limit.take('a', 30), limit.take('a', 40)]).toEqual([0, 0, 60])
  expect(limit.take('a', 99)).toBe(1)
  expect(limit.take('a', 100)).toBe(0)
  expect(limit.take('a', 101)).toBe(29)
  expect(limit.take('a', 130)).toBe(0)
})

test('one key uses up nothing of another', () => {
  const limit = new RateLimit(1, 100)
  expect([limit.take('a', 0), limit.take('b', 0), limit.take('a', 0)]).toEqual([0, 0, 100])
})

test('a key that others crowd out while its window is open is still held to it', () => {
  const limit = new RateLimit(1, 1_000)
  limit.take('mine', 0)
  for (let n = 0; n < 500; n++) limit.take(`other ${n}`, n)
  expect(limit.take('mine', 999)).toBe(1)
})
