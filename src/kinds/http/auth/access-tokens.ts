import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../core/clock.ts'
import type { OAuthClient } from './oauth-client.ts'
import { TokenSource } from './token-source.ts'

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
