import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Connections } from '../../app/connections/connections.ts'
import { TextSeal } from '../../app/durable/sealed-text.ts'
import { ENCRYPTION_KEY, openAccounts, openConnectionServer } from '../fixtures/open-connections.ts'
import { PUBLIC_URL } from '../fixtures/open-issuer.ts'

let accounts: Awaited<ReturnType<typeof openAccounts>>
let server: Awaited<ReturnType<typeof openConnectionServer>>
beforeAll(async () => {
  accounts = await openAccounts()
  server = await openConnectionServer(accounts)
})
afterAll(async () => {
  await server.close()
  await accounts.close()
})
beforeEach(() => {
  Object.assign(accounts.issuer.state, { user: 'ada', down: false, denies: false, tokenSeconds: 3600 })
  accounts.tokens.length = 0
})

type Elicitation = NonNullable<ClientCapabilities['elicitation']>
const SOON = { timeout: 20_000, interval: 20 }
const newKey = () => server.key('acme', 'admin')
const linkOf = (url: unknown) => new URL(String(url)).searchParams.get('link') as string

async function urlOf(token: string, headers?: Record<string, string>): Promise<string> {
  const { status, envelope } = await server.call(token, 'whoami', headers)
  expect([status, envelope]).toMatchObject([403, { success: false, error_code: 'CONNECTION_REQUIRED' }])
  return (envelope.success || envelope.details?.connect_url) as string
}

const stored = async (tenant = 'acme') => server.installation.storage.connections.list(tenant, undefined, 100)

describe('a call of a tool that uses the account of its user', () => {
  test('gets the address where the account is connected, and sends nothing', async () => {
    const { status, envelope } = await server.call(await newKey())
    expect(status).toBe(403)
    const connect_url = expect.stringMatching(`^${PUBLIC_URL}/connect\\?link=`)
    expect(envelope).toMatchObject({
      success: false,
      error_code: 'CONNECTION_REQUIRED',
      details: { connect_url, provider: 'octohub' },
    })
    expect(accounts.tokens).toEqual([])
  })

  test('uses the account of its user, and nobody else sees it', async () => {
    const [ada, bob] = [await newKey(), await newKey()]
    expect(await server.connect(ada)).toBe('connected')
    expect((await server.call(ada)).envelope).toMatchObject({
      success: true,
      result: { account: 'ada', token: '[redacted]' },
    })
    expect((await server.call(bob)).envelope).toMatchObject({ error_code: 'CONNECTION_REQUIRED' })
    expect(await server.call(await server.key('globex'))).toMatchObject({ status: 403 })
    accounts.issuer.state.user = 'bob'
    await server.connect(bob)
    for (const [key, account] of [
      [ada, 'ada'],
      [bob, 'bob'],
      [ada, 'ada'],
    ] as const) {
      expect((await server.call(key, 'cached')).envelope).toMatchObject({ result: { account } })
    }
    expect(new Set(accounts.tokens).size).toBe(2)
  })

  test('is for the signed-in user, whatever key or token it comes with', async () => {
    const token = accounts.issuer.token({ sub: 'signed-in' })
    await server.connect(token)
    expect((await server.call(accounts.issuer.token({ sub: 'signed-in' }))).envelope).toMatchObject({ success: true })
    expect((await server.call(accounts.issuer.token({ sub: 'other' }))).status).toBe(403)
    expect((await stored()).map(({ user }) => user)).toContain('user:acme/signed-in')
  })

  test('with an idempotency key runs after the account was connected', async () => {
    const key = await newKey()
    const headers = { 'idempotency-key': 'once-1' }
    expect((await server.call(key, 'write', headers)).envelope).toMatchObject({ error_code: 'CONNECTION_REQUIRED' })
    await server.connect(key)
    expect((await server.call(key, 'write', headers)).envelope).toMatchObject({ success: true })
    expect((await server.call(key, 'write', headers)).envelope).toMatchObject({ success: true })
    expect(accounts.tokens).toHaveLength(1)
  })
})

