/** What another server or the command line can change. */
export const CHANGES = ['keys', 'settings', 'validations', 'pauses'] as const
export type Change = (typeof CHANGES)[number]

/** The status of the store, for `/ready` and the web UI. */
export interface StorageStatus {
  readonly engine: 'sqlite' | 'postgres'
  readonly ready: boolean
  /** A message without addresses or secrets. */
  readonly problem?: string
  readonly vectors: boolean
}
