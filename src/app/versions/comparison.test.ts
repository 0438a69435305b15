import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { VersionCall } from '../../core/storage/ledger.ts'
import { difference, normalQuantile, wilson } from '../../validation/intervals.ts'
import { compareCalls, figuresOf, quantileInterval } from './comparison.ts'

const Z = normalQuantile(0.975)

/** A generator of pseudo-random numbers from 0 to 1, which gives the same ones for a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const calls = (count: number, failures: number): VersionCall[] =>
  // Spread evenly.
  Array.from({ length: count }, (_, index) => ({
    at: index,
    failed: Math.floor(((index + 1) * failures) / count) > Math.floor((index * failures) / count),
    ms: index + 1,
  }))

describe('intervals', () => {
  test('are those of the literature', () => {
    expect(Z).toBeCloseTo(1.96, 3)
    // Newcombe (1998), tables of rates and of differences.
    const one = wilson(81, 263, Z)
    expect([one.low, one.high].map((value) => value.toFixed(4))).toEqual(['0.2553', '0.3662'])
    const none = wilson(0, 20, Z)
    expect([none.low, none.high].map((value) => value.toFixed(4))).toEqual(['0.0000', '0.1611'])
    const other = difference({ hits: 48, total: 80 }, { hits: 56, total: 70 }, Z)
    expect([other.low, other.high].map((value) => value.toFixed(4))).toEqual(['0.0524', '0.3339'])
  })

  test('of quantiles enclose the quantile in about 95 of 100 samples, whatever the distribution', () => {
    const random = randomOf(1)
    for (const [share, size] of [
      [0.5, 100],
      [0.95, 400],
    ] as const) {
      // The quantile of -log(u) is -log(1 - share).
      const right = -Math.log(1 - share)
      let enclosed = 0
      for (let sample = 0; sample < 2_000; sample++) {
        const sorted = Array.from({ length: size }, () => -Math.log(random())).sort((a, b) => a - b)
        const { low, high } = quantileInterval(sorted, share, Z) as { low: number; high: number }
        if (low <= right && right <= high) enclosed++
      }
      expect(enclosed / 2_000).toBeGreaterThan(0.94)
      expect(enclosed / 2_000).toBeLessThan(0.985)
    }
  })

  test('are missing if there are too few calls', () => {
    expect(figuresOf([])).toMatchObject({ calls: 0, success_rate: null, success_interval: null, p50_ms: null })
    expect(figuresOf(calls(10, 1))).toMatchObject({ success_rate: 0.9, p50_ms: 5, p95_ms: 10, p95_interval: null })
    expect(figuresOf(calls(200, 0))).toMatchObject({ p50_ms: 100, p50_interval: { low: 86, high: 115 }, p95_ms: 190 })
  })
})

describe('the comparison', () => {
  const sides = (current: VersionCall[], candidate: VersionCall[], rule = {}) =>
    compareCalls({ version: '1.0.0', calls: current }, { version: '2.0.0', calls: candidate }, rule)

  test('says its verdict in one sentence', () => {
    expect(sides(calls(40, 2), calls(12, 1))).toMatchObject({
      verdict: 'not_enough_calls',
      sentence: 'Not enough calls yet: 2.0.0 has 12, 1.0.0 has 40, and each needs 100',
    })
    expect(sides(calls(400, 20), calls(400, 80))).toMatchObject({
      verdict: 'worse',
      sentence: expect.stringMatching(
        /^2\.0\.0 fails more often than 1\.0\.0: by \d+\.\d to \d+\.\d percentage points$/,
      ),
    })
    expect(sides(calls(400, 80), calls(400, 20))).toMatchObject({ verdict: 'better' })
    expect(sides(calls(400, 20), calls(400, 22))).toMatchObject({
      verdict: 'no_difference',
      looks: 3,
      sentence: expect.stringMatching(
        /^No difference found: 2\.0\.0 fails between \d\.\d points less and \d\.\d points more/,
      ),
    })
  })

  test('waits for the minimum of both sides, and allows the increase of the guard', () => {
    expect(sides(calls(20, 0), calls(400, 400))).toMatchObject({ verdict: 'not_enough_calls' })
    expect(sides(calls(20, 0), calls(400, 400), { minCalls: 20 })).toMatchObject({ verdict: 'worse', looks: 1 })
    expect(sides(calls(400, 20), calls(400, 80), { maxErrorIncrease: 0.3 })).toMatchObject({ verdict: 'no_difference' })
  })

  test('compares the same time only: calls of the candidate after the list of the current version ends do not count', () => {
    const current = calls(300, 0)
    // The candidate is rarer. An outage hits both sides after the list of the current version was cut.
    const candidate = calls(800, 0).map((call, index) => ({ ...call, at: index * 2, failed: index >= 150 }))
    expect(sides(current, candidate)).toMatchObject({ verdict: 'worse' })
    const cut = { version: '1.0.0', calls: current, isCut: true }
    const side = { version: '2.0.0', calls: candidate }
    expect(compareCalls(cut, side)).toMatchObject({ verdict: 'no_difference', looks: 1 })
  })

  test('says when it compares next if a side was too small at the last look', () => {
    const current = calls(150, 0).map((call) => ({ ...call, at: call.at + 50 }))
    expect(sides(current, calls(120, 0)).sentence).toBe(
      'Not enough calls yet: 2.0.0 has 120, 1.0.0 has 150, and the next comparison is at 200 of 2.0.0',
    )
  })

  test('does not change with calls between two looks', () => {
    const candidate = [...calls(199, 10), ...calls(200, 200).map((call) => ({ ...call, at: call.at + 199 }))]
    const verdicts = [100, 150, 199].map((size) => sides(calls(1_000, 50), candidate.slice(0, size)).sentence)
    expect(new Set(verdicts).size).toBe(1)
  })
})

/** A rollout of which every call is known, as it grows. */
function simulate(
  seed: number,
  rates: readonly [number, number],
  perCandidate: number,
): [VersionCall[], VersionCall[]] {
  const random = randomOf(seed)
  const [current, candidate]: [VersionCall[], VersionCall[]] = [[], []]
  for (let at = 0; at < 1_600; at++) {
    for (let one = 0; one < perCandidate; one++) current.push({ at, failed: random() < rates[0], ms: 1 })
    candidate.push({ at, failed: random() < rates[1], ms: 1 })
  }
  return [current, candidate]
}

