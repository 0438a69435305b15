import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { ModelError } from '../../models/model-error.ts'

/** The purpose of an embedding: some models distinguish documents and queries. */
export type EmbeddingPurpose = 'document' | 'query'

/** Makes vectors of texts. */
export interface Embedder {
  /** `provider:model`: vectors of different ones cannot be compared. */
  readonly id: string
  readonly dimensions: number
  /** Texts that are embedded in one request at most. */
  readonly batch: number
  /** Where the model looks at a text only so far: the characters that nearly always fit. The rest is cut off silently. */
  readonly maxCharacters?: number
  /** One vector of length 1 for each text, in their order. Throws a `ModelError` or a `ToolExecutionError`. */
  embed(texts: readonly string[], purpose: EmbeddingPurpose, signal?: AbortSignal): Promise<Float32Array[]>
  close(): Promise<void>
}

/** Throws where a text has nothing in it to embed: providers refuse it, or make a vector of nothing. */
export function requireTexts(texts: readonly string[]): void {
  const blank = texts.findIndex((text) => text.trim() === '')
  if (blank === -1) return
  throw new ToolExecutionError('INVALID_PARAMETERS', `Text ${blank + 1} of ${texts.length} is empty: leave it out.`)
}

interface Expected {
  /** How many vectors. */
  readonly count: number
  /** The length of each vector; undefined if not known yet. */
  readonly dimensions: number | undefined
}

/** Scales the vectors of a model to length 1. Throws a `ModelError` if they are invalid. */
export function unitVectors(given: unknown, { count, dimensions }: Expected): Float32Array[] {
  if (!Array.isArray(given))
    throw new ModelError('What came is no list of vectors. Check that it is an embedding model.')
  if (given.length !== count) throw new ModelError(`${given.length} vectors came for ${count} texts.`)
  const length = dimensions ?? sizeOf(given[0])
  return given.map((vector, index) => unitVector(vector, index, length))
}

const sizeOf = (vector: unknown): number => (Array.isArray(vector) ? vector.length : 0)

function unitVector(given: unknown, index: number, length: number): Float32Array {
  const which = `Vector ${index + 1}`
  if (!Array.isArray(given) || given.length === 0) throw new ModelError(`${which} is empty.`)
  if (given.length !== length) {
    throw new ModelError(
      `${which} has ${given.length} dimensions, not ${length}. Vectors of different models cannot be mixed.`,
    )
  }
  let squares = 0
  for (const value of given) {
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw new ModelError(`${which} holds ${value}, no number.`)
    squares += value * value
  }
  const norm = Math.sqrt(squares)
  if (norm === 0 || norm === Number.POSITIVE_INFINITY) {
    throw new ModelError(`${which} has no direction: its length is ${norm}.`)
  }
  return Float32Array.from(given, (value) => value / norm)
}
