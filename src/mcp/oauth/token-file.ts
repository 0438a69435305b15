import { join } from 'node:path'
import type { OAuthDiscoveryState, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import { PrivateFile } from '../private-file.ts'

/** The stored authorization for one server. */
export interface TokenEntry {
  readonly tokens?: StoredOAuthTokens
  /** The client that got the tokens: no other client can refresh them. */
  readonly client?: StoredOAuthClientInformation
  /** An authorization that waits for the user. */
  readonly pending?: PendingAuthorization
}

export interface PendingAuthorization {
  /** The address to open in a browser. */
  readonly address: string
  readonly state: string
  readonly code_verifier: string
  readonly redirect_url: string
  readonly client: StoredOAuthClientInformation
  /** Whether the client comes from the configuration; it isn't stored with the tokens. */
  readonly is_configured?: boolean
  /** The requested scope, if there are tokens with a narrower one. */
  readonly wider_scope?: string
  /** The authorization server that the answer must come from. */
  readonly discovery: OAuthDiscoveryState
}

export type TokenFile = PrivateFile<TokenEntry>

/** `mcp-tokens.json` in the data folder: the tokens of all servers, by URL. */
export const tokenFile = (dataFolder: string, clock?: Clock): TokenFile =>
  new PrivateFile(join(dataFolder, 'mcp-tokens.json'), clock)
