import type { EmbeddingModelV4, EmbeddingModelV4CallOptions } from '@ai-sdk/provider'
import { checkKey, requireKey, tellingOf } from '../../models/ai-sdk/ai-sdk-wire.ts'
import { type Telling, toModelError } from '../../models/ai-sdk/to-model-error.ts'
import { ModelError } from '../../models/model-error.ts'
import type { ProviderSettings, ProviderSurroundings } from '../../models/provider.ts'
import { ollamaFetch } from '../../models/providers/ollama.ts'
import type { EmbeddingPurpose } from './embedder.ts'

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
  /** Returns the response unchecked. Failures throw a `ModelError`; an abort throws the signal's reason. */
  embed(model: string, request: EmbeddingRequest): Promise<unknown>
}

/** Makes the wire; throws a `ModelError` that says what is missing. */
export type EmbeddingWireMaker = (
  settings: ProviderSettings,
  around: ProviderSurroundings,
) => EmbeddingWire | Promise<EmbeddingWire>

const GEMINI = 'https://generativelanguage.googleapis.com/v1beta'

/** The most that one request takes. */
const GEMINI_BATCH = 100

const TASKS = { document: 'RETRIEVAL_DOCUMENT', query: 'RETRIEVAL_QUERY' } as const

/** The embeddings of Google's Gemini. */
const geminiEmbeddings: EmbeddingWireMaker = (settings, around) => {
  const { base_url, headers = {} } = settings
  const key = requireKey(settings, 'GEMINI_API_KEY')
  return aiSdkEmbeddings({
    batch: GEMINI_BATCH,
    telling: tellingOf(settings, around),
    async load() {
      const { createGoogle } = await import('@ai-sdk/google')
      const baseURL = (base_url ?? GEMINI).replace(/(?<!\/)\/+$/, '')
      const provider = createGoogle({ baseURL, apiKey: key, headers: { ...headers } })
      return (model) => provider.embedding(model)
    },
    options: (purpose) => ({ google: { taskType: TASKS[purpose] } }),
  })
}

/** One provider of the AI SDK. */
interface AiSdkEmbeddings {
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

/** The cause of an error in a successful response: the outer error looks like a broken stream. */
function behind(error: unknown): unknown {
  const { statusCode, cause }: { statusCode?: unknown; cause?: unknown } = Object(error)
  return typeof statusCode === 'number' && statusCode < 400 && cause instanceof Error ? cause : error
}

const OLLAMA = 'http://127.0.0.1:11434'

/** Without a graphics card a longer request than this holds up everybody else's. */
const OLLAMA_BATCH = 32

/** The embeddings of an Ollama server, through its own client. */
const ollamaEmbeddings: EmbeddingWireMaker = async (settings, { clock }) => {
  const { Ollama } = await import('ollama')
  const { name: provider, base_url: host = OLLAMA, api_key, headers: more } = settings
  if (!URL.canParse(host)) {
    throw new ModelError(`providers.${provider}.base_url is not a URL. Write it like ${OLLAMA}`)
  }
  const headers = { ...(api_key !== undefined && { authorization: `Bearer ${api_key}` }), ...more }
  const secrets = [...(api_key !== undefined ? [api_key] : []), ...Object.values(headers)]
  return {
    batch: OLLAMA_BATCH,
    async embed(model, { texts, signal }) {
      signal.throwIfAborted()
      const telling = { provider, model, clock, secrets }
      const client = new Ollama({ host, headers, fetch: ollamaFetch(telling, signal) })
      try {
        return (await client.embed({ model, input: [...texts] })).embeddings
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof SyntaxError) {
          throw new ModelError(`What was answered is no JSON. Check that providers.${provider}.base_url is Ollama's.`)
        }
        throw toModelError(error, telling)
      }
    },
  }
}

const OPENAI = 'https://api.openai.com/v1'

/** OpenAI takes 2,048 texts and 300,000 tokens; others that speak its language take fewer. */
const OPENAI_BATCH = 100

/** The embeddings of OpenAI, and of every server that speaks its language. */
const openaiEmbeddings: EmbeddingWireMaker = (settings, around) => {
  const { base_url, headers } = settings
  const key = base_url === undefined ? requireKey(settings, 'OPENAI_API_KEY') : checkKey(settings)
  return aiSdkEmbeddings({
    batch: OPENAI_BATCH,
    telling: tellingOf(settings, around),
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai')
      // Without a key there is no header: the package drops undefined values, although its types forbid them.
      const all = { ...(key === '' && { Authorization: undefined }), ...headers } as Record<string, string>
      const baseURL = (base_url ?? OPENAI).replace(/(?<!\/)\/+$/, '')
      const provider = createOpenAI({ baseURL, apiKey: key, headers: all })
      return (model) => provider.embedding(model)
    },
  })
}

/** How each type of provider that has embedding models is spoken to. */
export const embeddingWires: Readonly<Record<string, EmbeddingWireMaker>> = {
  openai: openaiEmbeddings,
  gemini: geminiEmbeddings,
  ollama: ollamaEmbeddings,
}
