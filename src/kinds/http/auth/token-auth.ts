import type { CancelSignal } from '../../../core/cancellation.ts'
import type { OutgoingRequest } from '../outgoing-request.ts'
import { SecretValues } from '../secret-values.ts'
import type { AccessToken } from './access-token.ts'
import { askForToken } from './ask-for-token.ts'
import type { AuthParts } from './auth-parts.ts'
import type { AuthPlan } from './auth-plan.ts'
import type { OAuthClient } from './oauth-client.ts'
import { TokenFailure } from './token-failure.ts'
import type { TokenSource } from './token-source.ts'

/** A request that knows which token it shows. */
interface TokenRequest extends OutgoingRequest {
  readonly token?: AccessToken
}

/** Shows a token that is got with client credentials, and anew when it has run out or was refused. */
export class TokenAuth implements AuthPlan {
  readonly #tool: string
  readonly #source: TokenSource
  readonly #ask: (signal: AbortSignal) => Promise<AccessToken>
  readonly #secrets: SecretValues
  readonly #tokenSecrets = new WeakMap<AccessToken, SecretValues>()

  /** Throws a sentence where tokens may not be asked for. */
  constructor(client: OAuthClient, { tool, secrets, tokens, refusal, ask }: AuthParts) {
    const refused = refusal(client.url)
    if (refused !== undefined) throw new TokenFailure('EXECUTION_ERROR', refused).of(tool)
    this.#tool = tool
    this.#secrets = secrets
    this.#source = tokens.of(client)
    this.#ask = (signal) => askForToken(client, ask, tokens.clock, signal)
  }

  apply(request: OutgoingRequest, tenant: string, signal?: CancelSignal): OutgoingRequest | Promise<OutgoingRequest> {
    const token = this.#source.held(tenant)
    return token === undefined ? this.#applyNew(request, tenant, signal) : withToken(request, token)
  }

  secretsOf(sent: TokenRequest): SecretValues {
    if (sent.token === undefined) return this.#secrets
    const known = this.#tokenSecrets.get(sent.token)
    if (known !== undefined) return known
    // Of this token alone: what is looked for in every answer must not grow with the number of tenants.
    const secrets = new SecretValues([sent.token.value], this.#secrets)
    this.#tokenSecrets.set(sent.token, secrets)
    return secrets
  }

  refused({ token }: TokenRequest, tenant: string): boolean {
    if (token === undefined) return false
    this.#source.drop(tenant, token)
    // One that was got for this very request would only be got again.
    return token.uses > 1
  }

  async #applyNew(request: OutgoingRequest, tenant: string, signal: CancelSignal | undefined): Promise<TokenRequest> {
    try {
      return withToken(request, await this.#source.obtain(tenant, this.#ask, signal))
    } catch (thrown) {
      throw thrown instanceof TokenFailure ? thrown.of(this.#tool) : thrown
    }
  }
}

function withToken(request: OutgoingRequest, token: AccessToken): TokenRequest {
  token.uses++
  return { ...request, headers: { ...request.headers, authorization: token.header }, token }
}
