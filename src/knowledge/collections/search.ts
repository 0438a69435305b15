import type { KnowledgeHit, MetadataFilter } from '../../core/storage/knowledge-store.ts'
import { queryWords, searchWords } from '../../storage/knowledge/search-words.ts'
import { splitDocument } from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'

/** By vectors and by words, or by one of them only. */
export type SearchWay = 'hybrid' | 'text' | 'vector'

/** A question to a collection. */
export interface SearchQuestion {
  readonly tenant: string
  readonly collection: string
  readonly query: string
  readonly most: number
  readonly filter?: MetadataFilter
  /** `hybrid` by default. */
  readonly by?: SearchWay
}

/** A passage of a document. */
export interface SearchResult {
  readonly text: string
  /** From 0 to 1; comparable within one answer. */
  readonly score: number
  readonly source: string
  /** Of the passage in its document, from 0. */
  readonly position: number
  /** Of the document, and the heading that the passage stands under. */
  readonly metadata: Readonly<Record<string, string>>
}

/** The results, best first. */
export interface SearchAnswer {
  readonly results: readonly SearchResult[]
  /** How it was looked for in the end. */
  readonly by: SearchWay
  /** A sentence that says which way of searching was left out, and why. */
  readonly note?: string
}

/** A longer one is about several things, of which a model that looks at the start alone sees the first. */
const MAX_WHOLE = 400
const PIECE_CHARACTERS = 300
/** Each costs a vector and two searches. */
const MAX_PIECES = 32

/** The texts to search for: the question itself, or the pieces of a long one. */
export function questionPieces(question: string): readonly string[] {
  if (question.length <= MAX_WHOLE) return [question]
  const pieces = splitDocument(textDocument(question, '', 'text'), { chunkSize: PIECE_CHARACTERS, overlap: 0 })
  return pieces.slice(0, MAX_PIECES).map(({ text }) => text)
}

/** Of reciprocal rank fusion: the greater, the less the first ranks stand out. */
const RANK_OFFSET = 30
const VECTOR_WEIGHT = 1
const TEXT_WEIGHT = 0.5
/** A vector says less of a piece than of a whole question. */
const TEXT_WEIGHT_OF_PIECES = 1
/** A passage must hold this share of a short question; of a long one, whose every word no passage holds, less. */
const MIN_COVERAGE = 0.5
const SHORT_QUESTION = 4
/** The cosine of what has nothing to do with each other. */
const MIN_SIMILARITY = 0.2
/** Of one page, as long as there are others. */
const MAX_OF_PAGE = 2

/** A hit for one piece of a question. */
export interface WeighedHit {
  readonly hit: KnowledgeHit
  /** How much it counts beside hits for other pieces. */
  readonly weight: number
  /** How well it answers this one, 0 to 1. */
  readonly strength: number
}

interface Ranked {
  readonly hit: KnowledgeHit
  /** 0 to 1. */
  readonly strength: number
}

/** The hits of each piece of the question; empty for a way of searching that was not used. */
export interface Found {
  readonly byText: readonly (readonly WeighedHit[])[]
  readonly byVector: readonly (readonly WeighedHit[])[]
}

const stronger = (a: Ranked, b: Ranked): number => b.strength - a.strength

/** The best of what was found, as results. */
export function rankHits({ byText, byVector }: Found, most: number): SearchResult[] {
  const textWeight = byText.length > 1 ? TEXT_WEIGHT_OF_PIECES : TEXT_WEIGHT
  const text = together(byText)
  const vectors = together(byVector)
  const ranked = text.length > 0 && vectors.length > 0 ? fuse(text, vectors, textWeight) : [...text, ...vectors]
  const chosen = choose(ranked.toSorted(stronger), most)
  return chosen.map(({ hit, strength }) => asResult(hit, strength))
}

/** By words: how much of the question a passage holds, times how strong the hit is beside the strongest. */
export function weighText(question: string, hits: readonly KnowledgeHit[], chunks: number): WeighedHit[] {
  const words = Math.max(1, queryWords(question).length)
  const least = MIN_COVERAGE * Math.min(1, SHORT_QUESTION / words)
  const covered = wordCoverage(question, hits, chunks)
  const best = hits[0]?.score || 1
  return hits.flatMap((hit, index) => {
    const coverage = covered[index] as number
    return coverage < least ? [] : [{ hit, weight: hit.score, strength: (coverage * hit.score) / best }]
  })
}

