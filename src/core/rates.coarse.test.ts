import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CoarseRateLimit, LocalRates } from './rates.ts'

test('never more calls than allowed in any window, whenever they come', () => {
  const gaps = fc.array(fc.double({ min: 0, max: 40, noNaN: true }), { maxLength: 300 })
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 20 }), (pauses, calls) => {
      const limit = new CoarseRateLimit(calls, 640)
      const ran: number[] = []
      let now = 1_000
      for (const pause of pauses) {
        now += pause
        if (limit.take('a', now).waitMs === 0) ran.push(now)
      }
      for (const [index, time] of ran.entries()) {
        const inWindow = ran.slice(index).filter((other) => other < time + 640).length
        expect(inWindow).toBeLessThanOrEqual(calls)
      }
    }),
  )
})

test("look doesn't count as a call", () => {
  const limit = new CoarseRateLimit(2, 640)
  expect(limit.look('a', 5)).toEqual({ waitMs: 0, remaining: 2 })
  limit.take('a', 5)
  for (let n = 0; n < 5; n++) expect(limit.look('a', 6)).toEqual({ waitMs: 0, remaining: 1 })
  limit.take('a', 7)
  const { waitMs, remaining } = limit.look('a', 8)
  expect([remaining, waitMs > 0, limit.look('a', 8 + waitMs).remaining]).toEqual([0, true, 2])
})

test('a call may run after the reported wait', () => {
  const limit = new CoarseRateLimit(3, 640)
  for (const now of [5, 100, 300]) expect(limit.take('a', now).waitMs).toBe(0)
  const { waitMs, remaining } = limit.take('a', 500)
  expect([waitMs > 0, waitMs <= 150 + 10, remaining]).toEqual([true, true, 0])
  expect(limit.take('a', 500 + waitMs)).toEqual({ waitMs: 0, remaining: 0 })
})

test('resets after the window, and keys are independent', () => {
  const limit = new CoarseRateLimit(20_000, 1_000)
  let ran = 0
  for (let n = 0; n < 30_000; n++) if (limit.take('a', 10).waitMs === 0) ran++
  expect(ran).toBe(20_000)
  expect(limit.take('b', 10)).toEqual({ waitMs: 0, remaining: 19_999 })
  expect(limit.take('a', 10 + 1_000 + 1_000 / 64)).toEqual({ waitMs: 0, remaining: 19_999 })
})

test('drops idle keys and retains busy ones', () => {
  const limit = new CoarseRateLimit(1, 640)
  limit.take('busy', 600)
  for (let n = 0; n < 500; n++) limit.take(`other ${n}`, n)
  expect(limit.take('busy', 700).waitMs).toBeGreaterThan(0)
})

test('forgets the oldest sessions, many at once, and no other limit', () => {
  const rates = new LocalRates()
  const rate = { calls: 1, perMs: 86_400_000 }
  rates.take('tool', rate, 1)
  const session = { ...rate, ofSession: true }
  for (let n = 0; n < 100_050; n++) rates.take(`session ${n}`, session, 1)
  expect(rates.take('session 100049', session, 2).waitMs).toBeGreaterThan(0)
  expect(rates.take('session 10100', session, 2).waitMs).toBeGreaterThan(0)
  expect(rates.take('session 9000', session, 2).waitMs).toBe(0)
  expect(rates.take('tool', rate, 2).waitMs).toBeGreaterThan(0)
})
