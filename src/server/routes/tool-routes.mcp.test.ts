import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { INITIALIZE, POST_HEADERS, statelessMessage } from '../../mcp/server/fixtures/http-yard.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'

async function client(url: string, headers: Record<string, string>, mode: 'auto' | 'legacy') {
  const made = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await made.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  onTestFinished(() => made.close())
  return made
}

describe.each(['auto', 'legacy'] as const)('an MCP client (%s)', (mode) => {
  test('lists and calls the tools of its tenant as its caller', async () => {
    const server = await openToolServer(
      { who: async (_params, { tenant }) => tenant, vault: { run: async () => 1, permissions: ['vault'] } },
      { tenants: { globex: { flags: { vault: true } } } },
    )
    const acme = await client(server.url, { 'x-api-key': await server.key('acme', 'user') }, mode)
    const globex = await client(server.url, { 'x-api-key': await server.key('globex', 'user') }, mode)
    expect(acme.getServerVersion()).toMatchObject({ name: 'toolyard', version: '1.2.3' })
    expect((await acme.listTools()).tools.map(({ name }) => name)).toEqual(['who'])
    expect((await globex.listTools()).tools.map(({ name }) => name).sort()).toEqual(['vault', 'who'])
    expect((await acme.callTool({ name: 'who' })).content).toEqual([{ type: 'text', text: 'acme' }])
    expect(await server.records('acme')).toMatchObject([{ tool: 'who', source: 'mcp', caller: expect.any(String) }])
    expect(await server.records('globex')).toEqual([])
  })

  test('needs a key with the scope call', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    await server.key('acme')
    const narrow = { 'x-api-key': await server.key('acme', 'user', ['read']) }
    await expect(client(server.url, {}, mode)).rejects.toThrow()
    await expect(client(server.url, narrow, mode)).rejects.toThrow()
  })
})

test('responses have the security headers, and protocol errors have the format of MCP', async () => {
  const server = await openToolServer({ hello: async () => 1 })
  const { message, headers } = statelessMessage('tools/call', { name: 'hello', arguments: {} })
  const answer = await server.post('/mcp', message, { ...POST_HEADERS, ...headers })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const broken = await server.post('/mcp', '{', POST_HEADERS)
  expect([broken.status, await broken.json()]).toMatchObject([400, { jsonrpc: '2.0', error: { code: -32_700 } }])
  expect((await server.post('/mcp', '<a/>', { ...POST_HEADERS, 'content-type': 'text/xml' })).status).toBe(415)
  expect((await fetch(`${server.url}/mcp`, { method: 'PUT' })).status).toBe(405)
})

test('a session may make so many calls', async () => {
  const server = await openToolServer({ hello: async () => 1 }, { limits: { calls_per_session: 1 } })
  const one = await client(server.url, {}, 'legacy')
  expect((await one.callTool({ name: 'hello' })).isError).toBeFalsy()
  expect(await one.callTool({ name: 'hello' })).toMatchObject({
    isError: true,
    structuredContent: { error_code: 'RATE_LIMITED' },
  })
  const other = await client(server.url, {}, 'legacy')
  expect((await other.callTool({ name: 'hello' })).isError).toBeFalsy()
})

test('serves the new tools after a reload, while running calls finish', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-reload-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'toolyard.config.json')
  const write = (name: string) =>
    writeFile(
      file,
      JSON.stringify({
        tools: {
          enabled: true,
          registry: [
            {
              name,
              description: name,
              parameters: { type: 'object' },
              implementation: { type: 'internal', handler: 'x' },
            },
          ],
        },
      }),
    )
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: ended, resolve: end } = Promise.withResolvers<string>()
  const run = () => {
    begin()
    return ended
  }
  await write('before')
  const server = await openToolServer({ x: run }, {}, { file })
  const opened = await server.post('/mcp', INITIALIZE, POST_HEADERS)
  const session = { 'mcp-session-id': String(opened.headers.get('mcp-session-id')) }
  const { message, headers } = statelessMessage('tools/call', { name: 'before', arguments: {} })
  const running = server.post('/mcp', message, { ...POST_HEADERS, ...headers })
  await begun
  await write('after')
  await server.installation.reload()
  const list = statelessMessage('tools/list')
  const listed = await server.post('/mcp', list.message, { ...POST_HEADERS, ...list.headers })
  expect(await listed.json()).toMatchObject({ result: { tools: [{ name: 'after' }] } })
  // The session was with the tools of before: its client has to begin again.
  const old = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  expect((await server.post('/mcp', old, { ...POST_HEADERS, ...session })).status).toBe(404)
  end('as it began')
  expect(await (await running).json()).toMatchObject({ result: { content: [{ type: 'text', text: 'as it began' }] } })
})
