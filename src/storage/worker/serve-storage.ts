import { setImmediate as turn } from 'node:timers/promises'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type Log, writeLog } from '../../core/log.ts'
import type { Ledger } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import type { Change, Storage } from '../../core/storage/storage.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { StorageOptions } from '../engine.ts'
import {
  type FromWorker,
  type Level,
  type LogMessage,
  type News,
  type Part,
  plainError,
  plainFields,
  type Reply,
  type Request,
  STORAGE_PARTS,
  type WorkerStart,
} from './messages.ts'
import { countOf, type PackedCalls, unpackCalls } from './packed-calls.ts'

/** A store, or some of its parts. */
export type Served = Pick<Storage, 'onChange' | 'status' | 'close'> & {
  readonly [part in Part]?: Partial<Required<Storage>[part]>
}

/** Opens a store in this worker thread, and answers what the thread that started it asks. */
export async function serveStorage(
  open: (options: StorageOptions, around: { readonly log: Log }) => Promise<Served>,
): Promise<void> {
  const port = parentPort
  if (port === null) throw new Error('A store is served in a worker thread only')
  const { options, levels } = workerData as WorkerStart
  const outbox = new Outbox(port)
  const line = (level: Level) => (fields: object, message: string) => {
    if (levels.includes(level)) outbox.log({ level, fields: plainFields(fields), message })
  }
  const log: Log = {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    isLevelEnabled: (level) => levels.includes(level as Level),
  }
  const send = (message: FromWorker): void => port.postMessage(message)
  const answer = async (call: (request: Request) => Promise<unknown>, request: Request): Promise<void> => {
    const { id, part, method } = request
    try {
      outbox.reply({ id, value: await call(request) })
      if (part !== 'storage' || method !== 'close') return
      // With nothing left to listen to, the thread ends.
      outbox.flush()
      port.close()
    } catch (error) {
      if (!(error instanceof ToolExecutionError)) {
        writeLog(log, 'error', { err: error, part, method }, 'The store failed')
      }
      outbox.reply({ id, error: plainError(error) })
    }
  }
  try {
    const storage = await open(options, { log })
    const parts = (Object.keys(STORAGE_PARTS) as Part[]).filter((part) => storage[part] !== undefined)
    storage.onChange((change) => outbox.change(change))
    const call = callsOf(storage)
    port.on('message', (request: Request) => void answer(call, request))
    send({ type: 'ready', parts, status: await storage.status() })
  } catch (error) {
    if (!(error instanceof ToolExecutionError)) writeLog(log, 'error', { err: error }, 'The store could not be opened')
    outbox.flush()
    send({ type: 'failed', error: plainError(error) })
  }
}

type Method = (...args: readonly unknown[]) => Promise<unknown>

/** What a request asks for. */
function callsOf(storage: Served): (request: Request) => Promise<unknown> {
  const appends = new AppendQueue({ append: async (...records) => storage.ledger?.append?.(...records) })
  return async ({ part, method, args }) => {
    if (part === 'storage') return method === 'close' ? appends.idle().then(() => storage.close()) : storage.status()
    if (part === 'ledger' && method === 'append') {
      const [calls, runs] = args as [PackedCalls, readonly StoredRun[]]
      return appends.append(calls, runs)
    }
    const target = storage[part] as Readonly<Record<string, Method>> | undefined
    const known = Object.hasOwn(STORAGE_PARTS[part], method) ? target?.[method] : undefined
    if (known === undefined) throw new Error(`${part}.${method} is no method of the store`)
    return known.apply(target, [...args])
  }
}

/** What is written at once must not hold up everything else for long: some 50 ms. */
const MOST_AT_ONCE = 4_096

interface Waiting {
  readonly calls: PackedCalls
  readonly runs: readonly StoredRun[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Writes what came in while the disk was busy at once: one transaction for many batches. */
export class AppendQueue {
  readonly #ledger: Pick<Ledger, 'append'>
  #waiting: Waiting[] = []
  #working: Promise<void> | undefined

  constructor(ledger: Pick<Ledger, 'append'>) {
    this.#ledger = ledger
  }

  append(calls: PackedCalls, runs: readonly StoredRun[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ calls, runs, resolve, reject })
      this.#working ??= this.#work()
    })
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working
  }

  async #work(): Promise<void> {
    // First what else has come in this turn.
    for (await turn(); this.#waiting.length > 0; await turn()) {
      const group = this.#next()
      try {
        await this.#ledger.append(
          group.flatMap(({ calls }) => unpackCalls(calls)),
          group.flatMap(({ runs }) => runs),
        )
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#working = undefined
  }

  #next(): Waiting[] {
    let records = 0
    let end = 0
    for (const { calls, runs } of this.#waiting) {
      records += countOf(calls) + runs.length
      if (end > 0 && records > MOST_AT_ONCE) break
      end++
    }
    const group = this.#waiting.slice(0, end)
    this.#waiting = this.#waiting.slice(end)
    return group
  }
}

/** Sends what comes together in one turn of the worker as one message. */
export class Outbox {
  readonly #port: MessagePort
  #replies: Reply[] = []
  #changes: Change[] = []
  #logs: LogMessage[] = []
  #scheduled = false

  constructor(port: MessagePort) {
    this.#port = port
  }

  reply(reply: Reply): void {
    this.#replies.push(reply)
    this.#schedule()
  }

  change(change: Change): void {
    this.#changes.push(change)
    this.#schedule()
  }

  log(line: LogMessage): void {
    this.#logs.push(line)
    this.#schedule()
  }

  flush(): void {
    this.#scheduled = false
    const news: News = { type: 'news', replies: this.#replies, changes: this.#changes, logs: this.#logs }
    this.#replies = []
    this.#changes = []
    this.#logs = []
    try {
      this.#port.postMessage(news)
    } catch {
      this.#port.postMessage({ ...news, replies: news.replies.map(sendable) })
    }
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }
}

/** One value that is no plain data must not cost the others their answers, nor leave its own asker waiting. */
function sendable(reply: Reply): Reply {
  try {
    return structuredClone(reply)
  } catch (error) {
    return { id: reply.id, error: plainError(error) }
  }
}