type Rate = Parameters<typeof difference>[0]

/** What somebody finds who compares 95 % intervals after every 100 calls, and stops at the first difference. */
function isFoundByPeeking([current, candidate]: readonly VersionCall[][], perCandidate: number): boolean {
  const sums = [current, candidate].map((all = []) => {
    let hits = 0
    return all.map(({ failed }) => (failed ? ++hits : hits))
  })
  for (let size = 100; size <= 1_600; size += 100) {
    const [first, second] = sums.map((sum, side) => {
      const total = side === 0 ? size * perCandidate : size
      return { hits: sum[total - 1] ?? 0, total }
    })
    const range = difference(first as Rate, second as Rate, Z)
    if (range.low > 0 || range.high < 0) return true
  }
  return false
}

test('the sequential rule raises at most 5 % false alarms, as the table of the guide says', () => {
  const ROLLOUTS = 1_000
  const scenarios = [
    ['5 %', '5 %', 50, [0.05, 0.05], 1],
    ['5 %', '5 %', 25, [0.05, 0.05], 3],
    ['1 %', '1 %', 50, [0.01, 0.01], 1],
    ['5 %', '7 %', 50, [0.05, 0.07], 1],
    ['5 %', '10 %', 50, [0.05, 0.1], 1],
    ['5 %', '20 %', 25, [0.05, 0.2], 3],
  ] as const
  const rows = scenarios.map(([before, after, percent, rates, perCandidate], scenario) => {
    let [found, peeked] = [0, 0]
    for (let rollout = 0; rollout < ROLLOUTS; rollout++) {
      const both = simulate(scenario * ROLLOUTS + rollout, rates, perCandidate)
      const [current, candidate] = both
      const { verdict } = compareCalls({ version: '1', calls: current }, { version: '2', calls: candidate })
      if (verdict === 'worse' || verdict === 'better') found++
      if (isFoundByPeeking(both, perCandidate)) peeked++
    }
    if (rates[0] === rates[1]) expect(found / ROLLOUTS).toBeLessThanOrEqual(0.05)
    const share = (count: number) => `${((count / ROLLOUTS) * 100).toFixed(1)} %`
    return `| ${before} | ${after} | ${percent} % | ${share(found)} | ${share(peeked)} |`
  })
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/versions.md'), 'utf8')
  expect(guide).toContain(rows.join('\n'))
})
