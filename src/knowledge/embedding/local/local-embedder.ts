import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import type { Clock } from '../../../core/clock.ts'
import { type Log, silentLog } from '../../../core/log.ts'
import { ToolExecutionError } from '../../../core/tool-execution-error.ts'
import { IsolatedProcess } from '../../../isolation/isolated-process.ts'
import { MemoryWatch } from '../../../isolation/launch.ts'
import { thrown } from '../../../isolation/protocol.ts'
import { backgroundClock } from '../../../storage/background-clock.ts'
import type { Embedder, EmbeddingPurpose } from '../../embedder.ts'
import { requireTexts } from '../require-texts.ts'
import { unitVectors } from '../unit-vectors.ts'
import {
  LOCAL_DIMENSIONS,
  LOCAL_MAX_CHARACTERS,
  LOCAL_MAX_TOKENS,
  LOCAL_MODEL,
  LOCAL_PROVIDER,
  type LocalModel,
} from './local-model.ts'

/** What a process of its own may hold; it needs 300 MB, most of it outside the heap. */
const MEMORY_MB = 512
/** Processes without work end. */
const IDLE_MS = 60_000
/** One text takes half a second. A process that takes so long hangs. */
const TEXT_MS = 60_000
/** How many texts may wait. */
const MOST_WAITING = 1000
/** No text of the tokens that are looked at is longer, unless it is mostly empty. */
const LONGEST_TEXT = LOCAL_MAX_TOKENS * 40
/** Each takes a core and 300 MB: half of the cores are left to everything else. */
const PROCESSES = Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)))

const MODULE = new URL(`./embed-text${extname(import.meta.filename)}`, import.meta.url).href

export interface LocalEmbedderOptions {
  readonly processes?: number
  readonly clock?: Clock
  readonly log?: Log
}

/** One text on its way: exactly one of the two is called, once. */
interface Work {
  readonly text: string
  resolve(vector: Float32Array): void
  reject(error: unknown): void
  /** Its process ended, and it was tried again. */
  retried: boolean
  /** Nobody waits for it any more. */
  dropped: boolean
}

/**
 * The model that runs on this machine, in processes of its own: it would block our thread for half a second a text.
 * They start with the first text and take one at a time, so that a question need not wait for a whole document.
 */
export class LocalEmbedder implements Embedder {
  readonly id = `${LOCAL_PROVIDER}:${LOCAL_MODEL}`
  readonly dimensions = LOCAL_DIMENSIONS
  readonly batch = 16
  readonly maxCharacters = LOCAL_MAX_CHARACTERS
  readonly #model: LocalModel
  readonly #size: number
  readonly #clock: Clock
  readonly #log: Log
  readonly #processes = new Set<IsolatedProcess>()
  readonly #working = new Map<Work, IsolatedProcess>()
  readonly #watch = new MemoryWatch(() => this.#working.values())
  #queries: Work[] = []
  #documents: Work[] = []
  #failedStarts = 0
  #callOffIdle = (): void => {}
  #closing: Promise<void> | undefined
  #whenEmpty = (): void => {}

  constructor(
    model: LocalModel,
    { processes = PROCESSES, clock = backgroundClock, log = silentLog }: LocalEmbedderOptions = {},
  ) {
    this.#model = model
    this.#size = processes
    this.#clock = clock
    this.#log = log
  }

