import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type Log, writeLog } from '../../core/log.ts'
import type { EventEntry, TurnEntry } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import type { Change } from '../../core/storage/storage.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Storage, StorageOptions } from '../sql/engine.ts'
import {
  type FromWorker,
  type Level,
  type LogMessage,
  type News,
  type Parts,
  partsOf,
  plainError,
  plainFields,
  type Reply,
  type Request,
  type WorkerStart,
} from './messages.ts'
import { type PackedCalls, unpackCalls } from './packed-calls.ts'

/** A store, or some of its parts. */
export type Served = Pick<Storage, 'onChange' | 'status' | 'close'> & {
  readonly [part in keyof Storage]?: Partial<Storage[part]>
}

/** Opens a store in this worker thread, and answers requests of the thread that started it. */
export async function serveStorage(
  open: (options: StorageOptions, around: { readonly log: Log }) => Promise<Served>,
): Promise<void> {
  const port = parentPort
  if (port === null) throw new Error('serveStorage must run in a worker thread')
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
      // The thread ends when nothing listens any more.
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
    const parts = partsOf(storage)
    storage.onChange((change) => outbox.change(change))
    const call = callsOf(storage, parts)
    port.on('message', (request: Request) => void answer(call, request))
    const methods = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, Object.keys(part)]))
    send({ type: 'ready', methods, status: await storage.status() })
  } catch (error) {
    if (!(error instanceof ToolExecutionError)) writeLog(log, 'error', { err: error }, 'The store could not be opened')
    outbox.flush()
    send({ type: 'failed', error: plainError(error) })
  }
}

function callsOf(storage: Served, parts: Parts): (request: Request) => Promise<unknown> {
  return async ({ part, method, args }) => {
    if (part === 'storage') return method === 'close' ? storage.close() : storage.status()
    if (part === 'ledger' && method === 'append') {
      type Appended = [PackedCalls, readonly StoredRun[], readonly EventEntry[], readonly TurnEntry[]]
      const [calls, ...others] = args as Appended
      return storage.ledger?.append?.(unpackCalls(calls), ...others)
    }
    const known = parts[part]?.[method]
    if (known === undefined) throw new Error(`The store has no method ${part}.${method}`)
    return known(...args)
  }
}

/** Sends everything that one turn of the event loop produced as one message. */
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

/** Replaces a value that cannot be sent by an error, so that the other replies arrive. */
function sendable(reply: Reply): Reply {
  try {
    return structuredClone(reply)
  } catch (error) {
    return { id: reply.id, error: plainError(error) }
  }
}
