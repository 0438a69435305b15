import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Config } from '../config/config.ts'
import { INHERITED_NAMES, own } from '../core/fixtures/inherited-names.ts'
import { ToolHandlers } from '../kinds/tool-handlers.ts'
import { POST_HEADERS, statelessMessage } from '../mcp/server/fixtures/http-yard.ts'
import { openTestServer, type TestServer } from './fixtures/open-server.ts'

/** Two of each, in an object and in one inside. */
const parametersOf = (name: string) => ({
  type: 'object',
  properties: {
    ...own(name, { type: 'string' }),
    inner: { type: 'object', properties: own(name, { type: 'object' }), additionalProperties: false },
  },
  required: [name],
  additionalProperties: false,
})

const sentTo = (name: string) => ({ ...own(name, 'x'), inner: own(name, { polluted: 1 }) })

const inHeader = (name: string, origin: string) => ({
  method: 'GET',
  url: `${origin}/h`,
  params_in: own(name, 'header'),
})

/** All tools take one parameter with this name. */
function toolsFor(name: string, at: number, origin: string) {
  const tool = (kind: string, implementation: object, parameters: object = parametersOf(name)) => ({
    ...{ name: `${kind}_${at}`, description: 'x', parameters, implementation },
  })
  const http = (kind: string, implementation: object) =>
    tool(kind, { type: 'http', ...implementation }, { type: 'object', properties: own(name, { type: 'string' }) })
  const defaults = {
    ...own(name, { type: 'string', default: 'usual' }),
    b: { type: 'object', properties: own(name, { default: { c: 1 } }) },
  }
  return [
    tool('echo', { type: 'internal', handler: 'echo' }),
    tool('default', { type: 'internal', handler: 'echo' }, { type: 'object', properties: defaults }),
    tool('mock', { type: 'mock', cases: [{ when: own(name, 'x'), mock_response: 'found' }], mock_response: 'no' }),
    http('path', { method: 'GET', url: `${origin}/{${name}}` }),
    http('query', { method: 'GET', url: `${origin}/q` }),
    ...(name === '__proto__' ? [] : [http('header', inHeader(name, origin))]),
    http('body', { method: 'POST', url: `${origin}/b` }),
    http('mapped', { method: 'POST', url: `${origin}/m`, params_mapping: own(name, 'other') }),
    tool('pipe', {
      type: 'pipeline',
      steps: [{ id: name, tool: `echo_${at}`, params: own(name, { $: `$.params['${name}']` }) }],
      output: { ...own(name, { $: `$.steps['${name}']['${name}']` }), param: { $: `$.params['${name}']` } },
    }),
    { ...tool('ask', { type: 'internal', handler: 'echo' }), approval: { self: true } },
    { ...tool('flag', { type: 'mock', mock_response: 'ran' }, { type: 'object' }), permissions: [name] },
    // A tool of that name.
    { ...tool('', { type: 'mock', mock_response: 'ran' }, { type: 'object' }), name },
  ]
}

let server: TestServer
/** Answers with the request. */
const service = createServer(async (request, response) => {
  const { url, headers } = request
  const body = await textOf(request)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ url, headers: Object.entries(headers), body }))
})

beforeAll(async () => {
  await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening))
  const origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const handlers = new ToolHandlers()
  handlers.register('echo', (params) => params, { effect: 'read' })
  const registry = INHERITED_NAMES.flatMap((name, at) => toolsFor(name, at, origin))
  const tenants = Object.fromEntries(INHERITED_NAMES.map((name) => [name, { flags: own(name, true) }]))
  const config = { tools: { enabled: true, registry }, http: { allow_private: ['127.0.0.1'] }, tenants } as Config
  server = await openTestServer(config, { handlers })
  const { skipped, warnings } = await server.installation.manager.loadTools()
  expect({ skipped, warnings }).toEqual({ skipped: [], warnings: [] })
  for (const name of INHERITED_NAMES) keys.set(name, await server.key(name))
})

afterAll(async () => {
  await server?.close()
  service.close()
})

afterEach(() => {
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(BEFORE)
})

const BEFORE = Object.getOwnPropertyNames(Object.prototype)
const keys = new Map<string, string>()

interface Answer {
  readonly result?: unknown
  readonly error?: string
  readonly error_code?: string
}

