import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import type { McpServerStatus } from '../../app/tools/mcp-status.ts'
import { hostileServer } from '../../mcp/fixtures/connect.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'
import type { McpAnswer, McpTraffic } from '../http/views.ts'

// Programs are started: on a machine that has much to do that takes its time.
/** Says a word and a secret on stderr, then serves. */
const HOSTILE = {
  command: process.execPath,
  args: [
    '--input-type=module',
    '-e',
    `console.error('ready to serve with token=abcd1234efgh'); await import(${JSON.stringify(hostileServer)})`,
  ],
  env: { SECRET_OF_SERVER: 'env-secret-value' },
}
const BROKEN = {
  command: process.execPath,
  args: ['-e', 'console.error("no broker"); process.exit(1)'],
  check: 'the broker',
}
const SERVERS = {
  hostile: HOSTILE,
  broken: BROKEN,
  lacking: { command: 'x', env: { KEY: '${NOWHERE_TO_BE_FOUND}' } },
  off: { command: 'x', disabled: true },
}

async function openYard(mcpServers: object = SERVERS) {
  const config = { mcpServers, tenants: { narrow: { flags: { echo: false } }, shut: { flags: {} } } }
  const server = await openToolServer({ local_tool: async () => 1 }, config as never, { local: false })
  const admin = {
    'x-api-key': await server.key('acme', 'admin', ['read', 'call', 'observe', 'manage', 'installation']),
  }
  const list = async (headers: Record<string, string> = admin) =>
    ((await (await server.get('/api/mcp/servers', headers)).json()) as { servers: McpServerStatus[] }).servers
  const find = async (name: string, headers?: Record<string, string>) =>
    (await list(headers)).find((one) => one.name === name) as McpServerStatus
  const reconnect = (name: string, headers: Record<string, string> = admin) =>
    server.post(`/api/mcp/servers/${name}/reconnect`, {}, headers)
  const until = (name: string, state: string) =>
    vi.waitFor(async () => expect((await find(name)).state).toBe(state), { interval: 50 })
  return { ...server, admin, list, find, reconnect, until }
}

