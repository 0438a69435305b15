import type { Change, StorageStatus } from '../../core/storage/storage.ts'
import type { ToolErrorCode } from '../../core/tool-error-code.ts'
import type { StorageOptions } from '../storage-options.ts'
import type { Part } from './storage-parts.ts'

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
