import type { Storage } from '../../src/storage/sql/engine.ts'
import { MadeUpText } from './made-up-text.ts'
import { DIMENSIONS } from './stand-in-embedder.ts'
import { unitVectors } from './unit-vectors.ts'

/** Chunks that are put at a time. */
const PART = 500
const AHEAD = 4

export const WHERE = { tenant: 'local', collection: 'bench' } as const

interface Near {
  readonly position: number
  readonly similarity: number
}

/** Puts so many chunks with vectors into a collection; gives, for each of the questions, the ten that are truly nearest. */
export async function fillStore(
  { knowledge }: Storage,
  chunks: number,
  questions: readonly Float32Array[],
): Promise<Set<number>[]> {
  await knowledge.open(WHERE.tenant, WHERE.collection, { id: 'bench:stand-in', dimensions: DIMENSIONS })
  const next = unitVectors(DIMENSIONS, 11)
  const text = new MadeUpText(5)
  const nearest: Near[][] = questions.map(() => [])
  const putting: Promise<unknown>[] = []
  for (let from = 0; from < chunks; from += PART) {
    const part = Array.from({ length: Math.min(PART, chunks - from) }, (_, index) => {
      const vector = next()
      const position = from + index
      for (const [at, question] of questions.entries()) keepNear(nearest[at] as Near[], position, dot(vector, question))
      const words = Array.from({ length: 5 }, () => text.sentence()).join(' ')
      return { position, text: words, start: 0, end: words.length, heading: text.sentence(3), vector }
    })
    putting.push(
      knowledge.put({
        ...WHERE,
        document_id: `document ${from}`,
        version: '1',
        part: 0,
        parts: 1,
        source: `document ${from}`,
        metadata: {},
        chunks: part,
      }),
    )
    if (putting.length >= AHEAD) await putting.shift()
  }
  await Promise.all(putting)
  return nearest.map((list) => new Set(list.map(({ position }) => position)))
}

function keepNear(list: Near[], position: number, similarity: number): void {
  if (list.length === 10 && similarity <= (list[9] as Near).similarity) return
  list.push({ position, similarity })
  list.sort((a, b) => b.similarity - a.similarity)
  if (list.length > 10) list.pop()
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number)
  return sum
}