describe('the MCP servers', () => {
  test('are listed with state, attempts, tools and stderr, without secrets and addresses', async () => {
    const { list, until, get, admin } = await openYard()
    await until('hostile', 'connected')
    await vi.waitFor(async () => expect((await list())[1]?.next_attempt_in_ms).toBeGreaterThan(0))
    const [hostile, broken, lacking, off] = await list()
    expect(hostile).toMatchObject({
      name: 'hostile',
      place: 'mcpServers.hostile',
      transport: 'stdio',
      attempts: 1,
      since: expect.any(String),
      stderr: 'ready to serve with token=[redacted]',
      tools: expect.arrayContaining([{ name: 'echo', tool: 'echo' }]),
    })
    expect(broken).toMatchObject({
      state: expect.stringMatching(/not_reachable|connecting/),
      attempts: expect.any(Number),
      problem: 'it closed the connection before it answered',
      problem_at: expect.any(String),
      stderr: 'no broker',
      check: 'the broker',
      tools: [],
    })
    expect(lacking).toMatchObject({ state: 'left_out', problem: expect.stringContaining('NOWHERE_TO_BE_FOUND') })
    expect(off).toEqual({ name: 'off', place: 'mcpServers.off', state: 'disabled', tools: [] })
    const text = await (await get('/api/mcp/servers', admin)).text()
    expect(text).not.toMatch(/env-secret-value|abcd1234|hostile-server|--input-type/)
  })

  test('hides the whole address of a server if it contains credentials', async () => {
    const url = 'http://user:secret-word@127.0.0.1:1/mcp?key=secret-key'
    const { find, get, admin } = await openYard({ web: { url } })
    await vi.waitFor(async () => expect((await find('web')).problem).toBeDefined())
    expect(await find('web')).toMatchObject({ transport: 'http', problem: expect.any(String) })
    expect(await (await get('/api/mcp/servers', admin)).text()).not.toMatch(/secret-|127\.0\.0\.1/)
  })

  test('one that died is there again after reconnecting, and its tools work', async () => {
    const { until, find, reconnect, call, admin, installation } = await openYard({ hostile: HOSTILE })
    await until('hostile', 'connected')
    const before = (await find('hostile')).since
    expect(await (await call('kill-self', {}, admin)).json()).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
    const answer = await reconnect('hostile')
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { name: 'hostile', state: 'connected', problem: 'the connection was lost', attempts: 1 },
    ])
    expect((await find('hostile')).since).not.toBe(before)
    expect(await (await call('echo', { text: 'again' }, admin)).json()).toMatchObject({ result: 'again' })
    expect(installation.manager.getMcpServers().connection('hostile').connected).toBe(true)
  })

  test('one that works is started anew', async () => {
    const { until, find, reconnect, call, admin } = await openYard({ hostile: HOSTILE })
    await until('hostile', 'connected')
    const { since } = await find('hostile')
    const now = (await (await reconnect('hostile')).json()) as McpServerStatus
    expect(now).toMatchObject({ state: 'connected', attempts: 1 })
    expect(now.since).not.toBe(since)
    expect(await (await call('echo', { text: 'anew' }, admin)).json()).toMatchObject({ result: 'anew' })
  })

  test('that are not used cannot be reconnected', async () => {
    const { reconnect } = await openYard({ lacking: SERVERS.lacking, off: SERVERS.off })
    for (const [name, status, words] of [
      ['lacking', 409, 'it cannot be used'],
      ['off', 409, 'remove "disabled"'],
      ['nobody', 404, "MCP server 'nobody' not found"],
    ] as const) {
      const answer = await reconnect(name)
      expect([name, answer.status, await answer.text()]).toEqual([
        name,
        status,
        expect.stringContaining(JSON.stringify(words).slice(1, -1)),
      ])
    }
  })

  test('show their last messages and stderr to callers with the scope installation, without secrets', async () => {
    const { until, get, post, admin, key, installation } = await openYard({ hostile: HOSTILE })
    await until('hostile', 'connected')
    await post('/tools/execute', { tool_name: 'echo', params: { text: 'hi', password: 'hunter2' } }, admin)
    const traffic = async () => (await (await get('/api/mcp/servers/hostile/traffic', admin)).json()) as McpTraffic
    const hidden = await traffic()
    expect([hidden.contents, hidden.stderr]).toEqual([false, 'ready to serve with token=[redacted]'])
    expect(hidden.messages.map(({ kind, method }) => `${kind} ${method}`)).toContain('request tools/call')
    expect(hidden.messages.some((message) => 'content' in message)).toBe(false)
    Object.assign(installation.config, { storage: { payloads: 'all' } })
    const shown = (await traffic()).messages.filter(({ method }) => method === 'tools/call')
    expect(shown).toMatchObject([
      { direction: 'sent', kind: 'request', content: { name: 'echo', arguments: { password: '[redacted]' } } },
      { direction: 'received', kind: 'response', ms: expect.any(Number), id: shown[0]?.id },
    ])
    expect(JSON.stringify(shown)).not.toContain('hunter2')
    const watcher = { 'x-api-key': await key('acme', 'operator', ['observe']) }
    expect((await get('/api/mcp/servers/hostile/traffic', watcher)).status).toBe(403)
    expect((await get('/api/mcp/servers/none/traffic', admin)).status).toBe(404)
  })

  test('a tenant sees only servers with tools for it, without stderr, and cannot reconnect them', async () => {
    const { until, list, key, reconnect } = await openYard()
    await until('hostile', 'connected')
    const operator = { 'x-api-key': await key('narrow', 'operator') }
    const seen = await list(operator)
    expect(seen.map(({ name }) => name)).toEqual(['hostile'])
    expect(seen[0]).not.toHaveProperty('stderr')
    const names = seen[0]?.tools.map(({ name }) => name)
    expect(names).toContain('environment')
    expect(names).not.toContain('echo')
    const answer = await reconnect('hostile', { 'x-api-key': await key('narrow', 'admin') })
    expect([answer.status, await answer.text()]).toEqual([
      403,
      expect.stringContaining("lacks the scope 'installation'"),
    ])
  })
})

