import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { backgroundClock, type Clock } from '../../core/clock.ts'
import { type Log, silentLog } from '../../core/log.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { thrown } from '../../isolation/protocol.ts'
import { type Embedder, type EmbeddingPurpose, requireTexts, unitVectors } from './embedder.ts'
import {
  LOCAL_DIMENSIONS,
  LOCAL_MAX_CHARACTERS,
  LOCAL_MAX_TOKENS,
  LOCAL_MODEL,
  LOCAL_PROVIDER,
  type LocalModel,
} from './local-model.ts'

/** Heap limit of a process; it needs 300 MB, most of it outside the heap. */
const MEMORY_MB = 512
const IDLE_MS = 60_000
/** A text takes half a second. */
const TEXT_TIMEOUT_MS = 60_000
const MAX_WAITING = 1000
/** The model reads fewer characters, unless the text is mostly blank. */
const MAX_TEXT = LOCAL_MAX_TOKENS * 40
/** Each process takes a core and 300 MB: leave half of the cores free. */
const PROCESSES = Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)))

const MODULE = new URL(`./embed-text${extname(import.meta.filename)}`, import.meta.url).href

export interface LocalEmbedderOptions {
  readonly processes?: number
  readonly clock?: Clock
  readonly log?: Log
}

/**
 * Runs the local model in child processes, because a text takes half a second. Tenants take turns, and so do the queries
 * and documents of each.
 */
export class LocalEmbedder implements Embedder {
  readonly id = `${LOCAL_PROVIDER}:${LOCAL_MODEL}`
  readonly dimensions = LOCAL_DIMENSIONS
  /** The vectors of a batch are kept together, and a text may take seconds. */
  readonly batch = 4
  readonly maxCharacters = LOCAL_MAX_CHARACTERS
  readonly #model: LocalModel
  readonly #log: Log
  readonly #pool: ProcessPool
  /** The texts of each tenant that wait or run. */
  readonly #waiting = new Map<string, number>()
  #closed = false

  constructor(
    model: LocalModel,
    { processes = PROCESSES, clock = backgroundClock, log = silentLog }: LocalEmbedderOptions = {},
  ) {
    this.#model = model
    this.#log = log
    this.#pool = new ProcessPool({
      size: processes,
      share: processes,
      spare: false,
      memoryMb: MEMORY_MB,
      queue: Number.MAX_SAFE_INTEGER,
      read: model.folders,
      tries: 2,
      // Finishing a text is cheaper than starting another process.
      killOnAbort: false,
      callTimeoutMs: TEXT_TIMEOUT_MS,
      idleMs: IDLE_MS,
      clock,
      log,
    })
  }

  get pids(): number[] {
    return this.#pool.pids
  }

  async embed(
    texts: readonly string[],
    purpose: EmbeddingPurpose,
    signal?: AbortSignal,
    tenant = 'local',
  ): Promise<Float32Array[]> {
    signal?.throwIfAborted()
    requireTexts(texts)
    if (this.#closed) throw unavailable('it is closed')
    const waiting = this.#waiting.get(tenant) ?? 0
    if (waiting >= MAX_WAITING) throw unavailable(`${waiting} of your texts already wait for it. Try again later`)
    this.#waiting.set(tenant, waiting + texts.length)
    // The first failure drops the waiting texts.
    const controller = new AbortController()
    const stop = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
    try {
      return await Promise.all(texts.map((text) => this.#embed(text, `${purpose} ${tenant}`, stop)))
    } finally {
      controller.abort()
      const left = (this.#waiting.get(tenant) ?? 0) - texts.length
      if (left > 0) this.#waiting.set(tenant, left)
      else this.#waiting.delete(tenant)
    }
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#pool.close()
  }

  async #embed(text: string, turn: string, signal: AbortSignal): Promise<Float32Array> {
    const { engine, weights } = this.#model
    const task = {
      tool: this.id,
      module: MODULE,
      export: 'embedText',
      params: { engine, weights, text: text.slice(0, MAX_TEXT).toWellFormed() },
      tenant: turn,
      flags: {},
      report: () => {},
      log: this.#log,
      started: false,
    }
    const vector = await this.#pool.run(task, signal).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : this.#failure(error)
    })
    try {
      return unitVectors([vector], { count: 1, dimensions: this.dimensions })[0] as Float32Array
    } catch (error) {
      throw failed(thrown(error).message)
    }
  }

  #failure(error: unknown): ToolExecutionError {
    if (this.#closed) return unavailable('it is closed')
    const { message } = thrown(error)
    if (!(error instanceof ToolExecutionError)) {
      this.#log.error({ detail: message }, 'The local embedding model failed')
      return failed('its files are damaged. Install them again: toolyard models add-embeddings')
    }
    return failed(error.code === 'TIMEOUT' ? `it took more than ${TEXT_TIMEOUT_MS / 1000} s for one text` : message)
  }
}

const failed = (why: string): ToolExecutionError =>
  new ToolExecutionError('EXECUTION_ERROR', `The local embedding model failed: ${why}`)

const unavailable = (why: string): ToolExecutionError =>
  new ToolExecutionError('SERVICE_UNAVAILABLE', `The local embedding model is not available: ${why}`)
