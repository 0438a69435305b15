import { systemClock } from '../../core/clock.ts'
import { dataFolder } from '../../core/environment.ts'
import { silentLog } from '../../core/log.ts'
import { ModelError, withModelId } from '../../models/model-error.ts'
import { splitModelId } from '../../models/model-info.ts'
import type { ProviderContext, ProviderSettings } from '../../models/provider.ts'
import { retrying } from '../../models/providers/provider-client.ts'
import { type Embedder, type EmbeddingPurpose, requireTexts, unitVectors } from './embedder.ts'
import { type EmbeddingWire, embeddingWires } from './embedding-wires.ts'
import { LocalEmbedder } from './local-embedder.ts'
import { findLocalModel, LOCAL_MODEL, LOCAL_PROVIDER } from './local-model.ts'

interface OpenEmbedderOptions extends Partial<Pick<ProviderContext, 'log' | 'clock'>> {
  readonly providers?: readonly ProviderSettings[]
  /** Searched first for the local model. */
  readonly dataFolder?: string
  readonly signal?: AbortSignal
}

const LOCAL_ID = `${LOCAL_PROVIDER}:${LOCAL_MODEL}`

/**
 * Opens an embedding model by `provider:model`. Rejects with a `ModelError`. Embeds a text if its dimensions are
 * unknown.
 */
export async function openEmbedder(id: string, options: OpenEmbedderOptions = {}): Promise<Embedder> {
  const { providers = [], log = silentLog, clock = systemClock, signal } = options
  const parts = splitModelId(id)
  if (parts === undefined) {
    throw new ModelError(`'${id}' isn't an embedding model: write provider:model, such as ${LOCAL_ID}.`)
  }
  const settings = providers.find(({ name }) => name === parts.provider)
  if (settings === undefined && parts.provider === LOCAL_PROVIDER) {
    return openLocal(parts.model, options)
  }
  if (settings === undefined) {
    const names = [...providers.map(({ name }) => name), LOCAL_PROVIDER].join(', ')
    throw new ModelError(`Unknown provider '${parts.provider}' in ${id}: use one of ${names}.`)
  }
  const make = Object.hasOwn(embeddingWires, settings.type) ? embeddingWires[settings.type] : undefined
  if (make === undefined) {
    const types = Object.keys(embeddingWires).join(', ')
    throw new ModelError(
      `The provider ${parts.provider} (${settings.type}) has no embedding models. Use a provider of type ${types}, or ${LOCAL_ID}.`,
    )
  }
  const wire = await make(settings, { log, clock })
  // Compatible servers may use a known name for another model.
  const dimensions = settings.type === 'openai' && settings.base_url ? undefined : knownDimensions(parts.model)
  return providerEmbedder(settings, parts.model, wire, { log, clock, dimensions, ...(signal && { signal }) })
}

function openLocal(
  model: string,
  { dataFolder: data = dataFolder(process.env), log = silentLog }: OpenEmbedderOptions,
): Embedder {
  if (model !== LOCAL_MODEL) {
    throw new ModelError(`Unknown local embedding model '${model}': use ${LOCAL_ID}.`)
  }
  const found = findLocalModel(data)
  if (found === undefined) {
    throw new ModelError(`The embedding model ${LOCAL_ID} is not installed. Install it: toolyard models add-embeddings`)
  }
  return new LocalEmbedder(found, { log })
}

const DEFAULT_TIMEOUT_MS = 60_000

/** An embedding model of a provider, with timeouts and retries. Embeds a text first if its dimensions are unknown. */
export async function providerEmbedder(
  { name, timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS }: ProviderSettings,
  model: string,
  wire: EmbeddingWire,
  options: ProviderContext & { readonly dimensions: number | undefined; readonly signal?: AbortSignal },
): Promise<Embedder> {
  const { clock, log } = options
  const { batch } = wire
  const id = `${name}:${model}`
  let { dimensions } = options
  const send = async (texts: readonly string[], purpose: EmbeddingPurpose, caller?: AbortSignal) => {
    const timeout = new AbortController()
    const late = `No vectors within ${timeoutMs} ms. Send fewer texts at once, or raise providers.${name}.timeout_ms`
    const cancelTimer = clock.after(timeoutMs, () => timeout.abort(new ModelError(late)))
    const signal = caller ? AbortSignal.any([caller, timeout.signal]) : timeout.signal
    let response: unknown
    // `retrying` expects a stream; this one has no events, so that it can always be repeated.
    const next = async () => {
      response = await wire.embed(model, { texts, purpose, signal })
      return { done: true, value: undefined } as const
    }
    try {
      await retrying(() => ({ [Symbol.asyncIterator]: () => ({ next }) }), {
        clock,
        log,
        budgetMs: timeoutMs,
        signal,
      }).next()
      const vectors = unitVectors(response, { count: texts.length, dimensions })
      dimensions ??= vectors[0]?.length
      return vectors
    } catch (error) {
      throw caller?.aborted ? caller.reason : withModelId(id, error)
    } finally {
      cancelTimer()
    }
  }
  const embedder: Embedder = {
    id,
    batch,
    get dimensions() {
      return dimensions ?? 0
    },
    async embed(texts, purpose, signal) {
      signal?.throwIfAborted()
      requireTexts(texts)
      const sent = texts.map((text) => forPurpose(model, text.toWellFormed(), purpose))
      const vectors: Float32Array[] = []
      for (let at = 0; at < sent.length; at += batch) {
        vectors.push(...(await send(sent.slice(at, at + batch), purpose, signal)))
      }
      return vectors
    },
    async close() {},
  }
  if (dimensions === undefined) await embedder.embed(['dimensions'], 'document', options.signal)
  return embedder
}

interface KnownModel {
  readonly dimensions?: number
  /** The prefixes that the model was trained with. */
  readonly document?: string
  readonly query?: string
}

const PASSAGES = 'Represent this sentence for searching relevant passages: '

/** Known models by name; dimensions only if all variants of the name agree. */
const KNOWN: Readonly<Record<string, KnownModel>> = {
  'text-embedding-3-small': { dimensions: 1536 },
  'text-embedding-3-large': { dimensions: 3072 },
  'text-embedding-ada-002': { dimensions: 1536 },
  'gemini-embedding-001': { dimensions: 3072 },
  'all-minilm': { dimensions: 384 },
  'bge-m3': { dimensions: 1024 },
  'mxbai-embed-large': { dimensions: 1024, query: PASSAGES },
  'nomic-embed-text': { dimensions: 768, document: 'search_document: ', query: 'search_query: ' },
  'snowflake-arctic-embed': { query: PASSAGES },
  embeddinggemma: { dimensions: 768, document: 'title: none | text: ', query: 'task: search result | query: ' },
}

/** Such as `nomic-embed-text` for `nomic-ai/nomic-embed-text:v1.5`. */
function knownModel(model: string): KnownModel {
  const name = ((model.split('/').at(-1) ?? '').split(':')[0] ?? '').toLowerCase()
  return Object.hasOwn(KNOWN, name) ? (KNOWN[name] as KnownModel) : {}
}

export const knownDimensions = (model: string): number | undefined => knownModel(model).dimensions

export const forPurpose = (model: string, text: string, purpose: EmbeddingPurpose): string =>
  `${knownModel(model)[purpose] ?? ''}${text}`
