import type { OAuthClientProvider, StoredOAuthTokens } from '@modelcontextprotocol/client'
import type { OAuthClientSettings } from '../client/server-settings.ts'
import { MachineProvider } from './machine-provider.ts'
import { OAuthProvider, type OAuthProviderOptions } from './oauth-provider.ts'

/** Where the tokens for one server are kept, and how new ones are got. */
export interface TokenSource {
  tokens(): Promise<StoredOAuthTokens | undefined>
  /** For one authorization or refresh; with a scope, for tokens that give more than those that are there. */
  provider(widerScope?: string): OAuthClientProvider & { readonly address?: string | undefined; isStranger?: boolean }
}

/** Tokens that somebody logs in for: in the file, where all processes find them. */
export const personTokens = (options: Omit<OAuthProviderOptions, 'resume' | 'widerScope'>): TokenSource => ({
  tokens: async () => (await options.file.read(options.url))?.tokens,
  provider: (widerScope) => new OAuthProvider({ ...options, ...(widerScope !== undefined && { widerScope }) }),
})

/** Tokens that the client gets by itself. */
export function machineTokens(name: string, client: OAuthClientSettings): TokenSource {
  const provider = new MachineProvider(name, client)
  return { tokens: async () => provider.tokens(), provider: () => provider }
}
