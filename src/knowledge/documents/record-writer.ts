import { cleanText } from './clean-text.ts'
import type { Block } from './document.ts'
import { UnreadableDocument } from './unreadable-document.ts'

const MOST_CHARACTERS = 100_000_000
const CHUNK_PARTS = 10_000

/** Writes records one after the other, and notes where each of them stands. */
export class RecordWriter {
  readonly blocks: Block[] = []
  readonly #name: string
  /** Many records as one text each: small ones by the million take several times their length. */
  readonly #chunks: string[] = []
  #parts: string[] = []
  #length = 0

  /** `name` is the document's. */
  constructor(name: string) {
    this.#name = name
  }

  /** A record of lines; nothing where all of them are empty. */
  add(lines: readonly string[], path: readonly string[], nth: number): void {
    const record = cleanText(lines.join('\n')).trim()
    if (record === '') return
    if (this.#length > 0) this.#length += this.#push('\n\n')
    const start = this.#length
    this.#length += this.#push(record)
    this.blocks.push({ kind: 'record', start, end: this.#length, path, nth })
    if (this.#length > MOST_CHARACTERS) {
      const why = `its records make more than ${MOST_CHARACTERS / 1_000_000} million characters; divide it`
      throw new UnreadableDocument(this.#name, 'too-large', why)
    }
  }

  toString(): string {
    return this.#chunks.join('') + this.#parts.join('')
  }

  #push(part: string): number {
    this.#parts.push(part)
    if (this.#parts.length >= CHUNK_PARTS) {
      this.#chunks.push(this.#parts.join(''))
      this.#parts = []
    }
    return part.length
  }
}