async function ask(path: string, tenant: string, body?: unknown, headers: Record<string, string> = {}) {
  return fetch(server.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': keys.get(tenant) as string, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

describe.each(INHERITED_NAMES.map((name, at) => [name, at] as const))('%s', (name, at) => {
  const call = async (tool: string, params: unknown, headers = {}): Promise<Answer> =>
    (await ask('/tools/execute', name, { tool_name: tool, params }, headers)).json() as Promise<Answer>
  const sent = sentTo(name)
  const text = JSON.stringify(sent)

  test('is a parameter of calls by REST, MCP and jobs', async () => {
    expect(JSON.stringify((await call(`echo_${at}`, sent)).result)).toBe(text)
    const { message, headers } = statelessMessage('tools/call', { name: `echo_${at}`, arguments: sent })
    const body = await (await ask('/mcp', name, message, { ...POST_HEADERS, ...headers })).text()
    expect(JSON.parse(body.slice(body.indexOf('{'))).result).toMatchObject({ content: [{ type: 'text', text }] })
    const { id } = (await call(`echo_${at}`, sent, { prefer: 'respond-async' })) as unknown as { id: string }
    const job = async () => JSON.stringify(await (await ask(`/api/jobs/${id}`, name)).json())
    await expect.poll(job, { timeout: 30_000, interval: 100 }).toContain(text)
  })

  test('is checked like any other parameter, and has its default', async () => {
    const refused = { error_code: 'INVALID_PARAMETERS', error: `Invalid parameters: missing '${name}'` }
    expect(await call(`echo_${at}`, {})).toMatchObject(refused)
    expect((await call(`echo_${at}`, own(name, 5))).error).toContain(name)
    expect((await call(`echo_${at}`, { ...own(name, 'x'), inner: { other: 1 } })).error).toContain('other')
    const { result } = await call(`default_${at}`, { b: {} })
    expect(JSON.stringify(result)).toBe(JSON.stringify({ b: own(name, { c: 1 }), ...own(name, 'usual') }))
  })

  test('is a parameter of HTTP tools, in every place', async () => {
    const request = async (tool: string) => {
      const { result } = await call(`${tool}_${at}`, own(name, 'a b'))
      return result as { url: string; headers: unknown; body: string }
    }
    expect((await request('path')).url).toBe('/a%20b')
    expect((await request('query')).url).toBe(`/q?${name}=a%20b`)
    if (name !== '__proto__') expect((await request('header')).headers).toContainEqual([name.toLowerCase(), 'a b'])
    expect((await request('body')).body).toBe(JSON.stringify(own(name, 'a b')))
    expect((await request('mapped')).body).toBe('{"other":"a b"}')
  })

  test('is a parameter and a step of pipelines, and chooses the case of a mock', async () => {
    const { result } = await call(`pipe_${at}`, own(name, 'x'))
    expect(JSON.stringify(result)).toBe(JSON.stringify({ ...own(name, 'x'), param: 'x' }))
    expect((await call(`mock_${at}`, own(name, 'x'))).result).toBe('found')
    expect((await call(`mock_${at}`, own(name, 'y'))).result).toBe('no')
  })

  test('is a parameter that an approver can change', async () => {
    const { details } = (await call(`ask_${at}`, sent)) as { details?: { approval?: { id: string } } }
    const changed = { ...sent, ...own(name, 'y') }
    const path = `/api/approvals/${details?.approval?.id}`
    expect((await ask(path, name, { decision: 'approve', params: changed })).status).toBe(200)
    const body = { tool_name: `ask_${at}`, params: sent, approval_id: details?.approval?.id }
    const { result } = (await (await ask('/tools/execute', name, body)).json()) as Answer
    expect(JSON.stringify(result)).toBe(JSON.stringify(changed))
  })

  test('is a parameter in questions, trials and saved cases', async () => {
    const forced = { tool_name: `echo_${at}`, tool_params: sent }
    const chat = await (await ask('/chat', name, { message: 'What is said?', ...forced })).text()
    expect(chat).toContain(`"params":${text}`)
    const trial = {
      query: 'What is said?',
      model: 'mini:v1',
      tools: [`echo_${at}`],
      mock: true,
      mock_results: own(`echo_${at}`, sent),
    }
    expect(await (await ask('/api/tools/test', name, trial)).json()).toMatchObject({ model: 'v1' })
    const saved = { query: 'x', expect: { calls: [{ tool: `echo_${at}`, params: sent }] } }
    expect((await ask('/api/suites/saved/names/cases', name, { case: saved })).status).toBe(201)
    const { cases } = (await (await ask('/api/suites/saved/names', name)).json()) as { cases: object[] }
    expect(JSON.stringify(cases)).toContain(`"params":${text}`)
  })

  test('is a tool, a tenant and a permission', async () => {
    expect(await call(name, {})).toMatchObject({ result: 'ran', tool_name: name })
    expect((await ask(`/api/page/tools/${name}`, name)).status).toBe(200)
    expect(await call(`flag_${at}`, {})).toMatchObject({ result: 'ran' })
    const other = INHERITED_NAMES[(at + 1) % INHERITED_NAMES.length] as string
    expect(await call(`flag_${(at + 1) % INHERITED_NAMES.length}`, {})).toMatchObject({
      error_code: 'PERMISSION_DENIED',
      error: expect.stringContaining(other),
    })
    server.installation.manager.getExecutor().flush()
    await server.installation.sink.flush()
    const { rows } = await server.installation.storage.ledger.audit({ tenant: name, type: 'call', limit: 100 })
    expect(rows.filter((row) => row.tool === name)).toMatchObject([{ tenant: name, outcome: 'success' }])
    for (const path of ['/api/tenants', '/api/costs', '/audit', '/schema/tools']) {
      expect([path, (await ask(path, name)).status]).toEqual([path, 200])
    }
  })

  test('is no parameter of a tool that does not have it, if it leads to a prototype', async () => {
    const result = await call(`mock_${at === 0 ? 3 : 0}`, { ...own(name, 'x'), a: own(name, {}) })
    expect(result.error_code).toBe('INVALID_PARAMETERS')
    if (['constructor', 'prototype', '__proto__'].includes(name)) {
      expect(result.error).toBe(`Invalid parameters: the key '${name}' is not allowed`)
    }
  })
})
