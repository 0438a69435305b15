import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { openTestServer, type TestServer } from '../fixtures/open-server.ts'
import { toolConfig } from '../fixtures/open-tool-server.ts'

const failing = (code: ConstructorParameters<typeof ToolExecutionError>[0]) => async () => {
  throw new ToolExecutionError(code, `It was ${code}`)
}
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const COUNT = { counted: 0 }

let server: TestServer
beforeAll(async () => {
  const { config, handlers } = toolConfig({
    weather: { run: async ({ city }) => ({ city, sunny: true }), parameters: CITY },
    words: async () => 'Grüße, 世界 🌍',
    nothing: async () => null,
    unavailable: failing('SERVICE_UNAVAILABLE'),
    broken: async () => {
      throw new Error('It broke')
    },
    slow: () => new Promise(() => {}),
    large: async () => 'x'.repeat(1_100_000),
    nearly: async () => 'x'.repeat(900_000),
    secret: { run: async () => 1, permissions: ['secrets'] },
    limited: { run: async () => 1, rate_limit: { calls: 1, per_ms: 60_000 } },
    counted: { run: async () => ++COUNT.counted, effect: 'write' },
  })
  server = await openTestServer({ ...config, limits: { body_bytes: 40_000 } }, { local: true, handlers })
})
afterAll(() => server.close())

const post = (body: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}/tools/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
const call = (tool_name: unknown, params: unknown = {}, more: object = {}, headers: Record<string, string> = {}) =>
  post(JSON.stringify({ tool_name, params, ...more }), headers)

