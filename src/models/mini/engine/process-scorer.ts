import type { Log } from '../../../core/log.ts'
import { ModelError } from '../../model-error.ts'
import type { Pair, PairScore, PairScorer } from './pair-scorer.ts'
import { ScorerProcess, type ScorerProcessOptions } from './scorer-process.ts'

/** Pairs that the process gets at once: it cannot be stopped in between. */
const BATCH = 16
/** How many pairs may wait: some seconds of work. */
const MOST_WAITING = 2_000
/** One batch takes a second at most, loading some seconds on a machine under load. */
const BATCH_MS = 60_000
/** A process without work ends: it holds 300 MB, and is back in a second. */
const IDLE_MS = 600_000

export interface ProcessScorerOptions extends ScorerProcessOptions {
  /** What it is called in messages. */
  readonly name: string
  readonly log: Log
  readonly idleMs?: number
  readonly program?: string
}

/** Pairs that somebody waits for, in the order of their places in the answer. */
interface Request {
  readonly scores: PairScore[]
  left: number
  resolve(scores: PairScore[]): void
  reject(error: unknown): void
}

interface Work {
  readonly pair: Pair
  readonly request: Request
  readonly place: number
  /** Its process ended under it, and it was tried again. */
  retried: boolean
}

/** Scores pairs in one process of its own, which starts with the first pair; requests of all runs share batches. */
export class ProcessScorer implements PairScorer {
  readonly #options: ProcessScorerOptions
  #process: ScorerProcess | undefined
  #loaded = false
  #waiting: Work[] = []
  #batch: readonly Work[] = []
  #id = 0
  #timer: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined
  #whenGone = (): void => {}

  constructor(options: ProcessScorerOptions) {
    this.#options = options
  }

  /** The process, where there is one now. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  async score(pairs: readonly Pair[], signal?: AbortSignal): Promise<PairScore[]> {
    signal?.throwIfAborted()
    if (this.#closing !== undefined) throw new ModelError(`The model ${this.#options.name} is closed.`)
    if (pairs.length === 0) return []
    if (this.#waiting.length + pairs.length > MOST_WAITING) {
      throw new ModelError(`Too much waits for ${this.#options.name} already. Ask again later.`, { retryable: true })
    }
    let request: Request | undefined
    let abort = (): void => {}
    try {
      return await new Promise<PairScore[]>((resolve, reject) => {
        const asked: Request = { scores: [], left: pairs.length, resolve, reject }
        request = asked
        abort = () => reject(signal?.reason)
        signal?.addEventListener('abort', abort, { once: true })
        this.#waiting.push(...pairs.map((pair, place) => ({ pair, request: asked, place, retried: false })))
        this.#pump()
      })
    } finally {
      signal?.removeEventListener('abort', abort)
      // What nobody waits for any more is not begun; what has begun ends by itself.
      this.#waiting = this.#waiting.filter((work) => work.request !== request)
    }
  }

  /** Ends the process; what waits for it fails. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#failAll(new ModelError(`The model ${this.#options.name} is closed.`))
      clearTimeout(this.#timer)
      if (this.#process === undefined) return resolve()
      this.#whenGone = resolve
      this.#process.needed = true
      this.#process.end()
    })
    return this.#closing
  }

  #pump(): void {
    if (this.#waiting.length === 0 || this.#batch.length > 0 || this.#closing !== undefined) return
    if (this.#process === undefined) this.#start()
    else if (this.#loaded) this.#send(this.#process)
  }

  #send(process: ScorerProcess): void {
    this.#batch = this.#waiting.splice(0, BATCH)
    process.score(
      ++this.#id,
      this.#batch.map(({ pair }) => pair),
    )
    this.#guard(process)
  }

  /** A process that hangs is ended, and what it worked on tried again with the next. */
  #guard(process: ScorerProcess): void {
    clearTimeout(this.#timer)
    process.needed = true
    this.#timer = setTimeout(() => process.end(), BATCH_MS)
  }

  #rest(process: ScorerProcess): void {
    clearTimeout(this.#timer)
    process.needed = false
    this.#timer = setTimeout(() => process.end(), this.#options.idleMs ?? IDLE_MS).unref()
  }

  #start(): void {
    const { name, log, program } = this.#options
    const process: ScorerProcess = new ScorerProcess(
      this.#options,
      {
        loaded: () => {
          this.#loaded = true
          if (this.#waiting.length > 0) this.#pump()
          else this.#rest(process)
        },
        scored: (id, scores) => this.#scored(process, id, scores),
        failed: (message) => {
          log.error({ model: name, detail: message }, 'the model in the box could not be used')
          this.#failAll(
            new ModelError(`The model ${name} could not be used: its files are damaged. Install Toolyard again.`),
          )
          process.end()
        },
        gone: (how) => this.#gone(how),
      },
      program,
    )
    this.#process = process
    this.#loaded = false
    this.#guard(process)
  }

  #scored(process: ScorerProcess, id: number, scores: readonly PairScore[]): void {
    if (id !== this.#id) return
    const batch = this.#batch
    this.#batch = []
    for (const [index, { request, place }] of batch.entries()) {
      request.scores[place] = scores[index] as PairScore
      if (--request.left === 0) request.resolve(request.scores)
    }
    if (this.#waiting.length > 0) this.#send(process)
    else this.#rest(process)
  }

  #gone(how: string): void {
    clearTimeout(this.#timer)
    this.#process = undefined
    const early = !this.#loaded
    const batch = this.#batch
    this.#batch = []
    if (this.#closing !== undefined) {
      this.#whenGone()
      return
    }
    // Where it did not even load, everything that waits has had its try.
    const tried = early ? [...batch, ...this.#waiting.splice(0)] : batch
    if (tried.length === 0) return
    const { name, log } = this.#options
    log.warn({ model: name, detail: how }, 'the process of the model in the box ended')
    const lost = new ModelError(`The process of ${name} ended before it answered. Ask again.`, { retryable: true })
    for (const work of tried) if (work.retried) work.request.reject(lost)
    const again = tried.filter(({ retried }) => !retried)
    for (const work of again) work.retried = true
    this.#waiting.unshift(...again)
    this.#pump()
  }

  #failAll(error: ModelError): void {
    for (const { request } of [...this.#batch, ...this.#waiting]) request.reject(error)
    this.#waiting = []
    this.#batch = []
  }
}
