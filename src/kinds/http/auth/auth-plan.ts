import type { CancelSignal } from '../../../core/cancellation.ts'
import type { OutgoingRequest } from '../outgoing-request.ts'
import type { SecretValues } from '../secret-values.ts'

/** How the requests of one tool show who they are from. */
export interface AuthPlan {
  /**
   * The request with what shows who it is from. Waits only where a token must be got first, and then no longer than
   * the signal allows.
   */
  apply(request: OutgoingRequest, tenant: string, signal?: CancelSignal): OutgoingRequest | Promise<OutgoingRequest>
  /** What the answer to a request that was sent must not bring to light. */
  secretsOf(sent: OutgoingRequest): SecretValues
  /**
   * Told that the service answered 401 to what was sent: whether the same request should be made once more, since it
   * would now show something else.
   */
  refused(sent: OutgoingRequest, tenant: string): boolean
}
