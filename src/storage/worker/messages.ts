import type { Change, Storage, StorageStatus } from '../../core/storage/storage.ts'
import { type ToolErrorCode, ToolExecutionError } from '../../core/tool-result.ts'
import type { StorageOptions } from '../sql/engine.ts'

export interface WorkerStart {
  readonly options: StorageOptions
  /** The enabled log levels. */
  readonly levels: readonly Level[]
}

export type Level = 'debug' | 'info' | 'warn' | 'error'

/** A call of a method of the store. */
export interface Request {
  readonly id: number
  /** `storage` for the methods of the store itself. */
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

/** Everything that one turn of the worker's event loop produced. */
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

/** An error as another thread sees it. Details of unexpected errors are only logged. */
export function plainError(error: unknown): PlainError {
  if (error instanceof ToolExecutionError) return { code: error.code, message: error.message }
  return { code: 'EXECUTION_ERROR', message: 'The store failed: see the server log' }
}

/** The fields of a log line as plain data. */
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

/** A part of a store. */
export type Part = Exclude<keyof Storage, 'onChange' | 'status' | 'close'>

/** The methods that other threads may call. */
export const STORAGE_PARTS: {
  readonly [part in Part]: { readonly [method in keyof Required<Storage>[part]]: true }
} = {
  ledger: {
    append: true,
    audit: true,
    row: true,
    verify: true,
    executions: true,
    models: true,
    callSeries: true,
    runSeries: true,
    parameterSets: true,
    versionCalls: true,
    objectiveCalls: true,
    summary: true,
    expire: true,
  },
  runs: { list: true, get: true, children: true, tenantOf: true, trim: true },
  keys: {
    list: true,
    create: true,
    change: true,
    revoke: true,
    restore: true,
    rotate: true,
    formerSecrets: true,
    users: true,
    putUser: true,
    revokeUser: true,
  },
  sessions: { start: true, get: true, extend: true, end: true },
  settings: { list: true, put: true, putFirst: true, replace: true, remove: true },
  validations: { list: true, record: true, replace: true },
  toolUse: { list: true, add: true, replace: true, doubtful: true },
  once: { claim: true, look: true, settle: true, release: true },
  jobs: { create: true, get: true, tenantOf: true, list: true, take: true, waiting: true, progress: true, end: true },
  chats: { turns: true, add: true, addResponse: true, update: true, remove: true, list: true },
  items: { list: true, get: true, put: true, remove: true },
  pauses: {
    ask: true,
    open: true,
    get: true,
    tenantOf: true,
    list: true,
    countPending: true,
    decide: true,
    saveProgress: true,
    progress: true,
    openProgress: true,
    begin: true,
  },
  durableRuns: {
    create: true,
    get: true,
    tenantOf: true,
    open: true,
    shown: true,
    data: true,
    append: true,
    begin: true,
    end: true,
    cancel: true,
    release: true,
    owned: true,
    due: true,
    take: true,
  },
  knowledge: {
    collections: true,
    collection: true,
    open: true,
    put: true,
    document: true,
    staged: true,
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
  spending: { hold: true, report: true },
  connections: {
    list: true,
    get: true,
    put: true,
    lease: true,
    renew: true,
    release: true,
    remove: true,
    begin: true,
    finish: true,
    sealed: true,
    reseal: true,
  },
}
