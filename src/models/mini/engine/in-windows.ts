import { takeTurns } from '../take-turns.ts'
import type { Pair, PairScore, PairScorer } from './pair-scorer.ts'

/** Of a pair the model sees 128 tokens; what is longer than this is looked at piece by piece. */
const LONGEST = 380
const MOST_WINDOWS = 3
/** So far apart stand the tokens of two windows that no value goes from one into the next. */
const APART = 32
const NEVER = -1_000

interface Window {
  readonly from: number
  readonly text: string
}

/** A scorer for long texts: their windows are scored one by one, and what is found stands where it is in the whole. */
export function inWindows(scorer: PairScorer): PairScorer {
  return {
    async score(pairs, signal) {
      // Most pairs are about the same text.
      const known = new Map<string, Window[]>()
      const windows = pairs.map(({ said }) => {
        const own = known.get(said) ?? windowsOf(said)
        known.set(said, own)
        return own
      })
      const all = pairs.flatMap(({ meant }, at): Pair[] =>
        (windows[at] as Window[]).map(({ text }) => ({ meant, said: text })),
      )
      const scores = await scorer.score(all, signal)
      let next = 0
      const whole: PairScore[] = []
      for (const own of windows) {
        await takeTurns()
        const mine = scores.slice(next, next + own.length)
        next += own.length
        whole.push(own.length === 1 ? (mine[0] as PairScore) : joined(own, mine))
      }
      return whole
    },
  }
}

/** What a long text begins and ends with: there it says what is wanted. */
export const gistOf = (said: string): string =>
  said.length <= LONGEST ? said : `${said.slice(0, LONGEST / 2)} ${said.slice(-LONGEST / 2)}`

/** Pieces that begin and end with sentences, each a bit into the one before it. */
export function windowsOf(said: string): Window[] {
  if (said.length <= LONGEST) return [{ from: 0, text: said }]
  const ends = [...said.matchAll(/[.!?;,\n]\s+/g)].map(({ index, 0: end }) => index + end.length)
  const windows: Window[] = []
  for (let from = 0; from < said.length && windows.length < MOST_WINDOWS; ) {
    const to = ends.findLast((end) => end > from + LONGEST / 2 && end <= from + LONGEST) ?? from + LONGEST
    windows.push({ from, text: said.slice(from, to) })
    if (to >= said.length) break
    from = ends.find((end) => end > to - LONGEST / 4 && end < to) ?? to
  }
  return windows
}

function joined(windows: readonly Window[], scores: readonly PairScore[]): PairScore {
  const [from, to, start, end] = [[], [], [], []] as [number[], number[], number[], number[]]
  for (const [at, { span }] of scores.entries()) {
    const shift = windows[at]?.from ?? 0
    if (at > 0) {
      for (const logits of [start, end]) logits.push(...Array<number>(APART).fill(NEVER))
      for (const places of [from, to]) places.push(...Array<number>(APART).fill(shift))
    }
    from.push(...span.from.map((place) => place + shift))
    to.push(...span.to.map((place) => place + shift))
    // Each window says for itself what "not mentioned" is worth.
    start.push(...span.start.map((logit) => logit - span.absent / 2))
    end.push(...span.end.map((logit) => logit - span.absent / 2))
  }
  return { relevance: Math.max(...scores.map(({ relevance }) => relevance)), span: { from, to, start, end, absent: 0 } }
}
