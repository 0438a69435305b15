import type { EmbeddingModelV4, EmbeddingModelV4CallOptions } from '@ai-sdk/provider'
import { type Telling, toModelError } from '../../../models/ai-sdk/to-model-error.ts'
import type { EmbeddingPurpose } from '../../embedder.ts'
import type { EmbeddingWire } from '../embedding-wire.ts'

/** One provider of the AI SDK. */
export interface AiSdkEmbeddings {
  readonly batch: number
  readonly telling: Telling
  /** Loads the package with the first question. */
  load(): Promise<(model: string) => EmbeddingModelV4>
  /** How the provider is told what the texts are for. */
  options?(purpose: EmbeddingPurpose): EmbeddingModelV4CallOptions['providerOptions']
}

/** The wire to the embedding models of the AI SDK, without the retries that the package `ai` would add. */
export function aiSdkEmbeddings({ batch, telling, load, options }: AiSdkEmbeddings): EmbeddingWire {
  let loading: ReturnType<typeof load> | undefined
  return {
    batch,
    async embed(model, { texts, purpose, signal }) {
      signal.throwIfAborted()
      loading ??= load()
      const make = await loading
      const providerOptions = options?.(purpose)
      try {
        const { embeddings } = await make(model).doEmbed({
          values: [...texts],
          abortSignal: signal,
          ...(providerOptions && { providerOptions }),
        })
        return embeddings
      } catch (error) {
        signal.throwIfAborted()
        throw toModelError(behind(error), telling)
      }
    },
  }
}

/** What went wrong with an answer that was no refusal; the error around it looks like a stream that broke off. */
function behind(error: unknown): unknown {
  const { statusCode, cause }: { statusCode?: unknown; cause?: unknown } = Object(error)
  return typeof statusCode === 'number' && statusCode < 400 && cause instanceof Error ? cause : error
}
