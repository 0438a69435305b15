import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'

/** How far it is; `total` where it is known. */
export interface AddProgress {
  readonly phase: 'fetching' | 'checking'
  readonly bytes: number
  readonly total: number | undefined
}

export interface AddModelOptions {
  readonly dataFolder: string
  /** What the whole file must hash to, in hexadecimal. */
  readonly sha256?: string
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: AddProgress) => void
  readonly log: Log
  readonly clock: Clock
}
