import { expect, test } from 'vitest'
import { callRows, callSeries } from './call-rows.ts'

const bucket = (total: number, success_rate: number, errors: Readonly<Record<string, number>>) => ({
  start: '2026-11-18T10:00:00.000Z',
  total,
  success_rate,
  avg_ms: 2,
  p50_ms: 1,
  p95_ms: 2,
  p99_ms: 3,
  errors,
})
const series = (...buckets: readonly ReturnType<typeof bucket>[]) =>
  ({ window: '1h', tool: null, bucket_ms: 60_000, buckets }) as const

test('calls that ask for approval are neither successes nor failures', () => {
  const rows = callRows(series(bucket(6, 0.5, { APPROVAL_REQUIRED: 2, TIMEOUT: 1 })))
  expect(rows).toEqual([expect.objectContaining({ successful: 3, failed: 1, asked: 2, rate: 0.75 })])
  expect(callSeries(rows).map(({ label }) => label)).toEqual(['Successful', 'Failed', 'Asked for approval'])
})

test('a bucket in which no call has ended has no success rate', () => {
  const rows = callRows(series(bucket(2, 0, { APPROVAL_REQUIRED: 2 }), bucket(0, 0, {})))
  expect(rows).toEqual([
    expect.objectContaining({ rate: null, p50: 1 }),
    expect.objectContaining({ rate: null, p50: null, asked: 0 }),
  ])
})

test('without such calls there is no series for them', () => {
  expect(callSeries(callRows(series(bucket(2, 0.5, { TIMEOUT: 1 }))))).toHaveLength(2)
})
