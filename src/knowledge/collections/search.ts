import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KnowledgeHit, MetadataFilter } from '../../core/storage/knowledge-store.ts'
import { queryWords, searchWords } from '../../storage/knowledge/search-words.ts'
import { splitDocument } from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'

export type SearchWay = 'hybrid' | 'text' | 'vector'

export interface SearchQuestion {
  readonly tenant: string
  readonly collection: string
  readonly query: string
  readonly most: number
  readonly filter?: MetadataFilter
  /** `hybrid` by default. */
  readonly by?: SearchWay
}

export interface SearchResult {
  readonly text: string
  /** From 0 to 1; comparable within one answer. */
  readonly score: number
  readonly source: string
  readonly position: number
  /** The document's metadata and the heading of the passage. */
  readonly metadata: Readonly<Record<string, string>>
}

export interface SearchAnswer {
  readonly results: readonly SearchResult[]
  /** The method that was used in the end. */
  readonly by: SearchWay
  /** Explains which search method wasn't used, and why. */
  readonly note?: string
}

/** A longer query has several topics, but embedding models look at its start only. */
const MAX_WHOLE = 400
const PIECE_CHARACTERS = 300
/** Each piece costs an embedding and two searches. */
const MAX_PIECES = 32

/** Splits a long query into pieces. */
export function questionPieces(question: string): readonly string[] {
  if (question.length <= MAX_WHOLE) return [question]
  const pieces = splitDocument(textDocument(question, '', 'text'), { chunkSize: PIECE_CHARACTERS, overlap: 0 })
  return pieces.slice(0, MAX_PIECES).map(({ text }) => text)
}

/** The constant of reciprocal rank fusion: larger values flatten the ranking. */
const RANK_OFFSET = 30
const VECTOR_WEIGHT = 1
const TEXT_WEIGHT = 0.5
/** A vector is less precise for a piece than for a whole query. */
const TEXT_WEIGHT_OF_PIECES = 1
/** The share of a short query's words that a passage must contain; long queries require less. */
const MIN_COVERAGE = 0.5
const SHORT_QUESTION = 4
/** Unrelated texts have a lower cosine similarity. */
const MIN_SIMILARITY = 0.2
/** While other pages have hits. */
const MAX_OF_PAGE = 2

/** A hit for one piece of a query. */
export interface WeighedHit {
  readonly hit: KnowledgeHit
  /** The weight relative to hits for other pieces. */
  readonly weight: number
  readonly strength: number
}

interface Ranked {
  readonly hit: KnowledgeHit
  readonly strength: number
}

/** The hits per piece; empty for a method that wasn't used. */
interface Found {
  readonly byText: readonly (readonly WeighedHit[])[]
  readonly byVector: readonly (readonly WeighedHit[])[]
}

const stronger = (a: Ranked, b: Ranked): number => b.strength - a.strength

/** Ranks the hits of all methods and pieces. */
export function rankHits({ byText, byVector }: Found, most: number): SearchResult[] {
  const textWeight = byText.length > 1 ? TEXT_WEIGHT_OF_PIECES : TEXT_WEIGHT
  const text = together(byText)
  const vectors = together(byVector)
  const ranked = text.length > 0 && vectors.length > 0 ? fuse(text, vectors, textWeight) : [...text, ...vectors]
  const chosen = choose(ranked.toSorted(stronger), most)
  return chosen.map(({ hit, strength }) => asResult(hit, strength))
}

/** Weighs text hits by the share of the query's words that they contain and their relative score. */
export async function weighText(
  question: string,
  hits: readonly KnowledgeHit[],
  chunks: number,
  signal?: AbortSignal,
): Promise<WeighedHit[]> {
  const words = Math.max(1, queryWords(question).length)
  const least = MIN_COVERAGE * Math.min(1, SHORT_QUESTION / words)
  const covered = await wordCoverage(question, hits, chunks, signal)
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

/** Merges the hits of all pieces. Adding squares favours one strong match over several weak ones. */
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

/** Reciprocal rank fusion: scores of the two methods aren't comparable. The best hit keeps its higher score. */
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

/** Limits hits per page and drops duplicate texts while there are others. */
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

/** The document's metadata wins over the heading. */
function asResult({ text, source, position, heading, metadata }: KnowledgeHit, score: number): SearchResult {
  return {
    text,
    score: Math.round(Math.min(1, score) * 1_000) / 1_000,
    source,
    position,
    metadata: { ...(heading !== '' && { heading }), ...metadata },
  }
}

/** In smaller collections, word frequencies mean nothing. */
const MIN_CHUNKS = 200
const MIN_STEM = 3

/** So many characters are read before other work gets a turn. */
const SLICE_CHARACTERS = 65_536

/** The share of the query's words that each hit contains, weighted by rarity. Words without any hit weigh most. */
export async function wordCoverage(
  question: string,
  hits: readonly KnowledgeHit[],
  chunks: number,
  signal?: AbortSignal,
): Promise<number[]> {
  const stems = [...new Set(queryWords(question).map(stem))]
  const query = new QueryStems(stems)
  const held: Set<number>[] = []
  let characters = 0
  for (const hit of hits) {
    held.push(query.heldBy(hit))
    characters += hit.heading.length + hit.text.length
    if (characters < SLICE_CHARACTERS) continue
    characters = 0
    await nextTurn()
    signal?.throwIfAborted()
  }
  const all = Math.max(chunks, hits.length, MIN_CHUNKS)
  const weights = stems.map((_, index) => {
    const times = held.filter((words) => words.has(index)).length
    return Math.log(1 + (all - times + 0.5) / (times + 0.5))
  })
  const whole = weights.reduce((sum, weight) => sum + weight, 0) || 1
  return held.map((words) => [...words].reduce((sum, index) => sum + (weights[index] as number), 0) / whole)
}

/** Finds the words of a query in linear time. Database engines stem differently: words with the same beginning are equal. */
class QueryStems {
  /** The indexes of the stems that a whole word means: the stem itself, or the beginning of a longer one. */
  readonly #meant = new Map<string, number[]>()
  readonly #indexes: ReadonlyMap<string, number>
  /** The lengths of stems that a longer word may begin with, in ascending order. */
  readonly #lengths: readonly number[]

  constructor(stems: readonly string[]) {
    this.#indexes = new Map(stems.map((text, index) => [text, index]))
    for (const [text, index] of this.#indexes) {
      this.#mean(text, index)
      for (let length = MIN_STEM; length < text.length; length++) this.#mean(text.slice(0, length), index)
    }
    const lengths = new Set(stems.map(({ length }) => length).filter((length) => length >= MIN_STEM))
    this.#lengths = [...lengths].sort((a, b) => a - b)
  }

  /** The indexes of the stems that a hit contains. */
  heldBy({ heading, text }: KnowledgeHit): Set<number> {
    const held = new Set<number>()
    for (const word of new Set(searchWords(`${heading} ${text}`))) {
      const bare = stem(word)
      for (const index of this.#meant.get(bare) ?? []) held.add(index)
      for (const length of this.#lengths) {
        if (length >= bare.length) break
        const index = this.#indexes.get(bare.slice(0, length))
        if (index !== undefined) held.add(index)
      }
    }
    return held
  }

  #mean(text: string, index: number): void {
    const known = this.#meant.get(text)
    if (known === undefined) this.#meant.set(text, [index])
    else known.push(index)
  }
}

/** Removes common English endings. */
const stem = (word: string): string =>
  word.replace(/(?<=[a-z]{4})(?:ing|ed|es|s)$|(?<=[a-z]{3})s$/, '').replace(/(?<=[a-z]{3})[ey]$/, '')
