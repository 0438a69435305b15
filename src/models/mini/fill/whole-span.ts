import type { Quote } from '../values/quotes-in.ts'
import type { Candidate } from './candidates.ts'

const WORD = /[\p{L}\p{N}\p{M}_]/u

/** A candidate as a person would mark it: whole words, a whole quote, no loose punctuation. */
export function wholeSpan(candidate: Candidate, said: string, quotes: readonly Quote[]): Candidate | undefined {
  const { score } = candidate
  let { from, to } = candidate
  while (from > 0 && joins(said, from) && joins(said, from - 1)) from--
  while (to < said.length && (to === from || joins(said, to - 1)) && joins(said, to)) to++
  const quote = quotes.find((one) => from < one.to && one.from < to)
  if (quote !== undefined) return { score, from: quote.from, to: quote.to }
  while (from < to && /[\s,.;:!?)\]'"”’]/.test(said[from] as string)) from++
  while (from < to && /[\s,;:!?([]/.test(said[to - 1] as string)) to--
  return /[\p{L}\p{N}]/u.test(said.slice(from, to)) ? { score, from, to } : undefined
}

/** Letters and digits, and what stands between two of them: "S&P", "john.doe@example.com", "2022-04-27". */
function joins(said: string, at: number): boolean {
  const character = said[at] as string
  if (WORD.test(character)) return true
  return /[&@_\-/:.]/.test(character) && WORD.test(said[at - 1] ?? '') && WORD.test(said[at + 1] ?? '')
}
