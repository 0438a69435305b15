import { describe, test } from 'vitest'

describe('MCP gateway', () => {
  test.todo('[16.1-5] /mcp is an OAuth-protected resource (RFC 9728 metadata, WWW-Authenticate)')
  test.todo(
    '[16.1-6] Tokens of a configured OIDC issuer (auth.oidc {issuer, audience, client_id, client_secret?, tenant_claim, role_claim, roles: {<claim value>: <role>}}, server.public_url) are accepted beside keys, on /mcp, REST and the page',
  )
  test.todo('[16.1-7] A token without the tenant claim or a mapped role is refused')
  test.todo('[16.1-8] installation never comes from a claim unless mapped')
  test.todo('[16.1-9] The page signs in with code flow and PKCE, and the session is on the server')
  test.todo('[16.1-10] Per-user connections: auth: {type: "user_oauth", provider} on HTTP tools and MCP servers')
  test.todo(
    '[16.1-11] A missing connection is CONNECTION_REQUIRED (HTTP 403, the eleventh code) with details.connect_url',
  )
  test.todo(
    '[16.1-12] Tokens of connections are stored encrypted, refreshed once however many calls wait, and revocable (/api/connections)',
  )
  test.todo("[16.1-13] The user is the token's sub or the signed-in page user, else the key itself")
  test.todo('[16.1-14] A key acts for others (Toolyard-User) only with scope act_as')
  test.todo("[16.1-15] OpenAI's user field is never an identity")
  test.todo(
    '[16.1-16] The connect URL works once, for 10 minutes, only for the signed-in user who caused it (state, PKCE, fixed redirect)',
  )
  test.todo('[16.1-17] Without TOOLYARD_ENCRYPTION_KEY (or _FILE) connections are refused, never stored in plain text')
})
