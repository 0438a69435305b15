import type { Agent } from 'undici'
import { DeadlineWheel } from '../../core/deadline-wheel.ts'
import { AccessTokens } from './auth/access-tokens.ts'
import type { HttpParts } from './http-parts.ts'
import { guardedAgent } from './network/guarded-agent.ts'
import { NetworkRules } from './network/network-rules.ts'

/** What the HTTP tools of an installation share: their connections, the rules for them, and their tokens. */
export class HttpClient {
  readonly parts: HttpParts
  readonly rules: NetworkRules
  readonly agent: Agent
  readonly wheel: DeadlineWheel
  readonly tokens: AccessTokens

  constructor(parts: HttpParts) {
    this.parts = parts
    this.rules = new NetworkRules(parts.settings)
    this.agent = guardedAgent(this.rules.addresses, { clock: parts.clock })
    this.wheel = new DeadlineWheel(parts.clock)
    this.tokens = new AccessTokens(parts.clock)
  }

  /** Lets go of all connections. */
  async close(): Promise<void> {
    await this.agent.destroy()
  }
}
