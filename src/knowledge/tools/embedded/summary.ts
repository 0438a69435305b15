import type { BlockKind } from '../../documents/document.ts'
import { readSentences, type Sentence, stem, type Turn, tellingWords } from './prose.ts'

/** Ranking compares all sentences with each other. */
const MAX_RANKED = 400
const MAX_CHOSEN = 5
const ROUNDS = 30
/** The share of its rank that a sentence gives to those that it resembles. */
const DAMPING = 0.85
/** A sentence that is this near to a chosen one says nothing new. */
const TOO_NEAR = 0.5
const [LEAST_WORDS, MOST_WORDS] = [3, 45]
/** With fewer sentences in paragraphs, lists count as well. */
const LEAST_PROSE = 3
/** What the first sentence of a text, and of a paragraph, count more than others. */
const [OPENING, FIRST] = [2, 0.5]
/** Such a sentence needs the one before it. */
const CONTINUES =
  /^(?:it|its|they|their|this|that|these|those|he|she|his|her|but|and|so|or|however|both|each|then|there)\b/i
const MAX_SHOWN = 300

const PROSE: ReadonlySet<BlockKind> = new Set(['prose'])
const WITH_LISTS: ReadonlySet<BlockKind> = new Set(['prose', 'list', 'record'])

/** The most central sentences of a text (TextRank), in their order, as written. */
export async function keySentences(content: string, turn: Turn = () => {}): Promise<string[]> {
  const sentences = await candidates(content, turn)
  if (sentences.length === 0) return shortest(content)
  const kept = sentences.length <= MAX_RANKED ? sentences : await mostTelling(sentences, turn)
  const vectors = weigh(kept)
  const ranks = await rank(kept, vectors, turn)
  return choose(kept, ranks, vectors).map(({ text }) => text)
}

interface Candidate extends Sentence {
  readonly words: readonly string[]
}

async function candidates(content: string, turn: Turn): Promise<Candidate[]> {
  const prose = await usable(await readSentences(content, PROSE, turn), turn)
  return prose.length >= LEAST_PROSE ? prose : usable(await readSentences(content, WITH_LISTS, turn), turn)
}

/** Without labels, lead-ins to something that follows, addresses, and what is too long to be a sentence. */
async function usable(sentences: readonly Sentence[], turn: Turn): Promise<Candidate[]> {
  const found: Candidate[] = []
  for (const sentence of sentences) {
    const words = tellingWords(sentence.text)
    const whole = words.length >= LEAST_WORDS && words.length <= MOST_WORDS
    if (whole && !/[:,;]$|:\/\/|\w@\w/.test(sentence.text)) found.push({ ...sentence, words })
    await turn()
  }
  return found
}

/** For a text without sentences: its beginning. */
function shortest(content: string): string[] {
  const start = content
    .slice(0, 10 * MAX_SHOWN)
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (start === '') return []
  return [start.length > MAX_SHOWN ? `${start.slice(0, MAX_SHOWN).toWellFormed()}…` : start]
}

/** Of a long text: the sentences whose words occur most, in their order. */
async function mostTelling(sentences: readonly Candidate[], turn: Turn): Promise<Candidate[]> {
  const counts = new Map<string, number>()
  for (const { words } of sentences) {
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
    await turn()
  }
  const scored: { sentence: Candidate; at: number; score: number }[] = []
  for (const [at, sentence] of sentences.entries()) {
    const sum = sentence.words.reduce((total, word) => total + Math.log(counts.get(word) as number), 0)
    scored.push({ sentence, at, score: at === 0 ? Number.POSITIVE_INFINITY : sum / (sentence.words.length + 5) })
    await turn()
  }
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_RANKED)
    .sort((a, b) => a.at - b.at)
    .map(({ sentence }) => sentence)
}

type Vector = ReadonlyMap<string, number>

/** Unit vectors of words; a rare word weighs more. */
function weigh(sentences: readonly Candidate[]): Vector[] {
  const documents = new Map<string, number>()
  for (const { words } of sentences)
    for (const word of new Set(words)) documents.set(word, (documents.get(word) ?? 0) + 1)
  return sentences.map(({ words }) => {
    const weights = new Map<string, number>()
    for (const word of words) {
      const rarity = Math.log(1 + sentences.length / (documents.get(word) as number))
      weights.set(word, (weights.get(word) ?? 0) + rarity)
    }
    const norm = Math.hypot(...weights.values())
    for (const [word, weight] of weights) weights.set(word, weight / norm)
    return weights
  })
}

function similarity(a: Vector, b: Vector): number {
  let sum = 0
  for (const [word, weight] of a) sum += weight * (b.get(word) ?? 0)
  return sum
}

async function rank(sentences: readonly Candidate[], vectors: readonly Vector[], turn: Turn) {
  const count = sentences.length
  const edges = new Float64Array(count * count)
  const out = new Float64Array(count)
  for (let row = 0; row < count; row++) {
    for (let column = 0; column < row; column++) {
      const near = similarity(vectors[row] as Vector, vectors[column] as Vector)
      edges[row * count + column] = near
      edges[column * count + row] = near
      out[row] = (out[row] as number) + near
      out[column] = (out[column] as number) + near
    }
    await turn()
  }
  const start = starts(sentences)
  let ranks = start
  for (let round = 0; round < ROUNDS; round++) {
    const next = start.map((share) => (1 - DAMPING) * share)
    for (let from = 0; from < count; from++) {
      const given = out[from] === 0 ? 0 : (DAMPING * (ranks[from] as number)) / (out[from] as number)
      if (given === 0) continue
      for (let to = 0; to < count; to++) next[to] = (next[to] as number) + given * (edges[from * count + to] as number)
    }
    ranks = next
    await turn()
  }
  return ranks
}

/** Where a reader begins: openings, and sentences with words of the title. */
function starts(sentences: readonly Candidate[]): Float64Array {
  const title = new Set(tellingWords(sentences[0]?.path[0] ?? '').map(stem))
  const weights = Float64Array.from(sentences, ({ first, words }, at) => {
    const named = new Set(words.filter((word) => title.has(word))).size
    return 1 + (at === 0 ? OPENING : 0) + (first ? FIRST : 0) + named / Math.max(1, title.size)
  })
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}

/** The best ones, without repetitions, in the order of the text. */
function choose(sentences: readonly Candidate[], ranks: Float64Array, vectors: readonly Vector[]): Candidate[] {
  const wanted = Math.min(MAX_CHOSEN, Math.round(Math.sqrt(sentences.length)))
  const chosen: number[] = []
  for (const at of [...ranks.keys()].sort((a, b) => (ranks[b] as number) - (ranks[a] as number))) {
    if (at > 0 && CONTINUES.test(sentences[at]?.text ?? '') && !chosen.includes(at - 1)) continue
    const repeats = chosen.some((one) => similarity(vectors[one] as Vector, vectors[at] as Vector) > TOO_NEAR)
    if (!repeats) chosen.push(at)
    if (chosen.length >= wanted) break
  }
  return chosen.sort((a, b) => a - b).map((at) => sentences[at] as Candidate)
}
