import type { JobStore } from './job-store.ts'
import type { KeyStore } from './key-store.ts'
import type { KnowledgeStore } from './knowledge-store.ts'
import type { CacheFeed, LeaseStore } from './lease-store.ts'
import type { Ledger } from './ledger.ts'
import type { OnceStore } from './once-store.ts'
import type { RunStore } from './run-store.ts'
import type { SettingStore } from './setting-store.ts'
import type { ToolUseStore } from './tool-use-store.ts'
import type { ValidationStore } from './validation-store.ts'

/** What has been changed in the store by somebody: a server, or the command line. */
export type Change = 'keys' | 'settings' | 'validations' | 'cache'

/** How the store is, for `/ready` and for people. */
export interface StorageStatus {
  readonly engine: 'sqlite' | 'postgres'
  readonly ready: boolean
  /** What is wrong, in a sentence without addresses or secrets. */
  readonly problem?: string
  /** Whether vectors can be kept. */
  readonly vectors: boolean
}

/**
 * Everything that is kept. All values that go in or come out are plain data, since the store may live in another
 * thread. Every question names the tenant that it is asked for: nobody gets another's rows.
 */
export interface Storage {
  readonly ledger: Ledger
  readonly runs: RunStore
  readonly keys: KeyStore
  readonly settings: SettingStore
  readonly validations: ValidationStore
  readonly toolUse: ToolUseStore
  readonly once: OnceStore
  readonly jobs: JobStore
  /** By words only where `StorageStatus.vectors` is false: no collection has an embedder then. */
  readonly knowledge: KnowledgeStore
  /** Only where several servers share the store. */
  readonly leases?: LeaseStore
  /** Only where several servers share the store. */
  readonly cache?: CacheFeed
  /** Calls back within a second of a change, whoever made it; gives the way to stop that. */
  onChange(listener: (change: Change) => void): () => void
  status(): Promise<StorageStatus>
  /** Seals this instance's chain, writes what is left, and lets go. */
  close(): Promise<void>
}
