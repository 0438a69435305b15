import { LRUCache } from 'lru-cache'
import type { CancelSignal } from '../../../core/cancellation.ts'
import type { Clock } from '../../../core/clock.ts'
import type { AccessToken } from './ask-for-token.ts'
import type { OAuthClient } from './oauth-client.ts'

const MOST_CLIENTS = 1_000

/** The tokens of an installation: tools that are the same client use the same ones. */
export class AccessTokens {
  readonly clock: Clock
  readonly #sources = new LRUCache<string, TokenSource>({ max: MOST_CLIENTS })

  constructor(clock: Clock) {
    this.clock = clock
  }

  of({ key }: OAuthClient): TokenSource {
    const source = this.#sources.get(key) ?? new TokenSource(this.clock)
    this.#sources.set(key, source)
    return source
  }
}

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

/** One request that several wait for. Who gives up takes nothing from the others; when the last has, it is called off. */
class SharedRequest<Answer> {
  readonly answer: Promise<Answer>
  readonly #controller = new AbortController()
  #waiting = 0

  constructor(ask: (signal: AbortSignal) => Promise<Answer>) {
    this.answer = ask(this.#controller.signal)
  }

  /** Whether nobody waits any more, so that nobody should join. */
  get isCalledOff(): boolean {
    return this.#controller.signal.aborted
  }

  /** Waits for the answer; rejects with the signal's reason as soon as it aborts. */
  wait(signal: CancelSignal | undefined): Promise<Answer> {
    this.#waiting++
    if (signal === undefined) return this.answer
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        reject(signal.reason)
        if (--this.#waiting === 0) this.#controller.abort(signal.reason)
      }
      signal.addEventListener('abort', leave)
      const stay = (): void => signal.removeEventListener('abort', leave)
      this.answer.finally(stay).then(resolve, reject)
    })
  }
}
