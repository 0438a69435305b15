import { ALIVE_MS, type StorageOptions } from '../storage-options.ts'

/** Who this process is to the others. */
export interface Presence {
  readonly instance: string
  /** All names that it has had, the one it has now first. */
  readonly names: readonly string[]
  /** After so long without a sign a server counts as dead. */
  readonly aliveMs: number
  /** How often it gives one. */
  readonly beatMs: number
}

export const presenceOf = ({ instance, formerly = [], aliveMs = ALIVE_MS }: StorageOptions): Presence => ({
  instance,
  names: [instance, ...formerly],
  aliveMs,
  beatMs: aliveMs / 5,
})
