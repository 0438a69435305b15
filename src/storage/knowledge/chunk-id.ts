/** The number of a chunk; undefined for what cannot be one. */
export const chunkIdOf = (chunk_id: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(chunk_id) ? Number(chunk_id) : undefined
