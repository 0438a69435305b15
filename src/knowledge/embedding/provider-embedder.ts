import { ModelError } from '../../models/model-error.ts'
import type { ProviderSettings, ProviderSurroundings } from '../../models/provider.ts'
import { retrying } from '../../models/retrying.ts'
import { type Embedder, type EmbeddingPurpose, requireTexts, unitVectors } from './embedder.ts'
import type { EmbeddingRequest, EmbeddingWire } from './embedding-wires.ts'

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
    const callOff = clock.after(this.#timeoutMs, () => deadline.abort(late))
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
      callOff()
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
  /** What the model was trained to see before a text of this purpose. */
  readonly document?: string
  readonly query?: string
}

const PASSAGES = 'Represent this sentence for searching relevant passages: '

/** What is known of models by their name; sizes only where all variants of the name have the same. */
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
  const name = (model.split('/').at(-1) ?? '').replace(/:.*$/, '').toLowerCase()
  return Object.hasOwn(KNOWN, name) ? (KNOWN[name] as KnownModel) : {}
}

/** How many numbers a vector of the model has; undefined where only asking tells. */
export const knownDimensions = (model: string): number | undefined => knownModel(model).dimensions

/** The text as the model was trained to see it. */
export const forPurpose = (model: string, text: string, purpose: EmbeddingPurpose): string =>
  `${knownModel(model)[purpose] ?? ''}${text}`
