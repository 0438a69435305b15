import { readFile } from 'node:fs/promises'

/** Vectors of texts, made of the vectors of their words: no model runs. */
export interface WordVectors {
  readonly size: number
  /** A unit vector; undefined if no word of the text is known. */
  of(text: string): Float32Array | undefined
}

const FOLDER = new URL('../../weights/', import.meta.url)
const SIZE = 128
/** Those after are rarely about what a tool does. */
const MAX_TOKENS = 56
const MAX_WORD = 40
const MARKS = /\p{Mn}/gu

let loaded: Promise<WordVectors> | undefined

/** The vectors, about 4 MB. They are read once in a process. */
export function loadWordVectors(): Promise<WordVectors> {
  loaded ??= readWordVectors().catch((error: unknown) => {
    loaded = undefined
    throw error
  })
  return loaded
}

async function readWordVectors(): Promise<WordVectors> {
  const [bytes, tokenizer] = await Promise.all([
    readFile(new URL('words.bin', FOLDER)),
    readFile(new URL('tokenizer.json', FOLDER), 'utf8'),
  ])
  const { model } = JSON.parse(tokenizer) as { model: { vocab: Readonly<Record<string, number>> } }
  const vocabulary = new Map(Object.entries(model.vocab))
  const rows = new Int8Array(bytes.buffer, bytes.byteOffset, vocabulary.size * SIZE)
  const scales = new DataView(bytes.buffer, bytes.byteOffset + rows.length)
  return {
    size: SIZE,
    of(text) {
      const sum = new Float32Array(SIZE)
      for (const token of tokensOf(text, vocabulary)) {
        const scale = scales.getFloat32(4 * token, true)
        for (let at = 0; at < SIZE; at++) (sum[at] as number) += scale * (rows[token * SIZE + at] as number)
      }
      const length = Math.hypot(...sum)
      return length === 0 ? undefined : sum.map((value) => value / length)
    },
  }
}

function tokensOf(text: string, vocabulary: ReadonlyMap<string, number>): number[] {
  const tokens: number[] = []
  for (const [word] of text
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(MARKS, '')
    .matchAll(/[\p{L}\p{N}]+/gu)) {
    tokens.push(...piecesOf(word.slice(0, MAX_WORD), vocabulary))
    if (tokens.length >= MAX_TOKENS) break
  }
  return tokens.slice(0, MAX_TOKENS)
}

/** The longest known pieces of a word, from its start; none if a part of it is unknown. */
function piecesOf(word: string, vocabulary: ReadonlyMap<string, number>): number[] {
  const pieces: number[] = []
  for (let at = 0; at < word.length; ) {
    let end = word.length
    const piece = (): number | undefined => vocabulary.get((at === 0 ? '' : '##') + word.slice(at, end))
    while (end > at && piece() === undefined) end--
    const token = piece()
    if (end === at || token === undefined) return []
    pieces.push(token)
    at = end
  }
  return pieces
}
