import type { CallContext } from '../../core/call-context.ts'
import { Cancellation } from '../../core/cancellation.ts'
import type { CallerRate, RateState } from '../../core/rates.ts'

type Of<Name extends keyof CallContext> = NonNullable<CallContext[Name]>

/** The context of one call over HTTP: its caller's, what the request adds to it, and how the caller's limit stands. */
export class RestContext implements CallContext {
  readonly source = 'rest'
  readonly tenant: Of<'tenant'>
  readonly caller: Of<'caller'>
  readonly flags: Of<'flags'>
  rates?: readonly CallerRate[]
  /** Calls it off, when the client hangs up or the server has to end. */
  readonly signal = new Cancellation()
  timeoutMs?: number
  idempotencyKey?: string
  traceparent?: string
  report?: (progress: unknown) => void
  rate: CallerRate | undefined = undefined
  rateState: RateState | undefined = undefined

  constructor(ofCaller: CallContext) {
    this.tenant = ofCaller.tenant as string
    this.caller = ofCaller.caller as string
    this.flags = ofCaller.flags as Of<'flags'>
    if (ofCaller.rates !== undefined) this.rates = ofCaller.rates
  }

  onRate(state: RateState, rate: CallerRate): void {
    this.rateState = state
    this.rate = rate
  }
}
