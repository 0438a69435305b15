import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type Log, writeLog } from '../../core/log.ts'
import type { Change, StorageStatus } from '../../core/storage/storage.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { CHANGES, ChangeListeners, type StorageOptions } from '../sql/engine.ts'
import type { FromWorker, Level, News, Part, PlainError, Request, WorkerStart } from './messages.ts'

/** The store, or only the searches of an embedded store. */
export type Role = 'storage' | 'search'

const entryOf = (role: Role): URL => new URL(`./${role}-worker${extname(import.meta.filename)}`, import.meta.url)
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
  readonly parts: readonly Part[]
  readonly status: StorageStatus
}

/** The thread of the store. It is restarted when it ends. */
export class StorageThread {
  readonly #options: StorageOptions
  readonly #log: Log
  readonly #role: Role
  readonly #listeners: ChangeListeners
  readonly #pending = new Map<number, Pending>()
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

  call(part: Request['part'], method: string, args: readonly unknown[]): Promise<unknown> {
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

  #post(worker: Worker, part: Request['part'], method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      try {
        worker.postMessage({ id, part, method, args } satisfies Request)
      } catch {
        const message = `${part}.${method} takes plain data only: numbers, texts, arrays and objects`
        reject(new ToolExecutionError('INVALID_PARAMETERS', message))
        return
      }
      // The thread keeps the process alive only while a request is pending.
      if (this.#pending.size === 0) worker.ref()
      this.#pending.set(id, { resolve, reject })
    })
  }

  #take({ replies, changes, logs }: News): void {
    for (const { level, fields, message } of logs) writeLog(this.#log, level, fields, message)
    for (const reply of replies) {
      const pending = this.#pending.get(reply.id)
      this.#pending.delete(reply.id)
      if ('error' in reply) pending?.reject(thrown(reply.error))
      else pending?.resolve(reply.value)
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
    for (const { reject } of all) reject(new ToolExecutionError('SERVICE_UNAVAILABLE', message))
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

const THREAD_ENDED = 'The store is not there at the moment: its thread ended and is being started again'

const refused = (message: string): Promise<never> =>
  Promise.reject(new ToolExecutionError('SERVICE_UNAVAILABLE', message))

const thrown = ({ code, message }: PlainError): Error => new ToolExecutionError(code, message)
