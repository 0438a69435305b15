import type { CallContext } from '../call-context.ts'

/** The user of a call: whom it acts for, otherwise the caller. */
export type AccountUser = Pick<CallContext, 'tenant' | 'caller' | 'user'>

/** The accounts that users have connected at providers. */
export interface UserAccounts {
  /** Why tools at this address can't use accounts of a provider. */
  problem(provider: string, url: URL | null): string | undefined
  /** Rejects with CONNECTION_REQUIRED if the user has to connect an account first. */
  require(provider: string, user: AccountUser, tool: string): Promise<void>
  /** An access token. `refused` is one that the service no longer accepts. Rejects like `require`. */
  token(provider: string, user: AccountUser, tool: string, refused?: string): Promise<string>
}

/** Why calls can't use accounts without a server. */
export const NO_ACCOUNTS = 'It uses accounts of users, which need an installation: run it with "toolyard serve"'
