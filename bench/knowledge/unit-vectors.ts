import { numbers } from '../retrieval/bootstrap.ts'

/** Vectors of length 1 in all directions alike, always the same ones for one seed. */
export function unitVectors(dimensions: number, seed: number): () => Float32Array {
  const next = numbers(seed)
  // Two numbers of a normal distribution from two even ones (Box and Muller).
  const pair = (into: Float32Array, at: number): void => {
    const radius = Math.sqrt(-2 * Math.log(1 - next()))
    const angle = 2 * Math.PI * next()
    into[at] = radius * Math.cos(angle)
    if (at + 1 < into.length) into[at + 1] = radius * Math.sin(angle)
  }
  return () => {
    const vector = new Float32Array(dimensions)
    for (let at = 0; at < dimensions; at += 2) pair(vector, at)
    const length = Math.hypot(...vector)
    return vector.map((value) => value / length)
  }
}
