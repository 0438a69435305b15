import { parentPort, workerData } from 'node:worker_threads'
import { type Log, writeLog } from '../../core/log.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import type { Storage } from '../../core/storage/storage.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { StorageOptions } from '../storage-options.ts'
import { AppendQueue } from './append-queue.ts'
import type { FromWorker, Level, Request, WorkerStart } from './messages.ts'
import { Outbox } from './outbox.ts'
import type { PackedCalls } from './packed-calls.ts'
import { plainError, plainFields } from './plain-error.ts'
import { type Part, STORAGE_PARTS } from './storage-parts.ts'

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