export const weighVectors = (hits: readonly KnowledgeHit[]): WeighedHit[] =>
  hits
    .filter(({ score }) => score >= MIN_SIMILARITY)
    .map((hit) => ({ hit, weight: hit.score - MIN_SIMILARITY, strength: hit.score }))

/**
 * What was found for the pieces of a question as one list. What answers several of them counts more than what answers
 * one, and what answers one well more than what answers several a little: so the squares are added.
 */
function together(lists: readonly (readonly WeighedHit[])[]): readonly Ranked[] {
  if (lists.length < 2) return lists[0] ?? []
  const added = new Map<string, { readonly hit: KnowledgeHit; squares: number }>()
  for (const { hit, weight } of lists.flat()) {
    const one = added.get(hit.chunk_id) ?? { hit, squares: 0 }
    one.squares += weight ** 2
    added.set(hit.chunk_id, one)
  }
  const all = [...added.values()]
  const top = Math.max(...all.map(({ squares }) => squares))
  const best = Math.max(...lists.flat().map(({ strength }) => strength))
  return all.map(({ hit, squares }) => ({ hit, strength: best * Math.sqrt(squares / top) }))
}

/**
 * By their ranks, since what the two ways of searching give as scores cannot be compared. The best gets the score that it
 * has by the way that thinks more of it.
 */
function fuse(text: readonly Ranked[], vectors: readonly Ranked[], textWeight: number): Ranked[] {
  const fused = new Map<string, Ranked>()
  const add = (list: readonly Ranked[], weight: number): void => {
    for (const [rank, { hit }] of list.toSorted(stronger).entries()) {
      const before = fused.get(hit.chunk_id)?.strength ?? 0
      fused.set(hit.chunk_id, { hit, strength: before + weight / (RANK_OFFSET + rank + 1) })
    }
  }
  add(vectors, VECTOR_WEIGHT)
  add(text, textWeight)
  const all = [...fused.values()]
  const top = Math.max(...all.map(({ strength }) => strength))
  const best = Math.max(...[...text, ...vectors].map(({ strength }) => strength))
  return all.map(({ hit, strength }) => ({ hit, strength: (best * strength) / top }))
}

/** Not one page five times, nor the same text twice, as long as there is something else. */
function choose(ranked: readonly Ranked[], most: number): Ranked[] {
  const chosen: Ranked[] = []
  const spare: Ranked[] = []
  const ofPage = new Map<string, number>()
  const texts = new Set<string>()
  const mostOfPage = Math.max(MAX_OF_PAGE, Math.ceil(most / 3))
  for (const one of ranked) {
    const { document_id, source, text } = one.hit
    if (texts.has(text)) continue
    texts.add(text)
    const page = JSON.stringify([document_id, source])
    const times = (ofPage.get(page) ?? 0) + 1
    ofPage.set(page, times)
    if (times <= mostOfPage) chosen.push(one)
    else spare.push(one)
    if (chosen.length === most) return chosen
  }
  return [...chosen, ...spare.slice(0, most - chosen.length)].sort(stronger)
}

/** Metadata of the document wins over metadata of the passage. */
function asResult({ text, source, position, heading, metadata }: KnowledgeHit, score: number): SearchResult {
  return {
    text,
    score: Math.round(Math.min(1, score) * 1_000) / 1_000,
    source,
    position,
    metadata: { ...(heading !== '' && { heading }), ...metadata },
  }
}

/** In a collection of a few passages it says nothing how many of them hold a word. */
const MIN_CHUNKS = 200
/** Shorter words are compared as they are. */
const MIN_STEM = 3

/**
 * How much of a question each hit holds, 0 to 1. Every word weighs by its rarity among `chunks` passages, and one that
 * is nowhere weighs most: who asks for Python decorators is not answered by whatever mentions Python.
 */
export function wordCoverage(question: string, hits: readonly KnowledgeHit[], chunks: number): number[] {
  const stems = [...new Set(queryWords(question).map(stem))]
  const held = hits.map((hit) => heldBy(hit, stems))
  const all = Math.max(chunks, hits.length, MIN_CHUNKS)
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
  Math.min(a.length, b.length) >= MIN_STEM && (a.startsWith(b) || b.startsWith(a))

/** Takes common English endings off. */
const stem = (word: string): string =>
  word.replace(/(?<=[a-z]{4})(?:ing|ed|es|s)$|(?<=[a-z]{3})s$/, '').replace(/(?<=[a-z]{3})[ey]$/, '')
