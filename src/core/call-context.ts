import type { CancelSignal } from './cancellation.ts'

/** Who calls, with what rights and what patience. Everything is optional: the default is the local caller. */
export interface CallContext {
  readonly tenant?: string
  readonly caller?: string
  /** Permissions and tools by name, as the tenant has them. */
  readonly flags?: Readonly<Record<string, boolean>>
  /** Only these tools exist for this caller; absent: all. */
  readonly visible?: ReadonlySet<string>
  readonly signal?: CancelSignal
  /** This call's deadline, clamped to 1 s … 60 s. */
  readonly timeoutMs?: number
  /** Which door the call came through. */
  readonly source?: 'code' | 'cli' | 'rest' | 'mcp' | 'loop'
  /** The conversation that this call is part of. */
  readonly runId?: string
  readonly report?: (progress: unknown) => void
}