describe('a tool of an MCP server that uses accounts', () => {
  test('is called with the token of the user, and with a new one if it is refused', async () => {
    await vi.waitFor(() => expect(server.installation.manager.getRegistry().get('mcp_whoami')).toBeDefined(), SOON)
    const [ada, bob] = [await newKey(), await newKey()]
    expect((await server.call(ada, 'mcp_whoami')).envelope).toMatchObject({ error_code: 'CONNECTION_REQUIRED' })
    await server.connect(ada)
    accounts.issuer.state.user = 'bob'
    await server.connect(bob)
    const said = async (key: string) => JSON.stringify((await server.call(key, 'mcp_whoami')).envelope)
    expect(await said(ada)).toContain('account ada')
    expect(await said(bob)).toContain('account bob')
    const many = await Promise.all(Array.from({ length: 20 }, () => said(ada)))
    expect(many.filter((one) => !one.includes('account ada'))).toEqual([])
    await accounts.issuer.forget(accounts.tokens[0] as string)
    expect(await said(ada)).toContain('account ada')
    expect(accounts.tokens).not.toContain('for-listing')
    await server.ask('/api/connections/octohub', { method: 'DELETE', token: ada })
    expect(await said(ada)).toContain('CONNECTION_REQUIRED')
  })
})

describe.each(['legacy', 'auto'] as const)('an MCP client (%s)', (mode) => {
  async function mcpClient(key: string, elicitation: Elicitation, opened: (url: string) => unknown) {
    const client = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode }, capabilities: { elicitation } },
    )
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      if (params.mode === 'url') await opened(params.url)
      return { action: 'accept' }
    })
    const requestInit = { headers: { authorization: `Bearer ${key}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }))
    onTestFinished(() => client.close())
    return client
  }

  test.each([
    ['whoami', 'an API key', () => newKey()],
    ['piped', 'a token', () => accounts.issuer.token({ sub: `mcp-${mode}` })],
  ] as const)('that can open addresses is asked to, and its call of %s with %s then runs', async (name, _, logIn) => {
    const warnings: string[] = []
    const listener = ({ message }: Error) => void warnings.push(message)
    process.on('warning', listener)
    onTestFinished(() => void process.off('warning', listener))
    const key = await logIn()
    const client = await mcpClient(key, { url: {} }, (url) => server.connect(key, { link: linkOf(url) }))
    const result = await client.callTool({ name, arguments: {} })
    expect(result).toMatchObject({ structuredContent: { account: 'ada' } })
    expect(result.isError).not.toBe(true)
    expect(warnings).toEqual([])
  })

  test('gets the URL with the error if it does not come back connected, or cannot open addresses', async () => {
    for (const elicitation of [{ url: {} }, { form: {} }]) {
      const client = await mcpClient(await newKey(), elicitation, () => {})
      const result = await client.callTool({ name: 'whoami', arguments: {} })
      expect(result).toMatchObject({ isError: true, structuredContent: { error_code: 'CONNECTION_REQUIRED' } })
      expect(JSON.stringify(result.content)).toContain(`${PUBLIC_URL}/connect?link=`)
    }
  })
})

describe('the stored tokens', () => {
  test('are encrypted, and bound to their row', async () => {
    const [ada, bob] = [await newKey(), await newKey()]
    await server.connect(ada)
    await server.call(ada)
    const [row] = (await stored()).filter(({ tokens }) => tokens !== '')
    expect(row?.tokens).toMatch(/^sealed\.[0-9a-f]{8}\./)
    for (const { tokens } of await stored()) for (const token of accounts.tokens) expect(tokens).not.toContain(token)
    // A row that was moved to another user.
    const { connections } = server.installation.storage
    const own = (await connections.list('acme', (await sessionOf(ada)).id, 1))[0]
    const other = (await sessionOf(bob)).id
    await connections.put({ tenant: 'acme', user: other, provider: 'octohub' }, own as never, Date.now(), 100)
    const { envelope } = await server.call(bob)
    expect(envelope).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE', error: expect.stringContaining('was changed') })
    await connections.remove({ tenant: 'acme', user: other, provider: 'octohub' })
    expect(JSON.stringify(server.log.lines)).not.toContain(accounts.tokens[0])
  })

  test('are renewed once, however many calls wait', async () => {
    const key = await newKey()
    accounts.issuer.state.tokenSeconds = 20
    await server.connect(key)
    const before = accounts.issuer.asked('POST /token')
    accounts.issuer.state.tokenSeconds = 3600
    const calls = await Promise.all(Array.from({ length: 10 }, () => server.call(key, 'write')))
    for (const { envelope } of calls) expect(envelope).toMatchObject({ success: true, result: { account: 'ada' } })
    expect(accounts.issuer.asked('POST /token') - before).toBe(1)
    expect(new Set(accounts.tokens).size).toBe(1)
  })

  test('are renewed once by two servers on one store', async () => {
    const key = await newKey()
    accounts.issuer.state.tokenSeconds = 20
    await server.connect(key)
    accounts.issuer.state.tokenSeconds = 3600
    const before = accounts.issuer.asked('POST /token')
    const user = { tenant: 'acme', caller: (await sessionOf(key)).id }
    const two = [withKeys(ENCRYPTION_KEY), withKeys(ENCRYPTION_KEY)]
    const got = await Promise.all([...two, ...two].map((each) => each.token('octohub', user, 'whoami')))
    expect(new Set(got).size).toBe(1)
    expect(accounts.issuer.asked('POST /token') - before).toBe(1)
  })

  test('are renewed if the service refuses them', async () => {
    const key = await newKey()
    await server.connect(key)
    await server.call(key)
    await accounts.issuer.forget(accounts.tokens[0] as string)
    expect((await server.call(key, 'write')).envelope).toMatchObject({ success: true })
    expect(new Set(accounts.tokens).size).toBe(2)
  })

  test('stay if the provider is down, and are broken if it refuses to renew them', async () => {
    const key = await newKey()
    accounts.issuer.state.tokenSeconds = 20
    await server.connect(key)
    accounts.issuer.state.down = true
    expect((await server.call(key)).envelope).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
    accounts.issuer.state.down = false
    expect((await server.call(key)).envelope).toMatchObject({ success: true })
    accounts.issuer.restart()
    const { status, envelope } = await server.call(key)
    expect([status, envelope]).toMatchObject([403, { error_code: 'CONNECTION_REQUIRED' }])
    expect(await listOf(key)).toMatchObject([{ provider: 'octohub', status: 'broken' }])
    await server.connect(key)
    expect(await listOf(key)).toMatchObject([{ status: 'connected' }])
  })
})

/** Another server on the same store. */
const withKeys = (keys: string, clock = server.installation.clock) => {
  const { storage, events, log } = server.installation
  const parts = { store: storage.connections, events, clock, log, env: () => ({}), config: () => accounts.config() }
  return new Connections({ ...parts, seal: new TextSeal(keys) })
}

const sessionOf = async (token: string) =>
  (await (await server.ask('/api/session', { token })).json()) as { id: string }

async function listOf(token: string, query = '') {
  const { connections } = (await (await server.ask(`/api/connections${query}`, { token })).json()) as {
    connections: { provider: string; user: string; status: string }[]
  }
  return connections
}

describe('the connect URL', () => {
  test('works once, and only for the user who caused it', async () => {
    const [ada, bob] = [await newKey(), await newKey()]
    const link = linkOf(await urlOf(ada))
    for (const stranger of [bob, await server.key('globex')]) {
      expect(await server.start(stranger, { link })).toMatchObject({
        status: 403,
        text: expect.stringContaining('for another user'),
      })
    }
    expect(await server.connect(ada, { link })).toBe('connected')
    expect(await server.start(ada, { link })).toMatchObject({
      status: 410,
      text: expect.stringContaining('used before'),
    })
    expect(await server.start(ada, { link: `${link.slice(0, -4)}AAAA` })).toMatchObject({ status: 403 })
    expect(await server.start(ada, { link: 'plain' })).toMatchObject({ status: 403 })
  })

  test('works for 10 minutes', async () => {
    const key = await newKey()
    const link = linkOf(await urlOf(key))
    const { id } = await sessionOf(key)
    const late = { ...server.installation.clock, wall: () => Date.now() + 600_000 }
    await expect(withKeys(ENCRYPTION_KEY, late).start('acme', id, { link })).rejects.toThrow('this link has expired')
    expect((await server.start(key, { link })).status).toBe(200)
  })

  test('has a state, PKCE and a fixed redirect', async () => {
    const { searchParams: asked } = new URL((await server.start(await newKey())).url)
    expect(asked.get('redirect_uri')).toBe(`${PUBLIC_URL}/api/connections/octohub/callback`)
    expect(asked.get('code_challenge_method')).toBe('S256')
    expect(asked.get('code_challenge')).toMatch(/^[\w-]{43}$/)
    expect(asked.get('state')).toMatch(/^[\w-]{43}$/)
    expect(asked.get('scope')).toBe('openid profile')
  })

  test('the answer works once, and only in the browser that asked', async () => {
    const [ada, bob] = [await newKey(), await newKey()]
    const mine = await server.start(ada)
    const other = await server.start(bob)
    const address = await server.allow(mine.url)
    const unknown = '410 this browser has not started to connect the account, or too long ago'
    expect(await server.finish(address, other.cookie, ada)).toBe(unknown)
    expect(await server.finish(address, '', ada)).toBe(unknown)
    const elsewhere = address.replace('octohub', 'gitlab')
    expect(await server.finish(elsewhere, '', ada)).toBe(unknown)
    expect(await server.finish(address, mine.cookie, ada)).toBe('connected')
    expect(await server.finish(address, mine.cookie, ada)).toBe(unknown)
    expect(await listOf(bob)).toMatchObject([{ status: 'none' }])
  })

  test('the answer is refused for everybody but the user who asked, and nothing is stored', async () => {
    const [victim, attacker] = [await newKey(), await newKey()]
    const subjects = ['victim', 'attacker'].map((sub) => accounts.issuer.token({ sub }))
    const pairs = [[attacker, victim], [victim, attacker], subjects, [victim, await server.key('globex')]]
    for (const [starts, finishes] of pairs as [string, string][]) {
      const { url, cookie } = await server.start(starts)
      const address = await server.allow(url)
      const before = accounts.issuer.asked('POST /token')
      const refused = '403 another user has started to connect the account: sign in as that user and start again'
      expect(await server.finish(address, cookie, finishes)).toBe(refused)
      // The answer was seen by another user, so it is worth nothing any more.
      expect(await server.finish(address, cookie, starts)).toMatch(/^410 /)
      expect(accounts.issuer.asked('POST /token')).toBe(before)
      for (const each of [starts, finishes]) expect(await listOf(each)).toMatchObject([{ status: 'none' }])
    }
  })

  test('the answer needs a signed-in user, and opening it stores nothing', async () => {
    const key = await newKey()
    const { url, cookie } = await server.start(key)
    const address = await server.allow(url)
    expect(await server.finish(address, cookie)).toMatch(/^401 /)
    const { pathname, search } = new URL(address)
    const opened = await server.ask(pathname + search, { token: key, headers: { cookie } })
    expect([opened.status, opened.headers.get('location')]).toEqual([
      302,
      `/settings#connection=octohub&answer=${encodeURIComponent(search.slice(1))}`,
    ])
    expect(await listOf(key)).toMatchObject([{ status: 'none' }])
    expect(await server.finish(address, cookie, key)).toBe('connected')
  })

  test('texts of the provider are not shown', async () => {
    const key = await newKey()
    accounts.issuer.state.denies = true
    expect(await server.connect(key)).toBe('403 the access was not allowed')
    accounts.issuer.state.denies = false
    const { url, cookie } = await server.start(key)
    const address = new URL(await server.allow(url))
    address.searchParams.set('code', '"><script>')
    expect(await server.finish(address.href, cookie, key)).toBe('403 the provider gave no token')
  })

  test('a user starts a limited number at a time', async () => {
    const key = await newKey()
    for (let left = 20; left > 0; left--) expect((await server.start(key)).status).toBe(200)
    expect(await server.start(key)).toMatchObject({ status: 429 })
    expect((await server.start(await newKey())).status).toBe(200)
    expect(await server.start(await newKey(), { provider: 'constructor' })).toMatchObject({ status: 404 })
  })
})

