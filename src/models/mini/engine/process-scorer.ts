import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../../core/log.ts'
import { ToolExecutionError } from '../../../core/tool-execution-error.ts'
import { ProcessPool } from '../../../isolation/process-pool.ts'
import { ModelError } from '../../model-error.ts'
import type { Packages } from './find-packages.ts'
import type { Pair, PairScore, PairScorer } from './pair-scorer.ts'

/** Pairs per call of the process, which can't be stopped in between. */
const BATCH = 16
/** Limit for waiting pairs: some seconds of work. */
const MAX_WAITING = 2_000
/** A batch takes a second at most, loading the model some seconds on a machine under load. */
const BATCH_TIMEOUT_MS = 60_000
/** An idle process ends: it holds 300 MB, and starts again in a second. */
const IDLE_MS = 600_000
const MEMORY_MB = 512

const MODULE = new URL(`./score-pairs${extname(import.meta.filename)}`, import.meta.url).href
/** The weights that come with Toolyard. */
export const WEIGHTS = join(import.meta.dirname, '..', '..', '..', '..', 'mini')

export interface ProcessScorerOptions {
  readonly packages: Packages
  readonly weights?: string
  /** The name of the model in messages. */
  readonly name: string
  readonly log: Log
  readonly idleMs?: number
}

/** Scores pairs in a child process, which starts with the first pair. Requests take turns, batch by batch. */
export class ProcessScorer implements PairScorer {
  readonly #options: ProcessScorerOptions
  readonly #pool: ProcessPool
  #waiting = 0
  #requests = 0
  #closed = false

  constructor(options: ProcessScorerOptions) {
    const { packages, weights = WEIGHTS, idleMs = IDLE_MS, log } = options
    const urls = [...packages.runtimes, packages.tokenizers]
    this.#options = options
    this.#pool = new ProcessPool({
      size: 1,
      spare: false,
      memoryMb: MEMORY_MB,
      queue: MAX_WAITING,
      read: [weights, ...urls.map((url) => dirname(fileURLToPath(url)))],
      trusted: true,
      tries: 2,
      killOnAbort: false,
      callTimeoutMs: BATCH_TIMEOUT_MS,
      idleMs,
      log,
    })
  }

  /** The child process, if there is one. */
  get pid(): number | undefined {
    return this.#pool.pids[0]
  }

  async score(pairs: readonly Pair[], signal?: AbortSignal): Promise<PairScore[]> {
    const { name } = this.#options
    signal?.throwIfAborted()
    if (this.#closed) throw this.#closedError()
    if (this.#waiting + pairs.length > MAX_WAITING) {
      throw new ModelError(`Too much waits for ${name} already. Ask again later.`, { retryable: true })
    }
    const request = String(this.#requests++)
    this.#waiting += pairs.length
    // The first failure drops the batches of the request that still wait.
    const controller = new AbortController()
    const stop = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
    try {
      const batches: Promise<PairScore[]>[] = []
      for (let at = 0; at < pairs.length; at += BATCH) {
        batches.push(this.#batch(pairs.slice(at, at + BATCH), request, stop))
      }
      return (await Promise.all(batches)).flat()
    } finally {
      controller.abort()
      this.#waiting -= pairs.length
    }
  }

  /** Ends the process; waiting requests fail. */
  close(): Promise<void> {
    this.#closed = true
    return this.#pool.close()
  }

  async #batch(pairs: readonly Pair[], request: string, signal: AbortSignal): Promise<PairScore[]> {
    const { packages, weights = WEIGHTS, name, log } = this.#options
    const task = {
      tool: name,
      module: MODULE,
      export: 'scorePairs',
      params: { packages, weights, pairs },
      tenant: request,
      flags: {},
      report: () => {},
      log,
      started: false,
    }
    try {
      return (await this.#pool.run(task, signal)) as PairScore[]
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (this.#closed) throw this.#closedError()
      const detail = error instanceof Error ? error.message : String(error)
      if (error instanceof ToolExecutionError) {
        log.warn({ model: name, detail }, 'The process of the built-in model ended')
        throw new ModelError(`The process of ${name} ended before it answered. Ask again.`, { retryable: true })
      }
      log.error({ model: name, detail }, 'The built-in model could not be used')
      throw new ModelError(`The model ${name} could not be used: its files are damaged. Install Toolyard again.`)
    }
  }

  #closedError(): ModelError {
    return new ModelError(`The model ${this.#options.name} is closed.`)
  }
}
