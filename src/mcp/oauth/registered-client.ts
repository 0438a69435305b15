import type { OAuthDiscoveryState, StoredOAuthClientInformation } from '@modelcontextprotocol/client'
import type { OAuthClientSettings } from '../client/server-settings.ts'
import { AuthorizationFailure } from './authorization-failure.ts'

/** The client of a configuration, as the SDK takes it: with the authorization server that it is for. */
export const registeredClient = (
  { clientId, clientSecret, issuer }: OAuthClientSettings,
  found: string | undefined,
): StoredOAuthClientInformation => ({
  client_id: clientId,
  ...(clientSecret !== undefined && { client_secret: clientSecret }),
  // The two have been compared, and may differ by a slash.
  ...((found ?? issuer) !== undefined && { issuer: found ?? issuer }),
})

/** A client that was registered with one authorization server is not shown to another that the server names. */
export function checkIssuer(
  server: string,
  client: OAuthClientSettings | undefined,
  discovery: OAuthDiscoveryState,
): void {
  if (client?.issuer === undefined || bare(client.issuer) === bare(issuerOf(discovery))) return
  throw new AuthorizationFailure(server, `its authorization server is not the issuer in mcpServers.${server}.oauth`)
}

/** What an authorization server calls itself. */
export const issuerOf = ({ authorizationServerMetadata, authorizationServerUrl }: OAuthDiscoveryState): string =>
  authorizationServerMetadata?.issuer ?? authorizationServerUrl

const bare = (address: string): string => address.replace(/\/$/, '')
