import type { AuthProvider, FetchLike } from '@modelcontextprotocol/client'

/** Where the tokens for a server come from. */
export interface TokenSupply extends AuthProvider {
  /** Sends requests to the server, and helps those that it refuses for their token. */
  readonly fetch: FetchLike
}
