import { expect, test } from 'vitest'
import { gistOf, inWindows, windowsOf } from './in-windows.ts'
import type { Pair, PairScorer } from './pair-scorer.ts'

/** Marks the word "Lisbon" wherever it sees it, and sees no more than a few hundred characters. */
const seesLisbon: PairScorer = {
  score: async (pairs: readonly Pair[]) =>
    pairs.map(({ said }) => {
      const at = said.slice(0, 400).indexOf('Lisbon')
      const found = at < 0 ? -9 : 9
      return {
        relevance: at < 0 ? 0.1 : 0.9,
        span: { from: [Math.max(at, 0)], to: [Math.max(at, 0) + 6], start: [found], end: [found], absent: 2 },
      }
    }),
}

test('what stands far back in a long text is found, and where it stands', async () => {
  const said = `${'I had a long day and a lot to do. '.repeat(20)}What is the weather in Lisbon?`
  const [score] = await inWindows(seesLisbon).score([{ meant: 'x', said }])
  const best = score?.span.start.findIndex((logit) => logit > 0) ?? -1
  expect(score?.relevance).toBe(0.9)
  expect(said.slice(score?.span.from[best], score?.span.to[best])).toBe('Lisbon')
  expect(score?.span.absent).toBe(0)
})

test('the gist of a long text is its beginning and its end', () => {
  expect(gistOf('turn on the lamp')).toBe('turn on the lamp')
  expect(gistOf(`Hello. ${'blah '.repeat(500)}What is the weather?`)).toMatch(/^Hello\..*the weather\?$/)
})

test('short texts go through as they are, and long ones in a few pieces that overlap', async () => {
  expect(windowsOf('in Lisbon')).toEqual([{ from: 0, text: 'in Lisbon' }])
  const windows = windowsOf('One sentence here. '.repeat(500))
  expect(windows).toHaveLength(3)
  for (const [at, { from }] of windows.entries()) {
    if (at > 0) expect(from).toBeLessThan((windows[at - 1]?.from ?? 0) + 381)
  }
  expect(windowsOf('x'.repeat(1_000_000))).toHaveLength(3)
})
