import type { EmbeddingModelV4, EmbeddingModelV4CallOptions } from '@ai-sdk/provider'
import { type Telling, toModelError } from '../../models/ai-sdk/to-model-error.ts'
import type { ProviderContext, ProviderSettings } from '../../models/provider.ts'
import { baseUrl, checkKey, openaiHeaders, requireKey, tellingOf } from '../../models/providers/hosted.ts'
import { OllamaServer } from '../../models/providers/ollama.ts'
import type { EmbeddingPurpose } from './embedder.ts'

export interface EmbeddingRequest {
  readonly texts: readonly string[]
  readonly purpose: EmbeddingPurpose
  readonly signal: AbortSignal
}

/** Sends requests to a provider's embedding models, without retries. */
export interface EmbeddingWire {
  readonly batch: number
  /** Returns the response unchecked. Failures throw a `ModelError`; an abort throws the signal's reason. */
  embed(model: string, request: EmbeddingRequest): Promise<unknown>
}

/** Throws a `ModelError` if a setting is missing. */
type EmbeddingWireMaker = (
  settings: ProviderSettings,
  around: ProviderContext,
) => EmbeddingWire | Promise<EmbeddingWire>

const GEMINI = 'https://generativelanguage.googleapis.com/v1beta'

const GEMINI_BATCH = 100

const TASKS = { document: 'RETRIEVAL_DOCUMENT', query: 'RETRIEVAL_QUERY' } as const

const geminiEmbeddings: EmbeddingWireMaker = (settings, around) => {
  const { headers = {} } = settings
  const key = requireKey(settings, 'GEMINI_API_KEY')
  return aiSdkEmbeddings({
    batch: GEMINI_BATCH,
    telling: tellingOf(settings, around),
    async load() {
      const { createGoogle } = await import('@ai-sdk/google')
      const provider = createGoogle({ baseURL: baseUrl(settings, GEMINI), apiKey: key, headers: { ...headers } })
      return (model) => provider.embedding(model)
    },
    options: (purpose) => ({ google: { taskType: TASKS[purpose] } }),
  })
}

interface AiSdkEmbeddings {
  readonly batch: number
  readonly telling: Telling
  load(): Promise<(model: string) => EmbeddingModelV4>
  options?(purpose: EmbeddingPurpose): EmbeddingModelV4CallOptions['providerOptions']
}

/** The embedding models of an AI SDK provider, without the retries of the `ai` package. */
function aiSdkEmbeddings({ batch, telling, load, options }: AiSdkEmbeddings): EmbeddingWire {
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

/** For an error in a successful response, the cause says more. */
function behind(error: unknown): unknown {
  const { statusCode, cause }: { statusCode?: unknown; cause?: unknown } = Object(error)
  return typeof statusCode === 'number' && statusCode < 400 && cause instanceof Error ? cause : error
}

/** Without a GPU, larger requests block other users. */
const OLLAMA_BATCH = 32

const ollamaEmbeddings: EmbeddingWireMaker = (settings, { clock }) => {
  const server = new OllamaServer(settings, clock)
  return {
    batch: OLLAMA_BATCH,
    async embed(model, { texts, signal }) {
      signal.throwIfAborted()
      return (await server.askOnce('embed', { model, input: texts }, signal)).embeddings
    },
  }
}

const OPENAI = 'https://api.openai.com/v1'

/** OpenAI accepts 2,048 texts, but compatible servers accept fewer. */
const OPENAI_BATCH = 100

const openaiEmbeddings: EmbeddingWireMaker = (settings, around) => {
  const { base_url, headers } = settings
  const key = base_url === undefined ? requireKey(settings, 'OPENAI_API_KEY') : checkKey(settings)
  return aiSdkEmbeddings({
    batch: OPENAI_BATCH,
    telling: tellingOf(settings, around),
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai')
      const options = { baseURL: baseUrl(settings, OPENAI), apiKey: key, headers: openaiHeaders(key, headers) }
      const provider = createOpenAI(options)
      return (model) => provider.embedding(model)
    },
  })
}

/** Embedding providers by type. */
export const embeddingWires: Readonly<Record<string, EmbeddingWireMaker>> = {
  openai: openaiEmbeddings,
  gemini: geminiEmbeddings,
  ollama: ollamaEmbeddings,
}
