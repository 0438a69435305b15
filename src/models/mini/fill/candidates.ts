import type { SpanScores } from '../engine/pair-scorer.ts'
import type { FoundNumber } from '../values/numbers-in.ts'

/** A piece of what was said that may be the value. */
export interface Candidate {
  /** Above 0: rather this than nothing. */
  readonly score: number
  readonly from: number
  readonly to: number
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
  return [...found.values()]
}

function allSpans(span: SpanScores): Candidate[] {
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
