import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { splitModelId } from '../../models/catalogue/split-model-id.ts'
import { ModelError } from '../../models/model-error.ts'
import { dataFolder } from '../../models/model-files/model-folder.ts'
import type { ProviderSettings, ProviderSurroundings } from '../../models/provider.ts'
import { retrying } from '../../models/retrying.ts'
import { type Embedder, type EmbeddingPurpose, requireTexts, unitVectors } from './embedder.ts'
import { type EmbeddingRequest, type EmbeddingWire, embeddingWires } from './embedding-wires.ts'
import { LocalEmbedder } from './local/local-embedder.ts'
import { findLocalModel, LOCAL_MODEL, LOCAL_PROVIDER } from './local/local-model.ts'

export interface OpenEmbedderOptions extends Partial<ProviderSurroundings> {
  /** The same that models are asked by. */
  readonly providers?: readonly ProviderSettings[]
  /** Where the local model is looked for first. */
  readonly dataFolder?: string
  readonly signal?: AbortSignal
}

const LOCAL_ID = `${LOCAL_PROVIDER}:${LOCAL_MODEL}`

/**
 * Opens an embedding model by `provider:model`, or `local:minilm-l6-v2` for the one that runs on this machine. Rejects
 * with a `ModelError` that says what it lacks. Only a model whose dimensions are not known is asked something for that.
 */
export async function openEmbedder(id: string, options: OpenEmbedderOptions = {}): Promise<Embedder> {
  const { providers = [], log = silentLog, clock = systemClock, signal } = options
  const parts = splitModelId(id)
  if (parts === undefined) {
    throw new ModelError(`'${id}' is no embedding model: it is written provider:model, as in ${LOCAL_ID}.`)
  }
  const settings = providers.find(({ name }) => name === parts.provider)
  if (settings === undefined && parts.provider === LOCAL_PROVIDER) {
    return openLocal(parts.model, options)
  }
  if (settings === undefined) {
    const names = [...providers.map(({ name }) => name), LOCAL_PROVIDER].join(', ')
    throw new ModelError(`There is no provider '${parts.provider}' for ${id} (there are: ${names}).`)
  }
  const make = Object.hasOwn(embeddingWires, settings.type) ? embeddingWires[settings.type] : undefined
  if (make === undefined) {
    const types = Object.keys(embeddingWires).join(', ')
    throw new ModelError(
      `The provider ${parts.provider} (${settings.type}) has no embedding models. Take one of type ${types}, or ${LOCAL_ID}.`,
    )
  }
  const wire = await make(settings, { log, clock })
  // Servers that speak the language of OpenAI may give a known name to another model.
  const dimensions = settings.type === 'openai' && settings.base_url ? undefined : knownDimensions(parts.model)
  return ProviderEmbedder.open(settings, parts.model, wire, { log, clock, dimensions, ...(signal && { signal }) })
}

function openLocal(model: string, { dataFolder: data = dataFolder(), log = silentLog }: OpenEmbedderOptions): Embedder {
  if (model !== LOCAL_MODEL) {
    throw new ModelError(`There is no local embedding model '${model}': there is ${LOCAL_ID}.`)
  }
  const found = findLocalModel(data)
  if (found === undefined) {
    throw new ModelError(`The embedding model ${LOCAL_ID} is not installed. Fetch it: toolyard models add-embeddings`)
  }
  return new LocalEmbedder(found, { log })
}

const DEFAULT_TIMEOUT_MS = 60_000

/** An embedding model of a provider: what stands in front of its wire, the same for all. */
export class ProviderEmbedder implements Embedder {
  readonly id: string
  readonly batch: number
  readonly #provider: string
  readonly #model: string
  readonly #timeoutMs: number
  readonly #wire: EmbeddingWire
  readonly #around: ProviderSurroundings
  #dimensions: number | undefined

  private constructor(
    { name, timeout_ms }: ProviderSettings,
    model: string,
    wire: EmbeddingWire,
    around: ProviderSurroundings,
  ) {
    this.id = `${name}:${model}`
    this.batch = wire.batch
    this.#provider = name
    this.#model = model
    this.#timeoutMs = timeout_ms ?? DEFAULT_TIMEOUT_MS
    this.#wire = wire
    this.#around = around
  }

