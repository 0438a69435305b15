import { LRUCache } from 'lru-cache'
import type { CancelSignal } from '../../../core/cancellation.ts'
import type { Clock } from '../../../core/clock.ts'
import type { AccessToken } from './access-token.ts'
import { SharedRequest } from './shared-request.ts'

const MOST_TENANTS = 1_000

/** The tokens of one client, one for each tenant, each got by one request whoever waits for it. */
export class TokenSource {
  readonly #clock: Clock
  readonly #tokens = new LRUCache<string, AccessToken>({ max: MOST_TENANTS })
  readonly #requests = new Map<string, SharedRequest<AccessToken>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The token of a tenant, if there is one that can still be sent. */
  held(tenant: string): AccessToken | undefined {
    const token = this.#tokens.get(tenant)
    return token !== undefined && this.#clock.now() < token.expires ? token : undefined
  }

  /** Gets a token, or waits with those who are getting it already. A failure is shared by them, and by nobody later. */
  async obtain(
    tenant: string,
    ask: (signal: AbortSignal) => Promise<AccessToken>,
    signal: CancelSignal | undefined,
  ): Promise<AccessToken> {
    if (signal?.aborted) throw signal.reason
    const running = this.#requests.get(tenant)
    const request = running === undefined || running.isCalledOff ? this.#ask(tenant, ask) : running
    return request.wait(signal)
  }

  /** No longer hands out a token that was refused; one that was got since stays. */
  drop(tenant: string, token: AccessToken): void {
    if (this.#tokens.peek(tenant) === token) this.#tokens.delete(tenant)
  }

  #ask(tenant: string, ask: (signal: AbortSignal) => Promise<AccessToken>): SharedRequest<AccessToken> {
    const request = new SharedRequest(ask)
    this.#requests.set(tenant, request)
    const ended = (): void => {
      if (this.#requests.get(tenant) === request) this.#requests.delete(tenant)
    }
    request.answer.then((token) => {
      this.#tokens.set(tenant, token)
      ended()
    }, ended)
    return request
  }
}