describe('a removed connection', () => {
  test('is revoked at the provider, and calls need a new one', async () => {
    const key = await newKey()
    await server.connect(key)
    await server.call(key, 'cached')
    const [token] = accounts.tokens
    const response = await server.ask('/api/connections/octohub', { method: 'DELETE', token: key })
    expect([response.status, await response.json()]).toEqual([200, { revoked: true }])
    expect(await accounts.issuer.accountOf(token as string)).toBeUndefined()
    expect((await server.call(key, 'cached')).status).toBe(403)
    const again = await server.ask('/api/connections/octohub', { method: 'DELETE', token: key })
    expect(again.status).toBe(404)
  })

  test('of others are for administrators', async () => {
    const [admin, user] = [await newKey(), await server.key('acme', 'user')]
    await server.connect(user)
    const { id } = await sessionOf(user)
    const path = `/api/connections/octohub?user=${id}`
    expect((await server.ask('/api/connections?all=true', { token: user })).status).toBe(403)
    const other = await server.key('acme', 'user')
    expect((await server.ask(path, { method: 'DELETE', token: other })).status).toBe(403)
    expect((await server.ask(path, { method: 'DELETE', token: await server.key('globex') })).status).toBe(404)
    expect((await listOf(admin, '?all=true')).map((one) => one.user)).toContain(id)
    expect((await server.ask(path, { method: 'DELETE', token: admin })).status).toBe(200)
    expect(await listOf(user)).toMatchObject([{ status: 'none' }])
  })
})