describe('a request by hand', () => {
  const ASKING = fileURLToPath(new URL('../../mcp/fixtures/asking-server.ts', import.meta.url))

  test('is answered by the server, recorded, and in the traffic', async () => {
    const { until, post, get, admin } = await openYard({ asking: { command: process.execPath, args: [ASKING] } })
    await until('asking', 'connected')
    const send = async (method: string, params?: object) =>
      (await (await post('/api/mcp/servers/asking/requests', { method, params }, admin)).json()) as McpAnswer
    const greeting = { name: 'greet', arguments: { who: 'Ada' } }
    expect(await send('prompts/get', greeting)).toMatchObject({
      method: 'prompts/get',
      ms: expect.any(Number),
      result: { messages: [{ content: { text: 'Greet Ada' } }] },
    })
    expect(await send('resources/read', {})).toMatchObject({ error: { code: expect.any(Number) } })
    const { messages } = (await (await get('/api/mcp/servers/asking/traffic', admin)).json()) as McpTraffic
    expect(messages.map(({ method, kind }) => `${method} ${kind}`)).toEqual(
      expect.arrayContaining(['prompts/get request', 'prompts/get response']),
    )
    const audit = await (await get('/audit?type=event&tenant=*', admin)).json()
    const { rows } = audit as { rows: { event: string; detail: string }[] }
    expect(rows.filter(({ event }) => event === 'mcp.requested')).toMatchObject([
      { subject: 'asking', outcome: 'failure', detail: expect.stringContaining('"resources/read"') },
      { subject: 'asking', outcome: 'success', params_hash: expect.any(String) },
    ])
  })

  test('never calls a tool, changes the connection, or is too large', async () => {
    const { until, post, admin, key } = await openYard({ hostile: HOSTILE })
    await until('hostile', 'connected')
    const send = async (body: object, headers = admin) => {
      const answer = await post('/api/mcp/servers/hostile/requests', body, headers)
      return [answer.status, ((await answer.json()) as { error: string }).error]
    }
    expect(await send({ method: 'tools/call', params: { name: 'echo', arguments: {} } })).toEqual([
      422,
      "'tools/call' cannot be sent by hand: call the tool with POST /tools/execute",
    ])
    for (const method of ['initialize', 'logging/setLevel', 'resources/subscribe', 'tasks/cancel', 'custom/run']) {
      expect(await send({ method })).toEqual([422, expect.stringContaining('send one of ping')])
    }
    expect(await send({ method: 'ping', params: { text: 'x'.repeat(65_536) } })).toEqual([413, 'params is over 64 KB'])
    const watcher = { 'x-api-key': await key('acme', 'admin', ['read', 'observe', 'installation']) }
    expect(await send({ method: 'ping' }, watcher)).toEqual([403, expect.stringContaining("lacks the scope 'call'")])
  })

  test('is refused while four others wait', async () => {
    const { until, post, admin, installation } = await openYard({ hostile: HOSTILE })
    await until('hostile', 'connected')
    const answers = Promise.withResolvers<unknown>()
    const connection = installation.manager.getMcpServers().connection('hostile')
    vi.spyOn(connection, 'request').mockReturnValue(answers.promise)
    const send = () => post('/api/mcp/servers/hostile/requests', { method: 'ping' }, admin)
    const waiting = Array.from({ length: 4 }, send)
    await vi.waitFor(() => expect(connection.request).toHaveBeenCalledTimes(4))
    expect((await send()).status).toBe(429)
    answers.resolve({})
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})
