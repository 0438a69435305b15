import { expect, test } from 'vitest'
import { RateLimit } from './rates.ts'

const wait = (limit: RateLimit, key: string, now: number): number => limit.take(key, now).waitMs

test('allows the limit in any window, and reports the wait after that', () => {
  const limit = new RateLimit(2, 100)
  expect([wait(limit, 'a', 0), wait(limit, 'a', 30), wait(limit, 'a', 40)]).toEqual([0, 0, 60])
  expect(wait(limit, 'a', 99)).toBe(1)
  expect(wait(limit, 'a', 100)).toBe(0)
  expect(wait(limit, 'a', 101)).toBe(29)
  expect(wait(limit, 'a', 130)).toBe(0)
})

test('keys are independent', () => {
  const limit = new RateLimit(1, 100)
  expect([wait(limit, 'a', 0), wait(limit, 'b', 0), wait(limit, 'a', 0)]).toEqual([0, 0, 100])
})

test('retains a key with an open window among many others', () => {
  const limit = new RateLimit(1, 1_000)
  wait(limit, 'mine', 0)
  for (let n = 0; n < 500; n++) wait(limit, `other ${n}`, n)
  expect(wait(limit, 'mine', 999)).toBe(1)
})

test("look doesn't count as a call", () => {
  const limit = new RateLimit(2, 100)
  expect(limit.look('a', 0)).toEqual({ waitMs: 0, remaining: 2 })
  limit.take('a', 0)
  for (let n = 0; n < 5; n++) expect(limit.look('a', 10)).toEqual({ waitMs: 0, remaining: 1 })
  limit.take('a', 10)
  expect(limit.look('a', 40)).toEqual({ waitMs: 60, remaining: 0 })
  expect(limit.look('a', 105)).toEqual({ waitMs: 0, remaining: 1 })
})

test('reports the remaining calls', () => {
  const limit = new RateLimit(3, 100)
  expect([0, 10, 20, 30].map((now) => limit.take('a', now).remaining)).toEqual([2, 1, 0, 0])
  expect(limit.take('a', 115)).toEqual({ waitMs: 0, remaining: 1 })
})
