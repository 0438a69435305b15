import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MiniError, type MiniHost, type Worker } from '../base/port.ts'
import type { Packages } from './find-packages.ts'
import type { ReadToolsResult } from './read-tools.ts'
import type { Question, Reading, ToolReader } from './tool-reader.ts'

/** Questions or texts per call of the process, which can't be stopped in between. */
const BATCH = 8
/** Limit for waiting questions and texts. */
const MAX_WAITING = 2_000
/** An idle process ends: it holds 300 MB, and starts again in a second. */
const IDLE_MS = 600_000

const MODULE = new URL(`./read-tools${extname(import.meta.filename)}`, import.meta.url).href
/** The weights that come with the package. */
export const WEIGHTS = join(import.meta.dirname, '..', '..', 'weights')

export interface ProcessReaderOptions {
  readonly packages: Packages
  readonly weights?: string
  readonly host: Pick<MiniHost, 'id' | 'log' | 'startWorker'>
  readonly idleMs?: number
}

/** Runs the model in a child process, which starts with the first question. Requests take turns, batch by batch. */
export class ProcessReader implements ToolReader {
  readonly #options: ProcessReaderOptions
  readonly #worker: Worker
  #waiting = 0
  #requests = 0
  #closed = false

  constructor(options: ProcessReaderOptions) {
    const { packages, weights = WEIGHTS, idleMs = IDLE_MS, host } = options
    const urls = [...packages.runtimes, packages.tokenizers]
    this.#options = options
    this.#worker = host.startWorker({
      name: host.id,
      module: MODULE,
      export: 'readTools',
      read: [weights, ...urls.map((url) => dirname(fileURLToPath(url)))],
      idleMs,
      queue: MAX_WAITING,
    })
  }

  /** The child process, if there is one. */
  get pid(): number | undefined {
    return this.#worker.pid
  }

  async read(questions: readonly Question[], signal?: AbortSignal): Promise<Reading[]> {
    return (await this.#run(questions, (batch) => ({ questions: batch }), signal)).flatMap(({ readings }) => readings)
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<number[][]> {
    return (await this.#run(texts, (batch) => ({ texts: batch }), signal)).flatMap(({ embeddings }) => embeddings)
  }

  async #run<Item>(
    items: readonly Item[],
    params: (batch: readonly Item[]) => object,
    signal?: AbortSignal,
  ): Promise<ReadToolsResult[]> {
    signal?.throwIfAborted()
    if (this.#closed) throw this.#closedError()
    if (this.#waiting + items.length > MAX_WAITING) {
      throw new MiniError(`Too much waits for ${this.#options.host.id} already. Ask again later.`, true)
    }
    const request = String(this.#requests++)
    this.#waiting += items.length
    // The first failure drops the batches of the request that still wait.
    const controller = new AbortController()
    const stop = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
    try {
      const batches: Promise<ReadToolsResult>[] = []
      for (let at = 0; at < items.length; at += BATCH) {
        batches.push(this.#batch(params(items.slice(at, at + BATCH)), request, stop))
      }
      return await Promise.all(batches)
    } finally {
      controller.abort()
      this.#waiting -= items.length
    }
  }

  /** Ends the process; waiting requests fail. */
  close(): Promise<void> {
    this.#closed = true
    return this.#worker.close()
  }

  async #batch(params: object, request: string, signal: AbortSignal): Promise<ReadToolsResult> {
    const { packages, weights = WEIGHTS, host } = this.#options
    try {
      return (await this.#worker.run({ packages, weights, ...params }, request, signal)) as ReadToolsResult
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (this.#closed) throw this.#closedError()
      const detail = error instanceof Error ? error.message : String(error)
      if (this.#worker.ended(error)) {
        host.log.warn({ model: host.id, detail }, 'The process of the built-in model ended')
        throw new MiniError(`The process of ${host.id} ended before it answered. Ask again.`, true)
      }
      host.log.error({ model: host.id, detail }, 'The built-in model could not be used')
      throw new MiniError(`The model ${host.id} could not be used: its files are damaged. Install Toolyard again.`)
    }
  }

  #closedError(): MiniError {
    return new MiniError(`The model ${this.#options.host.id} is closed.`)
  }
}
