import type { ProviderSettings, ProviderSurroundings } from '../../models/provider.ts'
import type { EmbeddingPurpose } from '../embedder.ts'

/** The texts of one request. */
export interface EmbeddingRequest {
  readonly texts: readonly string[]
  readonly purpose: EmbeddingPurpose
  readonly signal: AbortSignal
}

/** The wire to the embedding models of one provider: asks once, and nothing more. */
export interface EmbeddingWire {
  /** How many texts one request takes. */
  readonly batch: number
  /** What came, whatever it is. Failures throw a `ModelError`; an abort throws the signal's reason. */
  embed(model: string, request: EmbeddingRequest): Promise<unknown>
}

/** Makes the wire; throws a `ModelError` that says what is missing. */
export type EmbeddingWireMaker = (
  settings: ProviderSettings,
  around: ProviderSurroundings,
) => EmbeddingWire | Promise<EmbeddingWire>
