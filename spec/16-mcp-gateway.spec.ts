import type { Config } from 'toolyard'
import { ToolErrorCode, tool } from 'toolyard'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { browse } from '../src/mcp/oauth/fixtures/authorization-server.ts'
import { POST_HEADERS, statelessMessage } from '../src/mcp/server/fixtures/http-yard.ts'
import { openAccounts, openConnectionServer } from '../src/server/fixtures/open-connections.ts'
import { openIssuer, PUBLIC_URL } from '../src/server/fixtures/open-issuer.ts'
import { serve } from '../src/server/serve.ts'
import { Prometheus } from '../src/telemetry/prometheus.ts'
import { openaiModel, withServer } from './fixtures/server.ts'
import { mock } from './fixtures/tool-manager.ts'

/** A server whose users sign in at a real issuer. */
async function withIssuer(config: Config = {}) {
  const issuer = await openIssuer()
  onTestFinished(() => issuer.close())
  const roles = { owner: { scopes: ['read', 'observe', 'installation'] } } as const
  const server = await withServer([mock('get_weather')], { roles, auth: { oidc: issuer.settings }, ...config })
  issuer.serves(server.url)
  return { ...server, issuer }
}

/** A server whose tools use accounts of users at a real provider. */
async function withConnections(env: Readonly<Record<string, string>> = {}) {
  const accounts = await openAccounts()
  onTestFinished(() => accounts.close())
  const server = await openConnectionServer(accounts, accounts.config(), { env })
  onTestFinished(() => server.close())
  return { accounts, server }
}

