import { expect, test } from 'vitest'
import { count, inBytes, inMoment, inMoney, inPercent, inSuccess, inTime, payIn } from './figures.ts'

test('durations have three digits, and none is 0', () => {
  expect([0, 0.05, 0.4211, 12, 1_340, 90_000].map(inTime)).toEqual([
    ...['< 0.1 ms', '< 0.1 ms', '0.421 ms', '12 ms', '1.34 s', '1.5 min'],
  ])
})

test('numbers are written for people', () => {
  expect([count(1, 'call'), count(1_000, 'call'), inBytes(1_500), inPercent(0.9999)]).toEqual([
    ...['1 call', '1,000 calls', '1.5 kB', '99.9 %'],
  ])
  expect(inMoment('2026-11-18T00:21:29Z')).toMatch(/^Nov 1[78], \d{2}:\d{2}:29$/)
})

test('costs have the currency of the server', () => {
  expect(inMoney(0.5)).toBe('$0.5')
  payIn('EUR')
  expect(inMoney(0.5)).toBe('0.5 EUR')
  payIn(undefined)
  expect(inMoney(2)).toBe('$2')
})

test('calls that wait for approval are neither successes nor failures', () => {
  expect(inSuccess({ total: 5, success_rate: 0.6, errors: { APPROVAL_REQUIRED: 2 } })).toBe('100 %')
  expect(inSuccess({ total: 6, success_rate: 0.5, errors: { APPROVAL_REQUIRED: 2, TIMEOUT: 1 } })).toBe('75 %')
  expect(inSuccess({ total: 2, success_rate: 0, errors: { APPROVAL_REQUIRED: 2 } })).toBe('–')
})
