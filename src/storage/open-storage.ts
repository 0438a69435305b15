import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type Log, writeLog } from '../core/log.ts'
import type { KnowledgeStore } from '../core/storage/knowledge-store.ts'
import type { Ledger } from '../core/storage/ledger.ts'
import { CHANGES, type Change, type StorageStatus } from '../core/storage/storage.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import { ChangeListeners, type Storage, type StorageOptions } from './sql/engine.ts'
import type { FromWorker, Level, Methods, News, PlainError, Request, WorkerStart } from './worker/messages.ts'
import { packCalls } from './worker/packed-calls.ts'

/** Opens the store in its own thread, so that it never blocks the calling thread. */
export async function openStorage(options: StorageOptions, { log }: { readonly log: Log }): Promise<Storage> {
  const thread = new StorageThread(options, log)
  const { methods } = await thread.start()
  const partOf = (part: string, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, (...args: readonly unknown[]) => thread.call(part, name, args)]))
  const parts = Object.fromEntries(Object.entries(methods).map(([part, names]) => [part, partOf(part, names)]))
  const stores = parts as unknown as Storage
  // PostgreSQL searches without blocking writes.
  const search = options.url === undefined ? new SearchThread(options, log) : undefined
  return {
    ...stores,
    ledger: {
      ...stores.ledger,
      async append(...[calls, runs, events = [], turns = []]: Parameters<Ledger['append']>) {
        await thread.call('ledger', 'append', [packCalls(calls), runs, events, turns])
      },
    },
    knowledge: {
      ...stores.knowledge,
      ...(search && { byText: (query) => search.byText(query), byVector: (query) => search.byVector(query) }),
    },
    onChange: (listener) => thread.onChange(listener),
    status: () => thread.status(),
    async close() {
      await search?.close()
      await thread.close()
    },
  }
}

type TextQuery = Parameters<KnowledgeStore['byText']>[0]
type VectorQuery = Parameters<KnowledgeStore['byVector']>[0]

/**
 * A second thread for searches in the embedded store: a search in a large collection takes as long as a hundred
 * writes. It starts with the first search.
 */
class SearchThread implements Pick<KnowledgeStore, 'byText' | 'byVector'> {
  readonly #thread: StorageThread
  #started: Promise<unknown> | undefined
  #closed = false

  constructor(options: StorageOptions, log: Log) {
    this.#thread = new StorageThread(options, log, 'search')
  }

  byText(query: TextQuery): ReturnType<KnowledgeStore['byText']> {
    return this.#call('byText', query) as ReturnType<KnowledgeStore['byText']>
  }

  /** Copies the vector: if it is a part of a larger buffer, the whole buffer would be sent. */
  byVector(query: VectorQuery): ReturnType<KnowledgeStore['byVector']> {
    const { vector } = query
    const own = vector instanceof Float32Array ? { ...query, vector: vector.slice() } : query
    return this.#call('byVector', own) as ReturnType<KnowledgeStore['byVector']>
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#started?.catch(() => {})
    await this.#thread.close()
  }

  async #call(method: string, query: TextQuery | VectorQuery): Promise<unknown> {
    // After a failure the next search starts the thread again.
    if (!this.#closed) this.#started ??= this.#thread.start().catch((error: unknown) => this.#failed(error))
    await this.#started
    return this.#thread.call('knowledge', method, [query])
  }

  #failed(error: unknown): never {
    this.#started = undefined
    throw error
  }
}

/** The store, or only the searches of an embedded store. */
type Role = 'storage' | 'search'

const entryOf = (role: Role): URL => new URL(`./worker/${role}-worker${extname(import.meta.filename)}`, import.meta.url)
const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error']
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 30_000
/** After this time the pause before a restart is reset. */
const SOUND_MS = 60_000
const CLOSING_MS = 15_000
const ENDING_MS = 2_000
/** Without a limit the young generation grows to 130 MB, most of it unused. */
const YOUNG_MB = 24

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

interface Started {
  readonly methods: Methods
  readonly status: StorageStatus
}

/** The thread of the store. It is restarted when it ends. */
class StorageThread {
  readonly #options: StorageOptions
  readonly #log: Log
  readonly #role: Role
  readonly #listeners: ChangeListeners
  readonly #pending = new Map<number, { pending: Pending | undefined }>()
  /** The worker, while it answers. */
  #worker: Worker | undefined
  #started: Started | undefined
  #starts = 0
  #pauseMs = FIRST_PAUSE_MS
  #lastId = 0
  #restart: NodeJS.Timeout | undefined
  /** Why there is no worker. */
  #problem = THREAD_ENDED
  #closed: Promise<void> | undefined

  constructor(options: StorageOptions, log: Log, role: Role = 'storage') {
    this.#options = options
    this.#log = log
    this.#listeners = new ChangeListeners(log)
    this.#role = role
  }

