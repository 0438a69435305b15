import { ModelError } from '../../models/model-error.ts'

export interface Expected {
  /** How many vectors. */
  readonly count: number
  /** How many numbers in each; undefined where nobody knows yet. */
  readonly dimensions: number | undefined
}

/** What a model gave, brought to length 1; throws a `ModelError` that says what is wrong with it. */
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
