import type { KnowledgeHit } from '../../core/storage/knowledge-store.ts'
import { queryWords, searchWords } from '../../storage/knowledge/search-words.ts'

/** In a collection of a few passages it says nothing how many of them hold a word. */
const LEAST_CHUNKS = 200
/** Shorter words are compared as they are. */
const LEAST_STEM = 3

/**
 * How much of a question each hit holds, 0 to 1. Every word weighs by its rarity among `chunks` passages, and one that
 * is nowhere weighs most: who asks for Python decorators is not answered by whatever mentions Python.
 */
export function wordCoverage(question: string, hits: readonly KnowledgeHit[], chunks: number): number[] {
  const stems = [...new Set(queryWords(question).map(stem))]
  const held = hits.map((hit) => heldBy(hit, stems))
  const all = Math.max(chunks, hits.length, LEAST_CHUNKS)
  const weights = stems.map((_, index) => {
    const times = held.filter((words) => words.has(index)).length
    return Math.log(1 + (all - times + 0.5) / (times + 0.5))
  })
  const whole = weights.reduce((sum, weight) => sum + weight, 0) || 1
  return held.map((words) => [...words].reduce((sum, index) => sum + (weights[index] as number), 0) / whole)
}

/** Which of the words, by their index, a hit holds. */
function heldBy({ heading, text }: KnowledgeHit, stems: readonly string[]): Set<number> {
  const words = new Set(searchWords(`${heading} ${text}`).map(stem))
  const all = [...words]
  const held = stems.flatMap((wanted, index) =>
    words.has(wanted) || all.some((word) => akin(word, wanted)) ? [index] : [],
  )
  return new Set(held)
}

/** The engines take endings off in their own ways: what begins alike is taken for the same word. */
const akin = (a: string, b: string): boolean =>
  Math.min(a.length, b.length) >= LEAST_STEM && (a.startsWith(b) || b.startsWith(a))

/** Takes common English endings off. */
const stem = (word: string): string =>
  word.replace(/(?<=[a-z]{4})(?:ing|ed|es|s)$|(?<=[a-z]{3})s$/, '').replace(/(?<=[a-z]{3})[ey]$/, '')
