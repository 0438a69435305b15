import { join } from 'node:path'
import type { OAuthDiscoveryState, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import { PrivateFile } from '../private-file.ts'

/** What is kept of the authorization for one server. */
export interface TokenEntry {
  readonly tokens?: StoredOAuthTokens
  /** The client that the tokens were given to; they can be refreshed by no other. */
  readonly client?: StoredOAuthClientInformation
  /** An authorization that was begun, and waits for somebody to open its address. */
  readonly pending?: PendingAuthorization
}

export interface PendingAuthorization {
  /** What to open in a browser. */
  readonly address: string
  readonly state: string
  readonly code_verifier: string
  readonly redirect_url: string
  readonly client: StoredOAuthClientInformation
  /** The client is the configuration's, and is not kept for longer than this. */
  readonly is_configured?: boolean
  /** What it is to give that the tokens we have do not, where we have some. */
  readonly wider_scope?: string
  /** Which authorization server the answer must come from. */
  readonly discovery: OAuthDiscoveryState
}

export type TokenFile = PrivateFile<TokenEntry>

/** `mcp-tokens.json` of the data folder: the tokens of all servers, by their addresses. */
export const tokenFile = (dataFolder: string, clock?: Clock): TokenFile =>
  new PrivateFile(join(dataFolder, 'mcp-tokens.json'), clock)
