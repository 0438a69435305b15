import type { Clock } from './clock.ts'
import type { Isolate } from './isolate.ts'
import type { Kind } from './kind.ts'
import type { Log } from './log.ts'
import type { Rates } from './rates.ts'
import type { RecordSink } from './recorder.ts'
import type { ResultCache } from './result-cache.ts'
import type { OnceStore } from './storage/once-store.ts'
import type { Tracer } from './tracer.ts'

export interface ToolExecutorOptions {
  /** Which kind runs which `implementation.type`. */
  readonly kinds: Readonly<Record<string, Kind>>
  /** Where isolated handlers and the exact validator run. */
  readonly isolate?: Isolate
  readonly log?: Log
  readonly clock?: Clock
  readonly defaultTimeoutMs?: number
  /** Who gets the records of calls, besides the executor's own metrics. */
  readonly sinks?: readonly RecordSink[]
  /** Answers only when the record of the call is written, or has been reported as lost. */
  readonly durable?: boolean
  /** What calls are counted by; without it, those of this executor alone. */
  readonly rates?: Rates
  /** Where the answers of writes with an idempotency key are kept; without it, in memory. */
  readonly once?: OnceStore
  /** Where results are kept; without it, in a cache of the executor's own. */
  readonly cache?: ResultCache
  readonly tracer?: Tracer
  /** From 0 to 1: spreads the pauses between attempts. */
  readonly random?: () => number
}
