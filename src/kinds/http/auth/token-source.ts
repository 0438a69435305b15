import { LRUCache } from 'lru-cache'
import type { CancelSignal } from '../../../core/cancellation.ts'
import type { Clock } from '../../../core/clock.ts'
import type { AccessToken, OAuthClient } from './ask-for-token.ts'

const MAX_CLIENTS = 1_000

/** The tokens of an installation, shared by tools with the same client. */
export class AccessTokens {
  readonly clock: Clock
  readonly #sources = new LRUCache<string, TokenSource>({ max: MAX_CLIENTS })

  constructor(clock: Clock) {
    this.clock = clock
  }

  of({ key }: OAuthClient): TokenSource {
    const source = this.#sources.get(key) ?? new TokenSource(this.clock)
    this.#sources.set(key, source)
    return source
  }
}

const MAX_TENANTS = 1_000

/** The tokens of one client, one per tenant. Callers share a running request. */
class TokenSource {
  readonly #clock: Clock
  readonly #tokens = new LRUCache<string, AccessToken>({ max: MAX_TENANTS })
  readonly #requests = new Map<string, SharedRequest<AccessToken>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  held(tenant: string): AccessToken | undefined {
    const token = this.#tokens.get(tenant)
    return token !== undefined && this.#clock.now() < token.expires ? token : undefined
  }

  /** Requests a token, or joins a running request. Its callers share a failure; later callers retry. */
  async obtain(
    tenant: string,
    ask: (signal: AbortSignal) => Promise<AccessToken>,
    signal: CancelSignal | undefined,
  ): Promise<AccessToken> {
    if (signal?.aborted) throw signal.reason
    const running = this.#requests.get(tenant)
    const request = running === undefined || running.isCancelled ? this.#ask(tenant, ask) : running
    return request.wait(signal)
  }

  /** Drops a refused token, unless it was already replaced. */
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

/** A request with several waiting callers. It is cancelled when the last one gives up. */
class SharedRequest<Answer> {
  readonly answer: Promise<Answer>
  readonly #controller = new AbortController()
  #waiting = 0

  constructor(ask: (signal: AbortSignal) => Promise<Answer>) {
    this.answer = ask(this.#controller.signal)
  }

  get isCancelled(): boolean {
    return this.#controller.signal.aborted
  }

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
