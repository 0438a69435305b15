import { expect, test } from 'vitest'
import { openToolServer } from '../fixtures/open-tool-server.ts'

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } }

test('lists the tools of the caller without their implementation', async () => {
  const mock = { type: 'mock', mock_response: { secret: 'mock-answer' } }
  const http = {
    type: 'http',
    url: 'https://secret-host.example.com/v1',
    headers: { authorization: 'Bearer secret-token' },
  }
  const server = await openToolServer(
    {
      open: { run: async () => 1, parameters: PARAMETERS },
      closed: { run: async () => 1, permissions: ['vault'] },
      off: async () => 1,
      mocked: { run: async () => 1, implementation: mock },
      remote: { run: async () => 1, implementation: http, type: 'function' },
    },
    { tenants: { acme: { flags: { off: false } }, globex: { flags: { vault: true } } } },
  )
  const acme = { 'x-api-key': await server.key('acme', 'user') }
  const globex = { 'x-api-key': await server.key('globex', 'user') }
  const names = async (path: string, headers: Record<string, string>) =>
    ((await (await server.get(path, headers)).json()) as { tools: { name: string }[] }).tools.map(({ name }) => name)
  for (const path of ['/schema/tools', '/api/tools/list']) {
    expect(await names(path, acme)).toEqual(['open', 'mocked', 'remote'])
    expect(await names(path, globex)).toEqual(['open', 'closed', 'off', 'mocked', 'remote'])
    const text = await (await server.get(path, globex)).text()
    expect(text).not.toMatch(/secret|mock-answer|example\.com|handler|vault/)
  }
  const { tools } = (await (await server.get('/schema/tools', acme)).json()) as { tools: object[] }
  expect(tools[0]).toEqual({ name: 'open', description: 'The tool open', type: 'function', parameters: PARAMETERS })
  const listed = (await (await server.get('/api/tools/list', acme)).json()) as { tools: object[] }
  expect(listed.tools).toContainEqual({
    name: 'mocked',
    description: 'The tool mocked',
    parameters: { type: 'object' },
    implementation: { type: 'mock' },
  })
})

test('the lists are empty if tools are disabled', async () => {
  const server = await openToolServer({}, { tools: { enabled: false } })
  expect(await (await server.get('/schema/tools')).json()).toEqual({ tools: [] })
  expect(await (await server.get('/api/tools/list')).json()).toEqual({ tools: [] })
})

test('the search leaves out deprecated and broken tools, as for models', async () => {
  const server = await openToolServer({
    send_new: async () => 1,
    send_old: { run: async () => 1, deprecated: { use: 'send_new' } },
    send_broken: { run: async () => 1, parameters: { type: 'object', properties: { a: { type: 'no type' } } } },
  })
  const names = async (path: string) =>
    ((await (await server.get(path)).json()) as { tools: { name: string }[] }).tools.map(({ name }) => name)
  // Its schema is checked by then.
  await server.call('send_broken')
  expect(await names('/api/tools/list')).toEqual(['send_new', 'send_old', 'send_broken'])
  expect(await names('/api/tools/search?q=send&limit=10')).toEqual(['send_new'])
})

test('a tool with an invalid schema is listed as broken', async () => {
  const server = await openToolServer({
    bad: { run: async () => 1, parameters: { type: 'object', properties: { a: { type: 'nonsense' } } } },
  })
  await server.call('bad')
  const { tools } = (await (await server.get('/api/tools/list')).json()) as { tools: { broken?: string }[] }
  expect(tools[0]?.broken).toEqual(expect.any(String))
})
