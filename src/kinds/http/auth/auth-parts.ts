import type { SecretValues } from '../secret-values.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { Ask } from './ask-for-token.ts'

/** What authentication needs of its tool and of the installation. */
export interface AuthParts {
  readonly tool: string
  /** Those of the tool: what the authentication must keep secret is added to them. */
  readonly secrets: SecretValues
  /** One for the whole installation. */
  readonly tokens: AccessTokens
  /** Why a URL that the operator wrote may not be asked for, as a sentence; undefined where it may. */
  refusal(url: URL): string | undefined
  /** Sends a request for a token, guarded and bounded like every other. */
  readonly ask: Ask
}
