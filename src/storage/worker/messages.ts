import type { Change, StorageStatus } from '../../core/storage/storage.ts'
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
  readonly part: string
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

/** The names of the methods of each part. */
export type Methods = Readonly<Record<string, readonly string[]>>

export type FromWorker =
  | News
  | { readonly type: 'ready'; readonly methods: Methods; readonly status: StorageStatus }
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

type Method = (...args: readonly unknown[]) => Promise<unknown>

/** The parts of a store as plain objects of functions. */
export type Parts = Readonly<Record<string, Readonly<Record<string, Method>>>>

/** The parts that a store has, with all methods of each. */
export const partsOf = (storage: object): Parts =>
  Object.fromEntries(
    Object.entries(storage).flatMap(([name, part]) => (typeof part === 'object' ? [[name, methodsOf(part)]] : [])),
  )

function methodsOf(part: Record<string, unknown>): Record<string, Method> {
  const methods: Record<string, Method> = {}
  for (let level = part; level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) {
      const method = part[name]
      if (name !== 'constructor' && typeof method === 'function') methods[name] ??= method.bind(part)
    }
  }
  return methods
}
