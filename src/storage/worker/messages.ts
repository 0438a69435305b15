import type { Change, Storage, StorageStatus } from '../../core/storage/storage.ts'
import type { ToolErrorCode } from '../../core/tool-error-code.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { StorageOptions } from '../engine.ts'

/** What a worker is started with. */
export interface WorkerStart {
  readonly options: StorageOptions
  /** The levels whose lines are wanted. */
  readonly levels: readonly Level[]
}

export type Level = 'debug' | 'info' | 'warn' | 'error'

/** A method of the store, to be called. */
export interface Request {
  readonly id: number
  /** `storage` for the methods of the whole. */
  readonly part: Part | 'storage'
  readonly method: string
  readonly args: readonly unknown[]
}

export interface PlainError {
  readonly code: ToolErrorCode
  readonly message: string
}

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: PlainError }

export interface LogMessage {
  readonly level: Level
  readonly fields: object
  readonly message: string
}

/** What came together in one turn of the worker. */
export interface News {
  readonly type: 'news'
  readonly replies: readonly Reply[]
  readonly changes: readonly Change[]
  readonly logs: readonly LogMessage[]
}

export type FromWorker =
  | News
  | { readonly type: 'ready'; readonly parts: readonly Part[]; readonly status: StorageStatus }
  | { readonly type: 'failed'; readonly error: PlainError }

/** What a caller in another thread gets to know of an error: of one that is not ours, that there was one. */
export function plainError(error: unknown): PlainError {
  if (error instanceof ToolExecutionError) return { code: error.code, message: error.message }
  return { code: 'EXECUTION_ERROR', message: 'The store failed: look at the log of the server' }
}

/** The fields of a log line as plain data: an error keeps its name, its sentence, its code and where it was thrown. */
export function plainFields(fields: object): object {
  try {
    return JSON.parse(JSON.stringify(fields, (_name, value) => (value instanceof Error ? describe(value) : value)))
  } catch {
    return {}
  }
}

const describe = (error: Error): object => ({
  type: error.name,
  message: error.message,
  ...('code' in error && { code: error.code }),
  stack: error.stack,
  ...(error.cause instanceof Error && { cause: describe(error.cause) }),
})

/** What a store is made of, without what concerns it as a whole. */
export type Part = Exclude<keyof Storage, 'onChange' | 'status' | 'close'>

/** The methods of every part: only these are called from another thread. */
export const STORAGE_PARTS: {
  readonly [part in Part]: { readonly [method in keyof Required<Storage>[part]]: true }
} = {
  ledger: {
    append: true,
    audit: true,
    verify: true,
    executions: true,
    models: true,
    callSeries: true,
    runSeries: true,
    parameterSets: true,
    expire: true,
  },
  runs: { list: true, get: true },
  keys: { list: true, create: true, revoke: true },
  settings: { list: true, put: true, putFirst: true, remove: true },
  validations: { list: true, record: true, replace: true },
  toolUse: { list: true, add: true, replace: true, doubtful: true },
  once: { claim: true, settle: true, release: true },
  jobs: { create: true, get: true, list: true, take: true, waiting: true, progress: true, end: true },
  knowledge: {
    collections: true,
    collection: true,
    open: true,
    put: true,
    document: true,
    remove: true,
    drop: true,
    byText: true,
    byVector: true,
    withoutVector: true,
    setVectors: true,
    knownVectors: true,
    keepVectors: true,
    sweep: true,
  },
  leases: { lease: true, company: true },
  cache: { put: true, news: true },
}