  /** The processes that exist now. */
  get pids(): number[] {
    return [...this.#processes].flatMap((process) => process.pid ?? [])
  }

  async embed(texts: readonly string[], purpose: EmbeddingPurpose, signal?: AbortSignal): Promise<Float32Array[]> {
    signal?.throwIfAborted()
    requireTexts(texts)
    if (this.#closing !== undefined) throw unavailable('it is closed')
    if (this.#waiting >= MOST_WAITING) {
      throw unavailable(`${this.#waiting} texts already wait for it. Try again later`)
    }
    const works: Work[] = []
    let abort = (): void => {}
    try {
      return await new Promise((resolve, reject) => {
        abort = () => reject(signal?.reason)
        signal?.addEventListener('abort', abort, { once: true })
        const vectors = texts.map(
          (text) =>
            new Promise<Float32Array>((resolve, reject) => {
              works.push({ text, resolve, reject, retried: false, dropped: false })
            }),
        )
        if (purpose === 'query') this.#queries = [...this.#queries, ...works]
        else this.#documents = [...this.#documents, ...works]
        Promise.all(vectors).then(resolve, reject)
        this.#pump()
      })
    } finally {
      signal?.removeEventListener('abort', abort)
      // What nobody waits for any more is not begun; what has begun ends by itself, which is cheaper than a new process.
      for (const work of works) work.dropped = true
      this.#queries = this.#queries.filter((work) => !work.dropped)
      this.#documents = this.#documents.filter((work) => !work.dropped)
      this.#attend()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  get #waiting(): number {
    return this.#queries.length + this.#documents.length
  }

  async #shutDown(): Promise<void> {
    this.#callOffIdle()
    this.#rejectWaiting(unavailable('it is closed'))
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve
    })
    if (this.#processes.size === 0) return
    for (const process of this.#processes) process.hold()
    this.#endAll(unavailable('it is closed'))
    await empty
  }

  #endAll(reason?: ToolExecutionError): void {
    for (const process of this.#processes) if (process.state !== 'ending') process.end(reason)
  }

  /** Gives texts to idle processes, and starts processes as long as there are more texts than of these. */
  #pump(): void {
    for (const process of this.#processes) {
      if (process.state !== 'idle') continue
      const work = this.#queries.shift() ?? this.#documents.shift()
      if (work === undefined) break
      this.#run(process, work)
    }
    const starting = [...this.#processes].filter(({ state }) => state === 'starting').length
    for (let more = this.#waiting - starting; more > 0 && this.#processes.size < this.#size; more--) this.#start()
    this.#attend()
  }

  #run(process: IsolatedProcess, work: Work): void {
    const callOff = this.#clock.after(TEXT_MS, () =>
      process.end(failed(`it took more than ${TEXT_MS / 1000} s for one text`)),
    )
    const over = (): void => {
      callOff()
      this.#working.delete(work)
    }
    this.#working.set(work, process)
    const { engine, weights } = this.#model
    process.run({
      task: {
        tool: this.id,
        module: MODULE,
        export: 'embedText',
        params: { engine, weights, text: work.text.slice(0, LONGEST_TEXT).toWellFormed() },
        tenant: '',
        flags: {},
        report: () => {},
        log: this.#log,
        started: false,
      },
      resolve: (vector) => {
        over()
        try {
          work.resolve(unitVectors([vector], { count: 1, dimensions: this.dimensions })[0] as Float32Array)
        } catch (error) {
          work.reject(failed(thrown(error).message))
        }
      },
      reject: (error) => {
        over()
        this.#failed(work, error)
      },
    })
  }

  /** A text whose process ended under it is tried once more, before all others. */
  #failed(work: Work, error: unknown): void {
    const { message } = thrown(error)
    if (!(error instanceof ToolExecutionError)) {
      this.#log.error({ detail: message }, 'the local embedding model could not be used')
      work.reject(failed('its files are damaged. Fetch them again: toolyard models add-embeddings'))
    } else if (error.extras.outcome === undefined) {
      work.reject(error)
    } else if (work.retried || work.dropped || this.#closing !== undefined) {
      work.reject(failed(message))
    } else {
      this.#log.warn({ detail: message }, 'a process of the local embedding model ended; its text is tried again')
      work.retried = true
      this.#queries.unshift(work)
    }
  }

  #start(): void {
    try {
      const options = { folders: this.#model.folders, memoryMb: MEMORY_MB }
      const process = new IsolatedProcess('', options, {
        idle: () => {
          this.#failedStarts = 0
          this.#pump()
        },
        gone: (stderr) => this.#gone(process, stderr),
        warn: (fields, message) => this.#log.warn(fields, message),
      })
      this.#processes.add(process)
    } catch (error) {
      this.#failedToStart(thrown(error).message)
      setImmediate(() => this.#pump())
    }
  }

  #gone(process: IsolatedProcess, stderr: string): void {
    this.#processes.delete(process)
    if (this.#closing !== undefined) {
      if (this.#processes.size === 0) this.#whenEmpty()
      return
    }
    if (!process.started) this.#failedToStart(stderr)
    this.#pump()
  }

  #failedToStart(detail: string): void {
    this.#log.error({ detail }, 'a process of the local embedding model could not be started')
    if (++this.#failedStarts >= 2) this.#rejectWaiting(failed('its process could not be started'))
  }

  #rejectWaiting(error: ToolExecutionError): void {
    for (const work of [...this.#queries, ...this.#documents]) work.reject(error)
    this.#queries = []
    this.#documents = []
  }

  #attend(): void {
    const busy = this.#working.size + this.#waiting > 0
    this.#watch.active = busy
    this.#callOffIdle()
    if (!busy && this.#processes.size > 0 && this.#closing === undefined) {
      this.#callOffIdle = this.#clock.after(IDLE_MS, () => this.#endAll())
    }
  }
}

const failed = (why: string): ToolExecutionError =>
  new ToolExecutionError('EXECUTION_ERROR', `The local embedding model failed: ${why}`)

const unavailable = (why: string): ToolExecutionError =>
  new ToolExecutionError('SERVICE_UNAVAILABLE', `The local embedding model is not available: ${why}`)
