import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../app/callers/callers.ts'
import { deepSchema, deepText, WIDE_SCHEMAS } from '../core/fixtures/foreign-json.ts'
import { INITIALIZE, POST_HEADERS, statelessMessage } from '../mcp/server/fixtures/http-yard.ts'
import { ModelCatalogue } from '../models/model-catalogue.ts'
import { scripted } from '../testing/stand-ins.ts'
import { openTestServer, type TestServer } from './fixtures/open-server.ts'

const DEPTHS = [2_000, 10_000, 100_000]
const BAD_SCHEMAS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(DEPTHS.map((levels) => [`deep_${levels}`, deepSchema(levels)])),
  wide: WIDE_SCHEMAS.references as string,
  chain: WIDE_SCHEMAS['a chain of references'] as string,
}
const MOCK = '{"type":"mock","mock_response":"ran"}'

let folder: string
let server: TestServer
let key: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-deep-server-'))
  const file = join(folder, 'toolyard.config.json')
  const tool = (name: string, parameters: string, implementation: string): string =>
    `{"name":"${name}","description":"x","parameters":${parameters},"implementation":${implementation}}`
  const registry = [
    tool('good', '{"type":"object"}', MOCK),
    ...Object.entries(BAD_SCHEMAS).map(([name, schema]) => tool(name, schema, MOCK)),
    tool('eval', '{"type":"object"}', '{"type":"builtin","handler":"math_eval"}'),
  ]
  const responses = '[{"llm":"scripted","model":"turns","prompt":"x","tools":{"enabled":true}}]'
  const providers = '{"scripted":{"type":"ollama","base_url":"http://127.0.0.1:1"}}'
  const tools = `{"enabled":true,"registry":[${registry}]}`
  await writeFile(file, `{"tools":${tools},"responses":${responses},"providers":${providers}}`)
  server = await openTestServer({}, { file })
  const model = scripted(...Array(100).fill('Done.'))
  const info = { id: model.id, name: 'Scripted', capabilities: ['function-calling'] }
  const catalogue = new ModelCatalogue([{ name: 'scripted', model: () => model }], [info])
  server.installation.manager.getModels = async () => catalogue
  key = { 'x-api-key': await server.key('acme', 'admin', SCOPES) }
})

afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

afterEach(async () => {
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  expect(await call('good')).toMatchObject({ success: true, result: 'ran' })
})

async function send(path: string, body: string, more: Record<string, string> = {}) {
  const own = path === '/mcp' ? POST_HEADERS : { 'content-type': 'application/json' }
  const answer = await fetch(server.url + path, { method: 'POST', headers: { ...own, ...key, ...more }, body })
  return { status: answer.status, text: await answer.text() }
}

async function call(name: string): Promise<unknown> {
  const { text } = await send('/tools/execute', JSON.stringify({ tool_name: name, params: {} }))
  return JSON.parse(text)
}

describe('a server with schemas that are too deep or too large', () => {
  test.each(Object.keys(BAD_SCHEMAS))('lists %s as broken, and refuses its calls', async (name) => {
    expect(await call(name)).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
    const answer = await fetch(`${server.url}/api/page/tools/${name}`, { headers: key })
    expect([answer.status, await answer.json()]).toMatchObject([200, { broken: expect.stringMatching(REASON) }])
  })

  test('answers every list of tools', async () => {
    for (const path of ['/schema/tools', '/api/tools/list', '/api/tools/search?q=x', '/api/page/tools', '/v1/models']) {
      const answer = await fetch(server.url + path, { headers: key })
      expect([path, answer.status, (await answer.text()).length > 2]).toEqual([path, 200, true])
    }
    const { message, headers } = statelessMessage('tools/list')
    const { status, text } = await send('/mcp', JSON.stringify(message), headers)
    expect([status, text.includes('"good"')]).toEqual([200, true])
  })
})

const REASON = /^(nested deeper than 32 levels|longer than 65536 characters|has more than 2000 nodes)$/