describe('POST /tools/execute', () => {
  test('answers with the envelope of success', async () => {
    const response = await call('weather', { city: 'Köln' })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await response.json()).toEqual({
      success: true,
      result: { city: 'Köln', sunny: true },
      tool_name: 'weather',
      execution_time_ms: expect.any(Number),
    })
    expect(await (await call('words')).json()).toMatchObject({ result: 'Grüße, 世界 🌍' })
    expect(await (await call('nothing')).json()).toMatchObject({ success: true, result: null })
    expect((await (await call('nearly')).json()) as object).toMatchObject({ result: 'x'.repeat(900_000) })
  })

  test.each<[string, unknown, number, string]>([
    ['weather', { city: 7 }, 400, 'INVALID_PARAMETERS'],
    ['weather', [], 400, 'INVALID_PARAMETERS'],
    ['secret', {}, 403, 'PERMISSION_DENIED'],
    ['wether', {}, 404, 'TOOL_NOT_FOUND'],
    ['../x', {}, 404, 'TOOL_NOT_FOUND'],
    ['broken', {}, 500, 'EXECUTION_ERROR'],
    ['large', {}, 500, 'RESULT_TOO_LARGE'],
    ['unavailable', {}, 503, 'SERVICE_UNAVAILABLE'],
  ])('calling %s with %j gives %i %s with the envelope', async (tool, params, status, code) => {
    const response = await call(tool, params)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ success: false, error_code: code, tool_name: tool })
    expect(response.headers.get('retry-after')).toBe(status === 503 ? '1' : null)
  })

  test('a call past the deadline that it brings gives 504', async () => {
    const response = await call('slow', {}, { timeout_ms: 1 })
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ error: 'Tool execution timed out after 1000ms' })
  })

  test('a rate limit of the tool is 429 with Retry-After', async () => {
    expect((await call('limited')).status).toBe(200)
    const response = await call('limited')
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(response.headers.get('ratelimit')).toBeNull()
    expect(await response.json()).toMatchObject({ error_code: 'RATE_LIMITED' })
  })

  test.each<[string, string, Record<string, string>]>([
    ['the body is not JSON', '{', {}],
    ['the body is not JSON', '', {}],
    ['the body must be one JSON object {"tool_name", "params"}', '[]', {}],
    ['the body must be one JSON object {"tool_name", "params"}', 'null', {}],
    ['the body must be one JSON object {"tool_name", "params"}', '"weather"', {}],
    ["missing 'tool_name'", '{}', {}],
    ['tool_name must be a string', '{"tool_name":7}', {}],
    ['the body is larger than 40000 bytes', JSON.stringify({ tool_name: 'weather', params: 'x'.repeat(40_000) }), {}],
    ['send the call as application/json', '{"tool_name":"weather"}', { 'content-type': 'text/plain' }],
  ])('says with an envelope that %s', async (problem, body, headers) => {
    const response = await post(body, headers)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      success: false,
      error: `Invalid parameters: ${problem}`,
      error_code: 'INVALID_PARAMETERS',
      tool_name: '',
      execution_time_ms: 0,
    })
  })

  test('rejects a timeout that is not a number', async () => {
    const response = await call('weather', { city: 'Rome' }, { timeout_ms: '5' })
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ tool_name: 'weather', error: 'Invalid parameters: timeout_ms must be a number' }),
    ])
  })

  test.each<[object, string]>([
    ...[5, true, {}, ['a'], null].map((id): [object, string] => [{ session_id: id }, 'session_id must be a string']),
    [{ session_id: '' }, 'session_id must not be empty'],
    [{ approval_id: 5 }, 'approval_id must be a string'],
    [{ timeout_ms: null }, 'timeout_ms must be a number'],
    [{ timeoutMs: 5 }, "'timeoutMs' is not known. Did you mean 'timeout_ms'?"],
    [{ tenant: 'globex' }, "'tenant' is not known"],
  ])('refuses %j: a field is never ignored', async (more, problem) => {
    const response = await call('weather', { city: 'Rome' }, more)
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ tool_name: 'weather', error: `Invalid parameters: ${problem}` }),
    ])
  })

  test('reads a chunked body, and limits a body without a length', async () => {
    const pieces = (...texts: string[]) =>
      fetch(`${server.url}/tools/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: ReadableStream.from(texts.map((text) => new TextEncoder().encode(text))),
        duplex: 'half',
      } as RequestInit)
    const read = await pieces('{"tool_name":"wea', 'ther","params":', '{"city":"R', 'ome"}}')
    expect(await read.json()).toMatchObject({ result: { city: 'Rome' } })
    const long = await pieces('{"tool_name":"', ...Array.from({ length: 50 }, () => 'x'.repeat(1_000)), '"}')
    expect([long.status, await long.json()]).toEqual([400, expect.objectContaining({ tool_name: '' })])
  })

  test('a repeat with the same idempotency key gets the first answer, and the tool is not run again', async () => {
    const before = COUNT.counted
    const once = { 'idempotency-key': 'order-7' }
    const [first, second] = [await call('counted', {}, {}, once), await call('counted', {}, {}, once)]
    expect(await first.json()).toMatchObject({ result: before + 1 })
    expect(await second.json()).toMatchObject({ result: before + 1 })
    expect(COUNT.counted).toBe(before + 1)
    const other = await call('counted', { other: true }, {}, once)
    expect([other.status, await other.json()]).toMatchObject([400, { error: expect.stringContaining('order-7') }])
  })

  test('rejects a body that is nested too deeply', async () => {
    for (const [depth, words] of [
      [65, '64 levels'],
      [5_000, 'the body is nested deeper than 72 levels'],
    ] as const) {
      const body = `{"tool_name":"weather","params":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`
      const response = await post(body)
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: expect.stringContaining(words), error_code: 'INVALID_PARAMETERS' },
      ])
    }
  })

  test('an address that is written otherwise leads there, too', async () => {
    const response = await fetch(`${server.url}/tools/execute?trace=1`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tool_name: 'weather', params: { city: 'Rome' } }),
    })
    expect([response.status, await response.json()]).toMatchObject([200, { result: { city: 'Rome' } }])
  })

  test('a connection that stays open gets the same headers as one that does not', async () => {
    const headersOf = async (connection: string) => {
      const { resolve, promise } = Promise.withResolvers<IncomingMessage>()
      const headers = { 'content-type': 'application/json', connection }
      request(`${server.url}/tools/execute`, { method: 'POST', headers, agent: false }, resolve).end(
        '{"tool_name":"none"}',
      )
      const answer = await promise
      answer.resume()
      // The length depends on the digits of execution_time_ms.
      const { connection: kept, 'keep-alive': time, date, 'content-length': _, ...rest } = answer.headers
      expect(Math.abs(Date.parse(date as string) - Date.now())).toBeLessThan(10_000)
      return { kept, time, rest, status: `${answer.statusCode} ${answer.statusMessage}` }
    }
    const open = await headersOf('keep-alive')
    const closed = await headersOf('close')
    expect(open).toMatchObject({ kept: 'keep-alive', time: 'timeout=72', status: '404 Not Found' })
    expect(closed).toMatchObject({ kept: 'close', status: '404 Not Found' })
    expect(open.rest).toEqual(closed.rest)
  })

  test('two requests on one connection are answered in turn', async () => {
    const [one, two] = await Promise.all([call('weather', { city: 'A' }), call('weather', { city: 'B' })])
    expect([await one.json(), await two.json()]).toMatchObject([{ result: { city: 'A' } }, { result: { city: 'B' } }])
  })
})
