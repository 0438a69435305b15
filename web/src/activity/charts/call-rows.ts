import type { CallSeriesMetrics } from '../../../../src/core/storage/ledger.ts'
import { successRate } from '../../parts/figures.ts'
import type { Drawn } from './drawn.ts'

const CALLS: readonly Drawn[] = [
  { key: 'successful', label: 'Successful', colour: 'var(--accent)', as: 'bar' },
  { key: 'failed', label: 'Failed', colour: 'var(--bad)', as: 'bar', fill: 'hatched' },
]
const ASKED: Drawn = { key: 'asked', label: 'Asked for approval', colour: 'var(--warn)', as: 'bar', fill: 'outlined' }

/** The rows of charts. Calls that ask for approval are neither successes nor failures. */
export const callRows = ({ buckets }: CallSeriesMetrics) =>
  buckets.map((bucket) => {
    const { start, total, p50_ms, p95_ms, p99_ms, errors } = bucket
    const { APPROVAL_REQUIRED: asked = 0, ...others } = errors
    const failed = Object.values(others).reduce((sum, calls) => sum + calls, 0)
    const times = total === 0 ? { p50: null, p95: null, p99: null } : { p50: p50_ms, p95: p95_ms, p99: p99_ms }
    return { start, successful: total - failed - asked, failed, asked, rate: successRate(bucket) ?? null, ...times }
  })

/** The series of calls. Most servers have no call that asks for approval. */
export const callSeries = (rows: ReturnType<typeof callRows>): readonly Drawn[] =>
  rows.some(({ asked }) => asked > 0) ? [...CALLS, ASKED] : CALLS
