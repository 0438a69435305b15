import { setImmediate as turn } from 'node:timers/promises'
import { FIELDS, isFiller, type ToolWords } from './tool-words.ts'
import type { WordVectors } from './word-vectors.ts'

const WORD = /[a-z]{2,}/g
/** How much a word counts, by where it stands. */
const FIELD_WEIGHTS: Readonly<Record<keyof ToolWords, number>> = {
  name: 2,
  description: 1,
  parameters: 0.8,
  details: 0.3,
}
/** So many are read before others get their turn. */
const CHUNK = 50

/** Tools by what their words mean: "how hot is it" finds one that tells the temperature. */
export class MeaningIndex {
  readonly #vectors: WordVectors
  readonly #tools: Float32Array[] = []
  readonly #spread = new Map<string, number>()

  private constructor(vectors: WordVectors) {
    this.#vectors = vectors
  }

  static async make(tools: readonly ToolWords[], vectors: WordVectors): Promise<MeaningIndex> {
    const index = new MeaningIndex(vectors)
    const weights: Map<string, number>[] = []
    for (const [place, tool] of tools.entries()) {
      if (place % CHUNK === CHUNK - 1) await turn()
      const words = weighWords(tool)
      for (const word of words.keys()) index.#spread.set(word, (index.#spread.get(word) ?? 0) + 1)
      weights.push(words)
    }
    for (const [place, words] of weights.entries()) {
      if (place % CHUNK === CHUNK - 1) await turn()
      index.#tools.push(vectors.sum(index.#byRarity(words, tools.length)))
    }
    return index
  }

  /** The places of the tools that mean what was said, best first. */
  nearest(said: string, most: number): number[] {
    const words = new Map(wordsOf(said).map((word) => [word, 1]))
    const asked = this.#vectors.sum(this.#byRarity(words, this.#tools.length))
    return this.#tools
      .map((tool, place) => ({ place, score: dot(tool, asked) }))
      .filter(({ score }) => score > 0)
      .sort((left, right) => right.score - left.score)
      .slice(0, most)
      .map(({ place }) => place)
  }

  /** What few tools speak of says more. */
  #byRarity(weights: ReadonlyMap<string, number>, tools: number): Map<string, number> {
    return new Map(
      weights.entries().map(([word, weight]) => {
        const rarity = Math.log(1 + tools / ((this.#spread.get(word) ?? 0) + 1))
        return [word, weight * rarity]
      }),
    )
  }
}

/** Each word once, with the weight of the best place that it stands in. */
function weighWords(tool: ToolWords): Map<string, number> {
  const weights = new Map<string, number>()
  for (const field of FIELDS) {
    for (const word of wordsOf(tool[field])) {
      weights.set(word, Math.max(weights.get(word) ?? 0, FIELD_WEIGHTS[field]))
    }
  }
  return weights
}

const wordsOf = (text: string): string[] => (text.toLowerCase().match(WORD) ?? []).filter((word) => !isFiller(word))

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0
  for (let at = 0; at < left.length; at++) sum += (left[at] as number) * (right[at] as number)
  return sum
}
