import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WEIGHTS } from '../engine/process-scorer.ts'

/** What grammar puts at the end of a word that is known without it. */
const ENDINGS = [/s$/, /ing$/, /ed$/]

/** What words mean: near each other where they mean something similar. Made by `mini/train/words.ts`. */
export class WordVectors {
  readonly dimensions: number
  readonly #places: ReadonlyMap<string, number>
  readonly #bytes: Int8Array

  constructor(words: readonly string[], bytes: Int8Array) {
    if (words.length === 0 || bytes.length === 0 || bytes.length % words.length !== 0) {
      throw new Error(`${bytes.length} bytes are no vectors of ${words.length} words`)
    }
    this.dimensions = bytes.length / words.length
    this.#places = new Map(words.map((word, place) => [word, place]))
    this.#bytes = bytes
  }

  /** The vector of a text of which each word counts so much; of length 1, or 0 where no word is known. */
  sum(weights: ReadonlyMap<string, number>): Float32Array {
    const sum = new Float32Array(this.dimensions)
    for (const [word, weight] of weights) {
      const place = this.#placeOf(word)
      if (place === undefined) continue
      const from = place * this.dimensions
      for (let at = 0; at < sum.length; at++)
        sum[at] = (sum[at] as number) + weight * (this.#bytes[from + at] as number)
    }
    const length = Math.hypot(...sum) || 1
    return sum.map((value) => value / length)
  }

  #placeOf(word: string): number | undefined {
    for (const known of [word, ...ENDINGS.map((ending) => word.replace(ending, ''))]) {
      const place = this.#places.get(known)
      if (place !== undefined) return place
    }
    return undefined
  }
}

let ours: Promise<WordVectors | undefined> | undefined

/** Those that come with Toolyard, read once; undefined where they are missing or damaged, and words alone must do. */
export function ourWordVectors(): Promise<WordVectors | undefined> {
  ours ??= readWordVectors(WEIGHTS)
  return ours
}

/** The words stand in one file, a line each, their vectors in the other, in the same order and of equal length. */
export async function readWordVectors(folder: string): Promise<WordVectors | undefined> {
  try {
    const [words, bytes] = await Promise.all([
      readFile(join(folder, 'words.txt'), 'utf8'),
      readFile(join(folder, 'words.int8.bin')),
    ])
    return new WordVectors(words.trimEnd().split('\n'), new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length))
  } catch {
    return undefined
  }
}
