import type { OnceStore } from '../once-store.ts'
import type { ChatStore } from './chat-store.ts'
import type { ConnectionStore } from './connection-store.ts'
import type { DurableRunStore } from './durable-run-store.ts'
import type { ItemStore } from './item-store.ts'
import type { JobStore } from './job-store.ts'
import type { KeyStore, SessionStore } from './key-store.ts'
import type { KnowledgeStore } from './knowledge-store.ts'
import type { LeaseStore } from './lease-store.ts'
import type { Ledger } from './ledger.ts'
import type { PauseStore } from './pause-store.ts'
import type { RunStore } from './run-store.ts'
import type { SettingStore } from './setting-store.ts'
import type { SpendingStore } from './spending-store.ts'
import type { ToolUseStore } from './tool-use-store.ts'
import type { ValidationStore } from './validation-store.ts'

/** A change by another server or the command line. */
export type Change = 'keys' | 'settings' | 'validations' | 'pauses'

/** The status of the store, for `/ready` and the web UI. */
export interface StorageStatus {
  readonly engine: 'sqlite' | 'postgres'
  readonly ready: boolean
  /** A message without addresses or secrets. */
  readonly problem?: string
  readonly vectors: boolean
}

/** Values must be plain data, because the store may run in another thread. Every query for contents names its tenant. */
export interface Storage {
  readonly ledger: Ledger
  readonly runs: RunStore
  readonly keys: KeyStore
  readonly sessions: SessionStore
  readonly settings: SettingStore
  readonly validations: ValidationStore
  readonly toolUse: ToolUseStore
  readonly once: OnceStore
  readonly jobs: JobStore
  readonly chats: ChatStore
  readonly items: ItemStore
  readonly pauses: PauseStore
  readonly durableRuns: DurableRunStore
  readonly spending: SpendingStore
  readonly connections: ConnectionStore
  /** Full text only if `StorageStatus.vectors` is false. */
  readonly knowledge: KnowledgeStore
  readonly leases?: LeaseStore
  /** Calls back within a second of a change by anyone. Returns a function that stops it. */
  onChange(listener: (change: Change) => void): () => void
  status(): Promise<StorageStatus>
  /** Seals this instance's audit chain and writes pending data. */
  close(): Promise<void>
}
