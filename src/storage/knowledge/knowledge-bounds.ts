/** How much of one thing is kept. Lengths are in characters; a database must be able to hold names in an index. */
export const KNOWLEDGE_BOUNDS = {
  tenant: 255,
  collection: 255,
  documentId: 512,
  version: 128,
  embedder: 255,
  hash: 255,
  source: 4_096,
  heading: 10_000,
  text: 100_000,
  metadataKeys: 64,
  metadataKey: 255,
  metadataValue: 4_096,
  /** What is written at once must not hold up everything else for long. */
  chunksOfPart: 1_000,
  parts: 100_000,
  collectionsOfTenant: 1_000,
  dimensions: 8_192,
  hits: 1_000,
  query: 100_000,
  /** Of different words in a query: the time that it takes grows with them. */
  queryWords: 400,
  /** Vectors kept by content; the oldest go. */
  knownVectors: 200_000,
} as const