  /** Opens it; where its dimensions are not known, one text is embedded to find them out. */
  static async open(
    settings: ProviderSettings,
    model: string,
    wire: EmbeddingWire,
    around: ProviderSurroundings & { readonly dimensions: number | undefined; readonly signal?: AbortSignal },
  ): Promise<ProviderEmbedder> {
    const embedder = new ProviderEmbedder(settings, model, wire, around)
    embedder.#dimensions = around.dimensions
    if (around.dimensions === undefined) await embedder.embed(['dimensions'], 'document', around.signal)
    return embedder
  }

  get dimensions(): number {
    return this.#dimensions ?? 0
  }

  async embed(texts: readonly string[], purpose: EmbeddingPurpose, signal?: AbortSignal): Promise<Float32Array[]> {
    signal?.throwIfAborted()
    requireTexts(texts)
    const sent = texts.map((text) => forPurpose(this.#model, text.toWellFormed(), purpose))
    const vectors: Float32Array[] = []
    for (let at = 0; at < sent.length; at += this.batch) {
      vectors.push(...(await this.#ask(sent.slice(at, at + this.batch), purpose, signal)))
    }
    return vectors
  }

  async close(): Promise<void> {}

  async #ask(texts: readonly string[], purpose: EmbeddingPurpose, caller?: AbortSignal): Promise<Float32Array[]> {
    const { clock, log } = this.#around
    const deadline = new AbortController()
    const late = new ModelError(
      `No vectors within ${this.#timeoutMs} ms. Send less at once, or raise providers.${this.#provider}.timeout_ms`,
    )
    const cancelTimer = clock.after(this.#timeoutMs, () => deadline.abort(late))
    const signal = caller ? AbortSignal.any([caller, deadline.signal]) : deadline.signal
    try {
      const asked = new Asked(this.#wire, this.#model, { texts, purpose, signal })
      await retrying(() => asked, { clock, log, budgetMs: this.#timeoutMs, signal }).next()
      const vectors = unitVectors(asked.answer, { count: texts.length, dimensions: this.#dimensions })
      this.#dimensions ??= vectors[0]?.length
      return vectors
    } catch (error) {
      throw caller?.aborted ? caller.reason : named(this.id, error)
    } finally {
      cancelTimer()
    }
  }
}

/** A question in the shape that models are asked in: a stream, here without events, so that it may always be repeated. */
class Asked implements AsyncIterable<never> {
  answer: unknown
  readonly #ask: () => Promise<unknown>

  constructor(wire: EmbeddingWire, model: string, request: EmbeddingRequest) {
    this.#ask = () => wire.embed(model, request)
  }

  [Symbol.asyncIterator](): AsyncIterator<never> {
    return {
      next: async () => {
        this.answer = await this.#ask()
        return { done: true, value: undefined }
      },
    }
  }
}

/** Says which model it was. */
function named(id: string, error: unknown): ModelError {
  if (!(error instanceof ModelError)) return new ModelError(`${id}: the provider failed unexpectedly`, { cause: error })
  const { message, status, retryable, retryAfterMs } = error
  return new ModelError(`${id}: ${message}`, {
    cause: error,
    retryable,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

interface KnownModel {
  readonly dimensions?: number
  /** The prefix that the model was trained with for this purpose. */
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

/** `nomic-ai/nomic-embed-text:v1.5` is known as `nomic-embed-text`. */
function knownModel(model: string): KnownModel {
  const name = ((model.split('/').at(-1) ?? '').split(':')[0] ?? '').toLowerCase()
  return Object.hasOwn(KNOWN, name) ? (KNOWN[name] as KnownModel) : {}
}

/** How many numbers a vector of the model has; undefined where only asking tells. */
export const knownDimensions = (model: string): number | undefined => knownModel(model).dimensions

/** The text as the model was trained to see it. */
export const forPurpose = (model: string, text: string, purpose: EmbeddingPurpose): string =>
  `${knownModel(model)[purpose] ?? ''}${text}`
