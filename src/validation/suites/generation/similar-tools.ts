import type { ToolDefinition } from '../../../core/tool.ts'
import { wordsOf } from './sample-text.ts'

const LONGEST_TEXT = 500
/** A word that more tools than this share tells none of them apart. */
const MOST_SHARED = 100

/** Finds the tools that are most easily taken for another: those that share the most and the rarest words with it. */
export class SimilarTools {
  readonly #names: readonly string[]
  readonly #words: readonly ReadonlySet<string>[]
  readonly #places = new Map<string, number[]>()
  readonly #numbers: ReadonlyMap<string, number>

  constructor(tools: readonly ToolDefinition[]) {
    this.#names = tools.map(({ name }) => name)
    this.#numbers = new Map(this.#names.map((name, number) => [name, number]))
    this.#words = tools.map(
      (tool) => new Set([...wordsOf(tool.name), ...wordsOf(tool.description.slice(0, LONGEST_TEXT))]),
    )
    for (const [number, words] of this.#words.entries()) {
      for (const word of words) {
        const places = this.#places.get(word)
        if (places === undefined) this.#places.set(word, [number])
        else places.push(number)
      }
    }
  }

  /** The names of up to `most` tools like this one, in the order in which all are listed; its neighbours where none is. */
  like(name: string, most: number): string[] {
    const own = this.#numbers.get(name) as number
    const scores = new Map<number, number>()
    for (const word of this.#words[own] ?? []) {
      const places = this.#places.get(word) ?? []
      if (places.length > MOST_SHARED) continue
      for (const number of places) scores.set(number, (scores.get(number) ?? 0) + 1 / places.length)
    }
    for (let away = 1; away <= most; away++) {
      for (const number of [own + away, own - away]) {
        if (number >= 0 && number < this.#names.length) scores.set(number, scores.get(number) ?? 0)
      }
    }
    scores.delete(own)
    return [...scores]
      .sort(([one, high], [other, low]) => low - high || one - other)
      .slice(0, most)
      .map(([number]) => number)
      .sort((one, other) => one - other)
      .map((number) => this.#names[number] as string)
  }
}