  /** Rejects if the store cannot be opened. */
  start(): Promise<Started> {
    const worker = new Worker(entryOf(this.#role), {
      name: `toolyard-${this.#role}`,
      workerData: this.#workerData(),
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
    return new Promise((resolve, reject) => {
      const since = Date.now()
      let cause: unknown
      worker.on('error', (error) => {
        cause = error
      })
      worker.on('messageerror', () => void worker.terminate())
      worker.on('exit', () => {
        if (this.#worker === worker) this.#lost(cause, Date.now() - since)
        else reject(new ToolExecutionError('SERVICE_UNAVAILABLE', 'The storage thread did not start', {}, { cause }))
      })
      worker.on('message', (message: FromWorker) => {
        if (message.type === 'news') this.#take(message)
        else if (message.type === 'failed') {
          reject(thrown(message.error))
          void worker.terminate()
        } else if (this.#closed !== undefined) void worker.terminate()
        else {
          this.#worker = worker
          this.#started = message
          worker.unref()
          resolve(message)
        }
      })
    })
  }

  call(part: string, method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#closed !== undefined) return refused('The store is closed')
    if (this.#worker === undefined) return refused(this.#problem)
    return this.#post(this.#worker, part, method, args)
  }

  onChange(listener: (change: Change) => void): () => void {
    return this.#listeners.add(listener)
  }

  async status(): Promise<StorageStatus> {
    try {
      return (await this.call('storage', 'status', [])) as StorageStatus
    } catch (error) {
      const { engine, vectors } = (this.#started as Started).status
      return { engine, ready: false, problem: (error as Error).message, vectors }
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearTimeout(this.#restart)
    this.#listeners.clear()
    const worker = this.#worker
    if (worker === undefined) return
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    const late = setTimeout(() => void worker.terminate(), CLOSING_MS)
    try {
      await this.#post(worker, 'storage', 'close', [])
    } finally {
      clearTimeout(late)
      this.#worker = undefined
      await ended(worker, exited)
      this.#rejectAll('The store is closed')
    }
  }

  #post(worker: Worker, part: string, method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      try {
        worker.postMessage({ id, part, method, args } satisfies Request)
      } catch {
        const message = `${part}.${method} takes plain data only: numbers, strings, arrays and objects`
        reject(new ToolExecutionError('INVALID_PARAMETERS', message))
        return
      }
      // The thread keeps the process alive only while a request is pending.
      if (this.#pending.size === 0) worker.ref()
      this.#pending.set(id, { pending: { resolve, reject } })
    })
  }

  #take({ replies, changes, logs }: News): void {
    for (const { level, fields, message } of logs) writeLog(this.#log, level, fields, message)
    for (const reply of replies) {
      const request = this.#pending.get(reply.id)
      this.#pending.delete(reply.id)
      if (request?.pending === undefined) continue
      const { resolve, reject } = request.pending
      // Otherwise a discarded table of the map keeps the reply. See `Linked`.
      request.pending = undefined
      if ('error' in reply) reject(thrown(reply.error))
      else resolve(reply.value)
    }
    if (this.#pending.size === 0) this.#worker?.unref()
    for (const change of changes) this.#listeners.tell(change)
  }

  #lost(err: unknown, livedMs: number): void {
    this.#worker = undefined
    this.#problem = THREAD_ENDED
    this.#rejectAll(THREAD_ENDED)
    if (this.#closed !== undefined) return
    if (livedMs >= SOUND_MS) this.#pauseMs = FIRST_PAUSE_MS
    writeLog(this.#log, 'error', { err }, 'The storage thread ended and will be restarted')
    this.#startAgain()
  }

  #startAgain(): void {
    this.#restart = setTimeout(() => {
      this.start().then(
        () => {
          writeLog(this.#log, 'warn', {}, 'The storage thread was restarted')
          // Changes may have been missed.
          for (const change of CHANGES) this.#listeners.tell(change)
        },
        (err: Error) => {
          if (this.#closed !== undefined) return
          this.#problem = err.message
          writeLog(this.#log, 'error', { err }, 'The storage thread could not be restarted. The next attempt follows.')
          this.#startAgain()
        },
      )
    }, this.#pauseMs)
    this.#restart.unref()
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS)
  }

  #rejectAll(message: string): void {
    const all = [...this.#pending.values()]
    this.#pending.clear()
    for (const { pending } of all) pending?.reject(new ToolExecutionError('SERVICE_UNAVAILABLE', message))
  }

  /** Every thread has its own chain and figures: the state of the one before is lost. */
  #workerData(): WorkerStart {
    const { instance } = this.#options
    const nameOf = (start: number) => (start === 1 ? instance : `${instance}.${start}`)
    this.#starts++
    const formerly = Array.from({ length: this.#starts - 1 }, (_, index) => nameOf(index + 1))
    return {
      options: { ...this.#options, instance: nameOf(this.#starts), formerly },
      levels: LEVELS.filter((level) => this.#log.isLevelEnabled(level)),
    }
  }
}

/** Waits for the thread to end by itself, and terminates it only if it does not. */
async function ended(worker: Worker, exited: Promise<void>): Promise<void> {
  const late = setTimeout(() => void worker.terminate(), ENDING_MS)
  await exited
  clearTimeout(late)
}

const THREAD_ENDED = 'The store is unavailable: its thread ended and is restarting'

const refused = (message: string): Promise<never> =>
  Promise.reject(new ToolExecutionError('SERVICE_UNAVAILABLE', message))

const thrown = ({ code, message }: PlainError): Error => new ToolExecutionError(code, message)
