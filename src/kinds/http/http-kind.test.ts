import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { silentLog } from '../../core/log.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { kindContract } from '../../testing/kind-contract.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { HttpKind } from './http-kind.ts'

const asked: string[] = []
const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  const { token, authorization } = { token: 'first', authorization: request.headers.authorization }
  if (request.url === '/token') {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ access_token: `${token}-${asked.length}-token`, token_type: 'bearer', expires_in: 60 }),
    )
  } else if (request.url?.startsWith('/pages')) {
    const page = Number(new URL(request.url, 'http://api').searchParams.get('page') ?? '1')
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(page > 3 ? [] : [{ id: page, noise: 'x' }]))
  } else if (request.url === '/slow') {
    // Never answered.
  } else {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ url: request.url, authorization }))
  }
})
let home = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  home = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  await Promise.all(opened.map((kind) => kind.close()))
  server.closeAllConnections()
  server.close()
})

const opened: HttpKind[] = []

function openKind(env: Record<string, string> = {}): HttpKind {
  const settings = { allow_private: ['127.0.0.1/32'] }
  const kind = new HttpKind({ settings, env, log: silentLog, clock: systemClock })
  opened.push(kind)
  return kind
}

const toolOf = (implementation: object): ToolDefinition => ({
  name: 'tool',
  description: 'A tool',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  implementation: { type: 'http', ...implementation },
})

function executorOf(tool: ToolDefinition) {
  const registry = new ToolRegistry()
  registry.register(tool)
  return new ToolExecutor(registry, { kinds: { http: openKind() } })
}

describe('the contract of kinds', () => {
  const clauses = () =>
    kindContract({
      kind: openKind(),
      tool: toolOf({ url: `${home}/weather` }),
      params: { city: 'Paris' },
      result: { url: '/weather?city=Paris' },
    })
  for (const [index, name] of clauses()
    .map((clause) => clause.name)
    .entries()) {
    test(name, () => clauses()[index]?.run())
  }
})

test('a definition that cannot work is a problem, and fails with a sentence when it is called all the same', async () => {
  const tool = toolOf({ url: 'ftp://api.example.com/' })
  const problem = openKind().problem(tool)
  expect(problem).toContain('ftp')
  const result = await executorOf(tool).execute('tool', {})
  expect(result).toMatchObject({ error_code: 'EXECUTION_ERROR', error: expect.stringContaining('ftp') })
})

test('a service that never answers is left when the caller goes away', async () => {
  const signal = AbortSignal.timeout(100)
  const result = await executorOf(toolOf({ url: `${home}/slow` })).execute('tool', {}, { signal })
  expect(result).toMatchObject({ error_code: 'CANCELLED' })
})

test('a token is asked for once, and shown with every request of its tenant', async () => {
  const auth = { type: 'oauth2', token_url: `${home}/token`, client_id: 'yard', client_secret: 'a-long-secret' }
  const executor = executorOf(toolOf({ url: `${home}/whoami`, auth }))
  asked.length = 0
  for (const tenant of ['acme', 'acme', 'other']) {
    const result = await executor.execute('tool', {}, { tenant })
    // The token itself never comes back, though the service sends it.
    expect(result).toMatchObject({ success: true, result: { authorization: 'Bearer [redacted]' } })
  }
  expect(asked.filter((url) => url === '/token')).toHaveLength(2)
})

test('combines the pages of a list and shapes the result', async () => {
  const pagination = { type: 'page', page_param: 'page' }
  const executor = executorOf(toolOf({ url: `${home}/pages`, pagination, pick: ['id'] }))
  const result = await executor.execute('tool', {})
  expect(result).toMatchObject({ success: true, result: [{ id: 1 }, { id: 2 }, { id: 3 }] })
})

test('logs no secrets and truncates long paths', async () => {
  const log = captureLog()
  const settings = { allow_private: ['127.0.0.1/32'] }
  const kind = new HttpKind({ settings, env: { KEY: "a key/with 'signs' é" }, log, clock: systemClock })
  opened.push(kind)
  const parameters = { type: 'object', properties: { password: { type: 'string' }, text: { type: 'string' } } }
  const tool = { ...toolOf({ url: `${home}/of/\${KEY}/and?key=\${KEY}` }), parameters }
  const registry = new ToolRegistry()
  registry.register(tool)
  const executor = new ToolExecutor(registry, { kinds: { http: kind } })
  const result = await executor.execute('tool', { password: 'hunter22', text: 'x'.repeat(4_000) })
  expect(result).toMatchObject({ success: true })
  const [line] = log.lines.filter(({ message }) => message === 'HTTP request answered')
  expect(line?.fields.path).toMatch(/^\/of\/\[redacted\]\/and\?key=\[redacted\]&password=\[redacted\]&text=xxx/)
  expect(String(line?.fields.path).length).toBeLessThan(600)
})

test('closes connections and opens no new ones', async () => {
  const kind = openKind()
  await kind.close()
  asked.length = 0
  const registry = new ToolRegistry()
  registry.register(toolOf({ url: `${home}/late` }))
  const result = await new ToolExecutor(registry, { kinds: { http: kind } }).execute('tool', {})
  expect(result).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
  expect(asked).toEqual([])
})

test.each(['its identity is asked', 'it is called'])(
  'a tool has the variables of the time when %s first',
  async (what) => {
    const env: Record<string, string> = {}
    const kind = openKind(env)
    const registry = new ToolRegistry()
    const tool = toolOf({ url: `${home}/\${WHERE}` })
    registry.register(tool)
    const executor = new ToolExecutor(registry, { kinds: { http: kind } })
    const call = () => executor.execute('tool', {})
    expect(await call()).toMatchObject({ success: false })
    env.WHERE = 'first'
    if (what === 'it is called') await call()
    const before = kind.identity(tool)
    env.WHERE = 'second'
    expect(kind.identity(tool)).toEqual(before)
    expect(await call()).toMatchObject({ result: { url: '/first' } })
  },
)
