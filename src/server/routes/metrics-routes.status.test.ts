import { expect, test } from 'vitest'
import { openToolServer } from '../fixtures/open-tool-server.ts'

test('health and readiness are public, also with HEAD', async () => {
  const server = await openToolServer({}, {}, { local: false })
  expect(await (await server.get('/health')).json()).toEqual({ status: 'ok', version: '1.2.3' })
  const ready = await server.get('/ready')
  expect([ready.status, await ready.json()]).toEqual([
    200,
    {
      status: 'ready',
      version: '1.2.3',
      store: { engine: 'sqlite', ready: true },
      mcp_servers: { connected: 0, configured: 0 },
      knowledge: { vectors: expect.any(Boolean) },
    },
  ])
  for (const path of ['/health', '/ready']) {
    expect((await fetch(server.url + path, { method: 'HEAD' })).status).toBe(200)
  }
})

test('it is not ready while its store is not, says why, and asks the store once a second at most', async () => {
  const server = await openToolServer({}, {}, { local: false })
  let asked = 0
  server.installation.storage.status = async () => {
    asked++
    return { engine: 'postgres', ready: false, problem: 'The database does not answer', vectors: false }
  }
  for (let index = 0; index < 3; index++) {
    const ready = await server.get('/ready')
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { status: 'not ready', store: { engine: 'postgres', ready: false, problem: 'The database does not answer' } },
    ])
  }
  expect(asked).toBeLessThan(3)
  expect((await server.get('/health')).status).toBe(200)
})

test('MCP servers are counted, and one that is down does not make the server unready', async () => {
  const missing = { command: 'toolyard-no-such-program' }
  const server = await openToolServer({}, { mcpServers: { one: missing, two: missing } })
  const ready = await server.get('/ready')
  expect([ready.status, await ready.json()]).toMatchObject([200, { mcp_servers: { connected: 0, configured: 2 } }])
})
