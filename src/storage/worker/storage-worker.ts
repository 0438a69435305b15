import { parentPort, workerData } from 'node:worker_threads'
import { type Log, writeLog } from '../../core/log.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import type { Storage } from '../../core/storage/storage.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { AppendQueue } from './append-queue.ts'
import { hostStorage } from './host-storage.ts'
import type { FromWorker, Level, Request, WorkerStart } from './messages.ts'
import { Outbox } from './outbox.ts'
import type { PackedCalls } from './packed-calls.ts'
import { plainError, plainFields } from './plain-error.ts'
import { type Part, STORAGE_PARTS } from './storage-parts.ts'

const port = parentPort
if (port === null) throw new Error('storage-worker runs in a worker thread only')
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

try {
  const storage = await hostStorage(options, { log })
  const parts = (Object.keys(STORAGE_PARTS) as Part[]).filter((part) => storage[part] !== undefined)
  storage.onChange((change) => outbox.change(change))
  const appends = new AppendQueue(storage.ledger)
  port.on('message', (request: Request) => void answer(storage, appends, request))
  send({ type: 'ready', parts, status: await storage.status() })
} catch (error) {
  if (!(error instanceof ToolExecutionError)) writeLog(log, 'error', { err: error }, 'The store could not be opened')
  outbox.flush()
  send({ type: 'failed', error: plainError(error) })
}

async function answer(storage: Storage, appends: AppendQueue, request: Request): Promise<void> {
  const { id, part, method } = request
  try {
    outbox.reply({ id, value: await call(storage, appends, request) })
    if (part === 'storage' && method === 'close') end()
  } catch (error) {
    if (!(error instanceof ToolExecutionError)) writeLog(log, 'error', { err: error, part, method }, 'The store failed')
    outbox.reply({ id, error: plainError(error) })
  }
}

/** With nothing left to listen to, the thread ends. */
function end(): void {
  outbox.flush()
  port?.close()
}

function call(storage: Storage, appends: AppendQueue, { part, method, args }: Request): Promise<unknown> {
  if (part === 'storage') return method === 'close' ? appends.idle().then(() => storage.close()) : storage.status()
  if (part === 'ledger' && method === 'append') {
    const [calls, runs] = args as [PackedCalls, readonly StoredRun[]]
    return appends.append(calls, runs)
  }
  const target = storage[part] as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>
  if (!Object.hasOwn(STORAGE_PARTS[part], method)) throw new Error(`${part}.${method} is no method of the store`)
  return (target[method] as (typeof target)[string]).apply(target, [...args])
}