describe('MCP gateway', () => {
  test('[16.1-5] /mcp is an OAuth-protected resource (RFC 9728 metadata, WWW-Authenticate)', async () => {
    const { url, ask, post, issuer } = await withIssuer({ server: { public_url: 'https://tools.example.com' } })
    const path = '/.well-known/oauth-protected-resource/mcp'
    const refused = await post('/mcp', {}, { key: null })
    const challenge = `Bearer resource_metadata="https://tools.example.com${path}"`
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, challenge])
    expect((await ask(path, { key: null })).body).toMatchObject({
      resource: 'https://tools.example.com/mcp',
      authorization_servers: [issuer.issuer],
    })
    expect(url).toContain('127.0.0.1')
  })
  test('[16.1-6] Tokens of a configured OIDC issuer (auth.oidc {issuer, audience, client_id, client_secret?, tenant_claim, role_claim, roles: {<claim value>: <role>}}, server.public_url) are accepted beside keys, on /mcp, REST and the page', async () => {
    const { ask, post, execute, key, issuer } = await withIssuer()
    for (const used of [await key('acme', 'user'), issuer.token({ roles: 'staff' })]) {
      const { message, headers } = statelessMessage('tools/list')
      const answers = [
        await execute('get_weather', {}, { key: used }),
        await post('/mcp', message, { key: used, headers: { ...POST_HEADERS, ...headers } }),
        await ask('/v1/models', { key: used }),
        await ask('/api/page/tools', { key: used }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect((await ask('/audit', { key: used })).status).toBe(403)
    }
  })

  test('[16.1-7] A token without the tenant claim or a mapped role is refused', async () => {
    const { ask, issuer } = await withIssuer()
    const status = async (claims: object) => (await ask('/api/tools/list', { key: issuer.token(claims) })).status
    expect(await status({})).toBe(200)
    for (const claims of [{ tenant: undefined }, { tenant: '' }, { roles: undefined }, { roles: ['guests'] }]) {
      expect([claims, await status(claims)]).toEqual([claims, 403])
    }
  })

  test('[16.1-8] installation never comes from a claim unless mapped', async () => {
    const { ask, issuer } = await withIssuer()
    const status = async (roles: readonly string[]) =>
      (await ask('/metrics/tools/execution?tenant=*', { key: issuer.token({ roles }) })).status
    expect(await status(['tool-admins', 'installation', 'owner'])).toBe(403)
    expect(await status(['owners'])).toBe(200)
  })

  test('[16.1-9] The page signs in with code flow and PKCE, and the session is on the server', async () => {
    const { ask, url, issuer, installation } = await withIssuer()
    const started = await ask('/api/session/oidc', { key: null, redirect: 'manual' })
    const [cookie = ''] = started.headers.getSetCookie()
    const asked = new URL(started.headers.get('location') ?? '').searchParams
    expect(Object.fromEntries(asked)).toMatchObject({ response_type: 'code', code_challenge_method: 'S256' })
    const { address } = await browse(started.headers.get('location') ?? '', `${url}/api/session/oidc/callback`)
    const headers = { cookie: cookie.split(';', 1)[0] as string }
    const back = await ask(address.slice(url.length), { key: null, redirect: 'manual', headers })
    const session = back.headers.getSetCookie().find((line) => line.startsWith('toolyard_session=')) ?? ''
    expect(session).toMatch(/^toolyard_session=[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/)
    const own = { key: null, headers: { cookie: session.split(';', 1)[0] as string } }
    expect((await ask('/api/session', own)).body).toMatchObject({ state: 'signed_in', user: 'ada' })
    await installation.reload()
    expect((await ask('/api/tools/list', own)).status).toBe(200)
    await ask('/api/session', { ...own, method: 'DELETE' })
    expect((await ask('/api/tools/list', own)).status).toBe(401)
    expect(issuer.asked('POST /token')).toBe(1)
  })
  test('[16.1-10] Per-user connections: auth: {type: "user_oauth", provider} on HTTP tools and MCP servers', async () => {
    const { server } = await withConnections()
    const registry = server.installation.manager.getRegistry()
    await vi.waitFor(() => expect(registry.get('mcp_whoami')).toBeDefined(), { timeout: 20_000, interval: 20 })
    const key = await server.key('acme')
    await server.connect(key)
    for (const tool of ['whoami', 'mcp_whoami']) {
      const { envelope } = await server.call(key, tool)
      expect([tool, envelope.success, JSON.stringify(envelope)]).toEqual([tool, true, expect.stringContaining('ada')])
    }
  })
  test('[16.1-11] A missing connection is CONNECTION_REQUIRED (HTTP 403, the eleventh code) with details.connect_url', async () => {
    const { server } = await withConnections()
    const { status, envelope } = await server.call(await server.key('acme'))
    expect(status).toBe(403)
    expect(envelope).toMatchObject({
      error_code: 'CONNECTION_REQUIRED',
      details: { connect_url: expect.stringContaining(`${PUBLIC_URL}/connect?link=`) },
    })
    expect(Object.keys(ToolErrorCode)).toHaveLength(11)
  })
  test('[16.1-12] Tokens of connections are stored encrypted, refreshed once however many calls wait, and revocable (/api/connections)', async () => {
    const { server, accounts } = await withConnections()
    const key = await server.key('acme')
    accounts.issuer.state.tokenSeconds = 20
    await server.connect(key)
    accounts.issuer.state.tokenSeconds = 3_600
    const before = accounts.issuer.asked('POST /token')
    const calls = await Promise.all(Array.from({ length: 5 }, () => server.call(key, 'write')))
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(accounts.issuer.asked('POST /token') - before).toBe(1)
    const [stored] = await server.installation.storage.connections.list('acme', undefined, 10)
    expect(stored?.tokens).toMatch(/^sealed\./)
    expect(stored?.tokens).not.toContain(accounts.tokens[0])
    const revoked = await server.ask('/api/connections/octohub', { method: 'DELETE', token: key })
    expect(await revoked.json()).toEqual({ revoked: true })
    expect((await server.call(key)).status).toBe(403)
  })
  test("[16.1-13] The user is the token's sub or the signed-in page user, else the key itself", async () => {
    const { execute, ask, issuer, installation } = await withIssuer()
    const run = tool({
      ...{ name: 'who', description: 'Says who asks', input: { type: 'object' } },
      execute: (_, { user }) => user,
    })
    installation.manager.getRegistry().addAll([run as never])
    expect((await execute('who', {}, { key: issuer.token() })).body.result).toBe('ada')
    const [key] = await installation.storage.keys.list()
    expect((await execute('who')).body.result).toBe(key?.id)
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
    const { rows } = (await ask('/audit?type=call')).body
    expect(rows.map(({ caller }: { caller: string }) => caller)).toEqual([key?.id, 'user:acme/ada'])
  })
  test('[16.1-14] A key acts for others (Toolyard-User) only with scope act_as', async () => {
    const { server, accounts } = await withConnections()
    await server.connect(accounts.issuer.token({ sub: 'carla' }))
    const status = async (role: string) =>
      (await server.call(await server.key('acme', role), 'whoami', { 'toolyard-user': 'carla' })).status
    expect([await status('backend'), await status('admin'), await status('user')]).toEqual([200, 403, 403])
  })
  test("[16.1-15] OpenAI's user field is never an identity", async () => {
    const model = await openaiModel({ call: 'who', args: {} }, 'Done.')
    const { post, issuer, installation } = await withIssuer(model.config)
    const run = tool({
      ...{ name: 'who', description: 'Says who asks', input: { type: 'object' } },
      execute: (_, { user }) => user,
    })
    installation.manager.getRegistry().addAll([run as never])
    const body = { model: 'openai:gpt-4o', user: 'eve', messages: [{ role: 'user', content: 'Who am I?' }] }
    expect((await post('/v1/chat/completions', body, { key: issuer.token() })).status).toBe(200)
    expect(model.told()).toContain('ada')
    expect(model.told()).not.toContain('eve')
  })
  test('[16.1-16] The connect URL works once, for 10 minutes, only for the signed-in user who caused it (state, PKCE, fixed redirect)', async () => {
    const { server } = await withConnections()
    const [ada, bob] = [await server.key('acme'), await server.key('acme')]
    const { envelope } = await server.call(ada)
    const address = new URL((envelope.success || envelope.details?.connect_url) as string)
    const link = address.searchParams.get('link') ?? ''
    expect((await server.start(bob, { link })).status).toBe(403)
    const { url, cookie } = await server.start(ada, { link })
    expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      redirect_uri: `${PUBLIC_URL}/api/connections/octohub/callback`,
    })
    const answer = await server.allow(url)
    expect(await server.finish(answer, 'toolyard_connect=other', ada)).toMatch(/^410 /)
    expect(await server.finish(answer, cookie, ada)).toBe('connected')
    expect((await server.start(ada, { link })).status).toBe(410)
    const { connections, clock } = server.installation
    const later = vi.spyOn(clock, 'wall').mockImplementation(() => Date.now() + 600_000)
    onTestFinished(() => later.mockRestore())
    const { id } = (await server.installation.storage.keys.list()).at(-1) ?? { id: '' }
    const [next] = [await server.call(bob)]
    later.mockImplementation(() => Date.now() + 1_200_001)
    const old = new URL((next.envelope.success || next.envelope.details?.connect_url) as string)
    const started = connections.start('acme', id, { link: old.searchParams.get('link') ?? '' })
    await expect(started).rejects.toThrow('this link has expired')
  })
  test('[16.1-17] Without TOOLYARD_ENCRYPTION_KEY (or _FILE) connections are refused, never stored in plain text', async () => {
    const { server, accounts } = await withConnections({ TOOLYARD_ENCRYPTION_KEY: '' })
    const key = await server.key('acme')
    const { envelope } = await server.call(key)
    expect(envelope).toMatchObject({ success: false, error: expect.stringContaining('set TOOLYARD_ENCRYPTION_KEY') })
    expect((await server.start(key)).url).toBe('')
    expect(await server.installation.storage.connections.list('acme', undefined, 10)).toEqual([])
    expect(accounts.tokens).toEqual([])
    const { installation } = server
    const serving = serve({ installation, host: '127.0.0.1', port: 0, prometheus: new Prometheus(), version: '1' })
    await expect(serving).rejects.toThrow('Connections need an encryption key')
  })
})
