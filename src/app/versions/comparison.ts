import { inUnits } from '../../core/costs.ts'
import type { VersionCall } from '../../core/storage/ledger.ts'
import { difference, type Interval, normalQuantile, type Rate, wilson } from '../../validation/intervals.ts'

/** What the calls of one version show. Null if there are no calls, or too few for an interval. */
export interface VersionFigures {
  readonly calls: number
  readonly failures: number
  readonly success_rate: number | null
  readonly success_interval: Interval | null
  readonly p50_ms: number | null
  readonly p50_interval: Interval | null
  readonly p95_ms: number | null
  readonly p95_interval: Interval | null
  /** The average of the calls whose cost is known; null if there are none. */
  readonly cost: number | null
}

export interface Comparison {
  readonly verdict: 'not_enough_calls' | 'worse' | 'better' | 'no_difference'
  /** The verdict for people. */
  readonly sentence: string
  /** How much more often the candidate fails, at the look that decided, or at the last one. */
  readonly error_increase: Interval | null
  /** How many looks were made. */
  readonly looks: number
}

interface ComparisonRule {
  /** The calls that each side needs before the first look. */
  readonly minCalls?: number
  /** How much more often the candidate may fail. */
  readonly maxErrorIncrease?: number
}

const MIN_CALLS = 100
/** The chance of a verdict `worse` or `better` if there is no difference, over all looks together. */
const FALSE_ALARMS = 0.05
/** Intervals that are shown have this confidence, each for itself. */
const SHOWN_CONFIDENCE = 0.95

/** The figures of a version, each with its own 95 % confidence interval. */
export function figuresOf(calls: readonly VersionCall[]): VersionFigures {
  const total = calls.length
  const failures = calls.filter(({ failed }) => failed).length
  const times = calls.map(({ ms }) => ms).sort((a, b) => a - b)
  const z = normalQuantile(1 - (1 - SHOWN_CONFIDENCE) / 2)
  return {
    calls: total,
    failures,
    success_rate: total === 0 ? null : (total - failures) / total,
    success_interval: total === 0 ? null : wilson(total - failures, total, z),
    p50_ms: quantile(times, 0.5),
    p50_interval: quantileInterval(times, 0.5, z),
    p95_ms: quantile(times, 0.95),
    p95_interval: quantileInterval(times, 0.95, z),
    cost: averageCost(calls),
  }
}

function averageCost(calls: readonly VersionCall[]): number | null {
  const known = calls.flatMap(({ cost }) => cost ?? [])
  return known.length === 0 ? null : inUnits(known.reduce((sum, cost) => sum + cost, 0) / known.length)
}

interface Side {
  readonly version: string
  /** In the order of their time. */
  readonly calls: readonly VersionCall[]
  /** The list is cut: later calls are not in it. */
  readonly isCut?: boolean
}

/**
 * Compares how often two versions fail, with a sequential test: the sides are compared only when the candidate has 1, 2, 4,
 * 8 … times the minimum of calls, each time with the calls of both sides up to then. Look number k may raise a false alarm
 * with a chance of 5 % / (k (k + 1)). All of them together add up to 5 %, however often somebody asks.
 */
export function compareCalls(current: Side, candidate: Side, rule: ComparisonRule = {}): Comparison {
  const { minCalls = MIN_CALLS, maxErrorIncrease = 0 } = rule
  let looks = 0
  let last: Interval | undefined
  let size = minCalls
  for (; size <= candidate.calls.length; size *= 2) {
    const until = candidate.calls[size - 1]?.at ?? 0
    // Both sides of a look are about the same time: an outage must not count for one of them only.
    if (current.isCut && until > (current.calls.at(-1)?.at ?? 0)) break
    looks++
    const before = current.calls.filter(({ at }) => at <= until)
    if (before.length < minCalls) continue
    const chance = FALSE_ALARMS / (looks * (looks + 1))
    last = difference(rateOf(before), rateOf(candidate.calls.slice(0, size)), normalQuantile(1 - chance / 2))
    const verdict = last.low > maxErrorIncrease ? 'worse' : last.high < 0 ? 'better' : undefined
    if (verdict === undefined) continue
    const [how, more] = verdict === 'worse' ? ['more', last] : ['less', { low: -last.high, high: -last.low }]
    const sentence = `${candidate.version} fails ${how} often than ${current.version}: by ${points(more.low)} to ${points(more.high)} percentage points`
    return { verdict, sentence, error_increase: last, looks }
  }
  if (last === undefined) {
    const has = [candidate, current].map(({ version, calls }) => `${version} has ${calls.length}`).join(', ')
    const isShort = [candidate, current].some(({ calls }) => calls.length < minCalls)
    const needs = isShort
      ? `and each needs ${minCalls}`
      : `and the next comparison is at ${size} of ${candidate.version}`
    const sentence = `Not enough calls yet: ${has}, ${needs}`
    return { verdict: 'not_enough_calls', sentence, error_increase: null, looks: 0 }
  }
  const range = `between ${points(-last.low)} points less and ${points(last.high)} points more`
  const sentence = `No difference found: ${candidate.version} fails ${range} often than ${current.version}`
  return { verdict: 'no_difference', sentence, error_increase: last, looks }
}

const rateOf = (calls: readonly VersionCall[]): Rate => ({
  hits: calls.filter(({ failed }) => failed).length,
  total: calls.length,
})

const points = (share: number): string => (share * 100).toFixed(1)

function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}

/** Two values of the sample that enclose a quantile, whatever the distribution. Null if the sample is too small. */
export function quantileInterval(sorted: readonly number[], share: number, z: number): Interval | null {
  const middle = sorted.length * share
  const spread = z * Math.sqrt(middle * (1 - share))
  const low = sorted[Math.floor(middle - spread) - 1]
  const high = sorted[Math.ceil(middle + spread)]
  return low === undefined || high === undefined ? null : { low, high }
}