/** By endpoint: bodies in which `@` stands for the deep JSON. */
const BODIES: readonly (readonly [path: string, body: string])[] = [
  ['/tools/execute', '{"tool_name":"good","params":@}'],
  ['/tools/execute', '{"tool_name":"good","params":{"a":@}}'],
  ['/tools/execute', '@'],
  ['/chat', '{"message":"x","previous_messages":@}'],
  ['/chat', '{"message":"x","previous_messages":[{"role":"user","content":@}]}'],
  [
    '/chat',
    '{"message":"x","previous_messages":[{"role":"assistant","content":"","tool_calls":[{"id":"1","name":"good","arguments":@}]}]}',
  ],
  ['/chat', '{"message":"x","output":{"schema":@}}'],
  ['/v1/chat/completions', '{"model":"scripted:turns","messages":[{"role":"user","content":@}]}'],
  ['/v1/chat/completions', `{"model":"scripted:turns","messages":[{"role":"user","content":"x"}],"tools":[@]}`],
  [
    '/v1/chat/completions',
    '{"model":"scripted:turns","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":@}}]}',
  ],
  ['/v1/responses', '{"model":"scripted:turns","input":@}'],
  ['/v1/responses', '{"model":"scripted:turns","input":"x","tools":[{"type":"function","name":"f","parameters":@}]}'],
  ['/v1/embeddings', '{"model":"x","input":@}'],
  ['/mcp', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good","arguments":@}}'],
  ['/mcp', '[@]'],
  ['/api/ai-sdk/chat', '{"messages":[{"id":"1","role":"user","parts":@}]}'],
  ['/api/setup/changes', '{"change":{"kind":"http_tool","tool":@}}'],
  ['/api/setup/changes', '{"change":{"kind":"mcp_servers","servers":{"a":@}}}'],
  ['/api/suites/saved/deep/cases', '{"case":{"id":"a","prompt":"x","expect":@}}'],
  ['/api/tools/validate', '{"tools":@}'],
]

const TOO_DEEP = /is nested deeper than 72 levels|has more than 100000 keys/

const yaml = (levels: number): string => Array.from({ length: levels }, (_, at) => `${' '.repeat(at + 1)}a:\n`).join('')

function handedBack(args: string, content = '1') {
  const call = { id: 'a', type: 'function', function: { name: 'good', arguments: args } }
  return [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content },
  ]
}

const itemsOf = (args: string, output: string) => [
  { role: 'user', content: 'x' },
  { type: 'function_call', call_id: 'a', name: 'good', arguments: args },
  { type: 'function_call_output', call_id: 'a', output },
]

describe.each(DEPTHS)('JSON of %d levels', (levels) => {
  const deep = deepText(levels)

  test.each(BODIES)('is refused by %s: %s', async (path, body) => {
    const { status, text } = await send(
      path,
      body.replace('@', () => deep),
    )
    expect([status, text]).toEqual([400, expect.stringMatching(TOO_DEEP)])
  })

  // The text of JSON in a body: some endpoints parse it.
  test.each([
    ['/chat', { message: deep }],
    ['/chat', { message: 'x', previous_messages: [{ role: 'user', content: deep }] }],
    ['/chat', { message: `good ${deep}`, previous_messages: [{ role: 'assistant', content: deep }] }],
    ['/v1/chat/completions', { model: 'scripted:turns', messages: handedBack(deep) }],
    ['/v1/chat/completions', { model: 'scripted:turns', messages: handedBack('{}', deep) }],
    ['/v1/responses', { model: 'scripted:turns', input: itemsOf(deep, '1') }],
    ['/v1/responses', { model: 'scripted:turns', input: itemsOf('{}', deep) }],
    ['/api/ai-sdk/chat', { id: 'a', messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: deep }] }] }],
    ['/api/setup/openapi', { document: `{"openapi":"3.1.0","paths":${deep}}` }],
    ['/api/setup/openapi', { document: `openapi: 3.1.0\npaths: ${deep}` }],
    ['/api/setup/openapi', { document: `openapi: 3.1.0\npaths:\n${yaml(Math.min(levels, 2_000))}` }],
    ['/api/setup/curl', { command: `curl http://127.0.0.1/x -d '${deep.slice(0, 90_000)}'` }],
    [
      '/api/setup/curl',
      {
        command: `curl http://127.0.0.1/x -H 'Content-Type: application/json' -d '${deepText(Math.min(levels, 10_000))}'`,
      },
    ],
    ['/api/setup/mcp-servers/test', { text: `{"mcpServers":{"a":{"command":"x","x":${deep}}}}` }],
    ['/api/setup/changes', { change: { kind: 'mcp_servers', text: `{"mcpServers":{"a":${deep}}}` } }],
    ['/api/setup/changes', { change: { kind: 'mcp_servers', text: `${deep},` } }],
    ['/api/setup/changes', { change: { kind: 'openapi', document: `{"paths":${deep}}`, operations: ['a'] } }],
  ] as const)('is answered by %s as text (%#)', async (path, body) => {
    const { status, text } = await send(path, JSON.stringify(body))
    // Some are refused because of their size.
    expect([path, [200, 400, 413, 422].includes(status)]).toEqual([path, true])
    expect(text).not.toContain('call stack')
  })
})

test.each(DEPTHS)('a session of MCP refuses arguments of %d levels, and goes on', async (levels) => {
  const open = await fetch(`${server.url}/mcp`, {
    ...{ method: 'POST', headers: { ...POST_HEADERS, ...key }, body: JSON.stringify(INITIALIZE) },
  })
  await open.text()
  const session = { 'mcp-session-id': open.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' }
  const message = (args: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good","arguments":${args}}}`
  expect(await send('/mcp', message(deepText(levels)), session)).toMatchObject({ status: 400 })
  expect((await send('/mcp', message('{}'), session)).text).toContain('ran')
})
