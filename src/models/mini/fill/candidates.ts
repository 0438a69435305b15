import type { SpanScores } from '../engine/pair-scorer.ts'
import type { FoundNumber } from '../values/numbers-in.ts'

/** A piece of what was said that may be the value. */
export interface Candidate {
  /** Above 0: rather this than nothing. */
  readonly score: number
  readonly from: number
  readonly to: number
  /** The value, where the piece is known to stand for it, and what it is. */
  readonly value?: string
  readonly type?: string
}

const TOP_SIDES = 15
const MOST_TOKENS = 24
const TOP = 12

/** The best pieces of text, best first. */
export const spanCandidates = (span: SpanScores): Candidate[] => allSpans(span).slice(0, TOP)

/** The numbers as candidates, best first: each as good as the best piece that holds it and no other. */
export function numberCandidates(span: SpanScores, numbers: readonly FoundNumber[]): Candidate[] {
  const found = new Map<FoundNumber, Candidate>()
  for (const { score, from, to } of allSpans(span)) {
    const [only, ...others] = numbers.filter((number) => number.from < to && from < number.to)
    if (only === undefined || others.length > 0 || found.has(only)) continue
    found.set(only, { score, from: only.from, to: only.to })
  }
  // Where the model marked others, a number is as good as its own first and last token.
  for (const number of numbers) {
    const one = found.has(number) ? undefined : ownScore(span, number)
    if (one !== undefined) found.set(number, one)
  }
  return [...found.values()]
}

function ownScore(span: SpanScores, { from, to }: FoundNumber): Candidate | undefined {
  const first = span.from.findIndex((at, index) => at >= from && (span.to[index] as number) <= to)
  const last = span.to.findLastIndex((at, index) => at <= to && (span.from[index] as number) >= from)
  if (first < 0 || last < first) return undefined
  return { score: (span.start[first] as number) + (span.end[last] as number) - span.absent, from, to }
}

/** All pieces that begin and end well, best first. */
export function allSpans(span: SpanScores): Candidate[] {
  const found: Candidate[] = []
  const ends = bestOf(span.end)
  for (const first of bestOf(span.start)) {
    for (const last of ends) {
      if (last < first || last >= first + MOST_TOKENS) continue
      const score = (span.start[first] as number) + (span.end[last] as number) - span.absent
      found.push({ score, from: span.from[first] as number, to: span.to[last] as number })
    }
  }
  return found.sort((left, right) => right.score - left.score)
}

function bestOf(logits: readonly number[]): number[] {
  return [...logits.keys()]
    .sort((left, right) => (logits[right] as number) - (logits[left] as number))
    .slice(0, TOP_SIDES)
}
