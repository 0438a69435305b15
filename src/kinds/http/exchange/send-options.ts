import type { Dispatcher } from 'undici'
import type { CancelSignal } from '../../../core/cancellation.ts'
import type { Clock } from '../../../core/clock.ts'
import type { DeadlineWheel } from '../../../core/deadline-wheel.ts'
import type { ToolNetwork } from '../network/network-rules.ts'
import type { SecretValues } from '../secret-values.ts'

/** Over what a request goes, and within which bounds. */
export interface SendOptions {
  readonly agent: Dispatcher
  /** Asked before each redirect; the request itself goes to the tool's own URL, which was looked at with the tool. */
  readonly network: ToolNetwork
  readonly wheel: DeadlineWheel
  readonly clock: Clock
  /** For all of it, redirects included. */
  readonly timeoutMs: number
  /** Until the headers of an answer are there, of each request by itself. */
  readonly firstByteTimeoutMs?: number | undefined
  /** Of a body, as it is sent and as it is when inflated. */
  readonly maxBytes: number
  readonly signal: CancelSignal | undefined
  readonly tool: string
  /** What an error must not bring to light; a service chooses where it redirects to. */
  readonly secrets?: SecretValues | undefined
}
