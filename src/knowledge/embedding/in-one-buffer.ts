/**
 * The same vectors over one buffer. They go to the thread of the store, where each buffer is made anew: thousands of small
 * ones a second, made in one thread and let go of in another, leave the memory full of holes.
 */
export function inOneBuffer(vectors: readonly Float32Array[]): Float32Array[] {
  const all = new Float32Array(vectors.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  return vectors.map((vector) => {
    all.set(vector, at)
    at += vector.length
    return all.subarray(at - vector.length, at)
  })
}
