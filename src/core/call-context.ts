import type { CancelSignal } from './cancellation.ts'
import type { CallerRate, RateState } from './rates.ts'

/** Who calls, with what rights and what patience. Everything is optional: the default is the local caller. */
export interface CallContext {
  readonly tenant?: string
  readonly caller?: string
  /** Permissions and tools by name, as the tenant has them. */
  readonly flags?: Readonly<Record<string, boolean>>
  /** Only these tools exist for this caller; absent: all. */
  readonly visible?: ReadonlySet<string>
  readonly signal?: CancelSignal
  /** This call's deadline, clamped to 1 s … 60 s; a job's is taken as it is. */
  readonly timeoutMs?: number
  /** Which door the call came through. */
  readonly source?: 'code' | 'cli' | 'rest' | 'mcp' | 'loop' | 'job'
  /** The conversation that this call is part of. */
  readonly runId?: string
  /** The model that asks for the call, as `provider:model`. */
  readonly model?: string
  /** What the caller's calls are counted against, besides the limits of the tool. */
  readonly rates?: readonly CallerRate[]
  /** Told how the first of `rates` stands, and of the limit that refuses a call. */
  readonly onRate?: (state: RateState, rate: CallerRate) => void
  /** A repeat with the same key gets the answer of the first call, which is not run again. */
  readonly idempotencyKey?: string
  /** The W3C trace context that the call belongs to. */
  readonly traceparent?: string
  readonly report?: (progress: unknown) => void
}
