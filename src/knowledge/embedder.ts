/** What a text is embedded for: some models want to know. */
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
