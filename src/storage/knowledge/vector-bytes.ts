/** A vector as the database keeps it: its numbers one after the other, in the order of this machine. */
export const vectorBytes = (vector: Float32Array): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

/** The vector that was kept as bytes, in memory of its own: what a driver gives may be a piece of something larger. */
export function vectorOfBytes(bytes: Uint8Array): Float32Array {
  const vector = new Float32Array(bytes.byteLength / Float32Array.BYTES_PER_ELEMENT)
  new Uint8Array(vector.buffer).set(bytes)
  return vector
}