describe('Toolyard-User', () => {
  const acting = (user: string) => ({ 'toolyard-user': user })

  test('needs the scope act_as', async () => {
    for (const key of [await newKey(), await server.key('acme', 'user')]) {
      const { status, envelope } = await server.call(key, 'whoami', acting('ada'))
      expect([status, JSON.stringify(envelope)]).toEqual([403, expect.stringContaining("lacks the scope 'act_as'")])
    }
    await server.installation.sink.flush()
    const { rows } = await server.installation.storage.ledger.audit({ tenant: 'acme', limit: 100 })
    const events = rows.filter(({ event }) => event === 'user.acted_for')
    expect(events).toMatchObject([{ outcome: 'failure', subject: 'ada' }, { outcome: 'failure' }])
  })

  test('lets a key use the account of a user of its tenant', async () => {
    const backend = await server.key('acme', 'backend')
    await server.connect(accounts.issuer.token({ sub: 'carla' }))
    expect((await server.call(backend, 'whoami', acting('carla'))).envelope).toMatchObject({ success: true })
    expect((await server.call(backend)).status).toBe(403)
    expect((await server.call(backend, 'whoami', acting('dora'))).status).toBe(403)
    const foreign = await server.key('globex', 'backend')
    expect((await server.call(foreign, 'whoami', acting('carla'))).status).toBe(403)
    // The user of the link is the one that the key acts for.
    const link = linkOf(await urlOf(backend, acting('dora')))
    expect(await server.start(backend, { link })).toMatchObject({ status: 403 })
    expect(await server.start(accounts.issuer.token({ sub: 'dora' }), { link })).toMatchObject({ status: 200 })
  })

  test('is recorded with its outcome, also after one that was refused', async () => {
    const backend = await server.key('acme', 'backend')
    expect((await server.ask('/api/connections', { token: backend, headers: acting('eve') })).status).toBe(400)
    await server.call(backend, 'whoami', acting('eve'))
    await server.installation.sink.flush()
    const { rows } = await server.installation.storage.ledger.audit({ tenant: 'acme', type: 'event', limit: 100 })
    const events = rows.filter(({ event, subject }) => event === 'user.acted_for' && subject === 'eve')
    expect(events.map(({ outcome }) => outcome).toSorted()).toEqual(['failure', 'success'])
  })

  test('keeps results of users apart', async () => {
    const backend = await server.key('acme', 'backend')
    await server.connect(accounts.issuer.token({ sub: 'emma' }))
    accounts.issuer.state.user = 'bob'
    await server.connect(accounts.issuer.token({ sub: 'finn' }))
    for (const [user, account] of [
      ['emma', 'ada'],
      ['finn', 'bob'],
      ['emma', 'ada'],
    ] as const) {
      expect((await server.call(backend, 'cached', acting(user))).envelope).toMatchObject({ result: { account } })
    }
    const once = { 'idempotency-key': 'shared' }
    expect((await server.call(backend, 'write', { ...acting('emma'), ...once })).envelope).toMatchObject({
      success: true,
    })
    expect((await server.call(backend, 'write', { ...acting('finn'), ...once })).envelope).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
    })
  })

  test('is refused where it has no effect', async () => {
    const backend = await server.key('acme', 'backend')
    const job = await server.call(backend, 'whoami', { ...acting('ada'), prefer: 'respond-async' })
    expect(job.status).toBe(400)
    for (const path of ['/api/connections', '/api/jobs']) {
      expect((await server.ask(path, { token: backend, headers: acting('ada') })).status).toBe(400)
    }
    const token = accounts.issuer.token({ sub: 'ada' })
    expect((await server.call(token, 'whoami', acting('bob'))).status).toBe(403)
    expect((await server.call(backend, 'whoami', acting('x'.repeat(256)))).status).toBe(403)
  })
})

describe('a configuration', () => {
  test('never sends tokens to a host that is not listed', async () => {
    const other = await openConnectionServer(accounts, accounts.config({}, { hosts: ['api.example.com'] }))
    try {
      const key = await other.key('acme')
      await other.connect(key)
      const { envelope } = await other.call(key)
      expect(envelope).toMatchObject({
        success: false,
        error: expect.stringContaining("isn't in connections.octohub.hosts"),
      })
      expect(accounts.tokens).toEqual([])
    } finally {
      await other.close()
    }
  })

  test('without an encryption key stores nothing', async () => {
    const other = await openConnectionServer(accounts, accounts.config(), { env: { TOOLYARD_ENCRYPTION_KEY: '' } })
    try {
      const key = await other.key('acme')
      const { envelope } = await other.call(key)
      const advice = expect.stringContaining('set TOOLYARD_ENCRYPTION_KEY or TOOLYARD_ENCRYPTION_KEY_FILE')
      expect(envelope).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR', error: advice })
      expect((await other.start(key)).status).toBe(500)
      expect(await other.installation.storage.connections.list('acme', undefined, 10)).toEqual([])
    } finally {
      await other.close()
    }
  })

  test('with a new encryption key in front still reads tokens, and rotation replaces the old key', async () => {
    const key = await newKey()
    await server.connect(key)
    const user = { tenant: 'acme', caller: (await sessionOf(key)).id }
    const next = 'n'.repeat(43)
    await expect(withKeys(next).token('octohub', user, 'whoami')).rejects.toThrow(
      'add that key to TOOLYARD_ENCRYPTION_KEY',
    )
    expect((await withKeys(next).reseal()).failed).toBeGreaterThan(0)
    const both = withKeys(`${next},${ENCRYPTION_KEY}`)
    const token = await both.token('octohub', user, 'whoami')
    expect(await both.reseal()).toEqual({ changed: (await stored()).length, failed: 0 })
    expect(await withKeys(next).token('octohub', user, 'whoami')).toBe(token)
    expect(await withKeys(`${ENCRYPTION_KEY},${next}`).reseal()).toMatchObject({ failed: 0 })
  })
})
