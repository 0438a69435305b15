import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { type ConnectionParts, McpConnection } from './mcp-connection.ts'

const SPACES = gzipSync(Buffer.alloc(1024 * 1024, ' '))
const JSON_TYPE = 'application/json'
const SSE = 'text/event-stream'

interface Asked {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string; readonly _meta?: { readonly progressToken?: unknown } }
}

type Answer = (response: ServerResponse, asked: Asked) => void

/** Writes until the client goes away. */
function pour(response: ServerResponse, piece: string | Buffer): void {
  const endless = function* () {
    for (;;) yield piece
  }
  pipeline(Readable.from(endless()), response, () => {})
}

const bomb =
  (type: string, start = ''): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' })
    response.write(gzipSync(start))
    pour(response, SPACES)
  }

const event = (message: object) => `data: ${JSON.stringify(message)}\n\n`
const result = ({ id }: Asked, value: string) => `{"jsonrpc":"2.0","id":${id},"result":${value}}`
const send = (type: string, body: (asked: Asked) => string): Answer => {
  return (response, asked) => void response.writeHead(200, { 'content-type': type }).end(body(asked))
}
const many = (entry: string, count: number) => `[${`${entry},`.repeat(count - 1)}${entry}]`
const TEXT = '{"content":[{"type":"text","text":"hi"}]}'
const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }

/** By the name of the called tool. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  fine: send(JSON_TYPE, (asked) => result(asked, TEXT)),
  'fine, as a stream': send(
    SSE,
    (asked) => `\ufeff: hello\r\nid: 7\r\ndata: ${result(asked, TEXT).replace(',', ',\r\ndata: ')}\r\n\r\n`,
  ),
  'inflated body': bomb(JSON_TYPE, '{"jsonrpc":"2.0","id":1,"result":{"content":['),
  'inflated event': bomb(SSE, 'data: {'),
  'many lines of one event': (response) => {
    response.writeHead(200, { 'content-type': SSE })
    pour(response, `data: ${'x'.repeat(60_000)}\n`)
  },
  'flood of notifications': (response) => {
    response.writeHead(200, { 'content-type': SSE })
    pour(response, event(progress).repeat(100))
  },
  'blank lines': (response) => {
    response.writeHead(200, { 'content-type': SSE })
    pour(response, '\n'.repeat(1_000))
  },
  'deep body': send(JSON_TYPE, (asked) => result(asked, `${'['.repeat(1e6)}${']'.repeat(1e6)}`)),
  'deep event': send(SSE, (asked) => `data: ${result(asked, `${'['.repeat(1e6)}${']'.repeat(1e6)}`)}\n\n`),
  'many blocks': send(JSON_TYPE, (asked) => result(asked, `{"content":${many('{}', 1_001)}}`)),
  'many blocks in an event': send(SSE, (asked) => `data: ${result(asked, `{"content":${many('{}', 1e6)}}`)}\n\n`),
  'many values': send(JSON_TYPE, (asked) => result(asked, `{"content":[{"icons":${many('{}', 10_000)}}]}`)),
  'long structured content': send(JSON_TYPE, (asked) =>
    result(asked, `{"content":[],"structuredContent":{"rows":${many('{}', 200_000)}}}`),
  ),
}

const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'hostile', version: '1' },
}
let port = 0
const server = createServer(async (request, response) => {
  const path = request.url ?? ''
  const body = await text(request)
  const asked: Asked = body.startsWith('{') ? JSON.parse(body) : { method: '' }
  if (path === '/events') return SESSION.then((answer) => answer(request, response))
  if (path.startsWith('/.well-known')) return bomb(JSON_TYPE)(response, asked)
  if (path === '/bomb') return bomb(JSON_TYPE)(response, asked)
  if (request.method !== 'POST') return void response.writeHead(405).end()
  if (asked.id === undefined) return void response.writeHead(202).end()
  if (asked.method === 'initialize') {
    return send(JSON_TYPE, () => result(asked, JSON.stringify(INITIALIZED)))(response, asked)
  }
  if (asked.method === 'tools/list') return bomb(JSON_TYPE)(response, asked)
  if (asked.method === 'tools/call') return ANSWERS[asked.params?.name ?? '']?.(response, asked)
  response
    .writeHead(200, { 'content-type': JSON_TYPE })
    .end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error: { code: -32_601, message: 'no' } }))
})
let answerSession: (answer: (request: IncomingMessage, response: ServerResponse) => void) => void = () => {}
const SESSION = new Promise<(request: IncomingMessage, response: ServerResponse) => void>((resolve) => {
  answerSession = resolve
})

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

function connection(path = '/mcp', onConnected: ConnectionParts['onConnected'] = async () => {}) {
  const reach = {
    type: 'auto',
    url: `http://127.0.0.1:${port}${path}`,
    headers: {},
    fetch: boundedFetch(fetch),
  } as const
  const parts = { log: silentLog, clock: systemClock, onConnected, onChanged: () => {}, onGivenUp: () => {} }
  const made = new McpConnection({ name: 'web', reach }, parts)
  onTestFinished(() => made.close())
  return made
}

const NEVER = new AbortController().signal
const call = (tool: string) =>
  connection()
    .call({ tool, arguments: {}, signal: NEVER, onProgress: () => {} })
    .catch((error: unknown) => error)

describe('the answer to a call', () => {
  test.each(['fine', 'fine, as a stream'])('is passed on if it is %s', async (tool) => {
    expect(await call(tool)).toBe('hi')
  })

  test('may have long structured content', async () => {
    expect(await call('long structured content')).toMatchObject({ rows: { length: 200_000 } })
  })

  const LARGE = 'more than 10485760 bytes'
  test.each([
    ['inflated body', LARGE],
    ['inflated event', LARGE],
    ['many lines of one event', LARGE],
    ['flood of notifications', 'more than 10000 events'],
    ['blank lines', 'more than 200000 lines'],
    ['many blocks', 'more than 1000 entries in "content"'],
    ['many blocks in an event', 'more than 1000 entries in "content"'],
    ['many values', 'more than 10000 values'],
  ])('is refused as too large: %s', async (tool, what) => {
    expect(await call(tool)).toMatchObject({
      code: 'RESULT_TOO_LARGE',
      message: `The server answered with ${what}, which is over the limit`,
      extras: { outcome: 'unknown' },
    })
  })

  test.each(['deep body', 'deep event'])('is refused before it is parsed: %s', async (tool) => {
    expect(await call(tool)).toMatchObject({
      code: 'EXECUTION_ERROR',
      message: 'The server answered with JSON that is nested deeper than 520 levels',
    })
  })
})

test('a list of tools that inflates without end fails the connection', async () => {
  const made = connection('/mcp', async (client) => void (await client.listTools()))
  await expect(made.client(NEVER)).rejects.toThrow('answered with more than 10485760 bytes')
})

test('answers to other requests fail with a message: handshakes, metadata and tokens', async () => {
  await expect(connection('/bomb').client(NEVER)).rejects.toThrow("MCP server 'web' is unavailable")
  const bounded = boundedFetch(fetch)
  const large = 'the server answered with more data than the limits allow'
  await expect(bounded(`http://127.0.0.1:${port}/.well-known/x`)).rejects.toThrow(large)
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  await expect(bounded(`http://127.0.0.1:${port}/bomb`, { method: 'POST', body })).rejects.toThrow(large)
})

test('servers are asked for uncompressed answers', async () => {
  const asked: (string | null)[] = []
  const bounded = boundedFetch(async (_url, init) => {
    asked.push(new Headers(init?.headers).get('accept-encoding'))
    return new Response('hi')
  })
  expect(await (await bounded('http://x.example')).text()).toBe('hi')
  expect(asked).toEqual(['identity'])
})

test('the stream of a session is slowed down and not cut; an answer in it that is too long becomes an error', async () => {
  const clock = new ManualClock()
  const long = `data: {"jsonrpc":"2.0","result":"${'x'.repeat(11e6)}","id":5}\n\n`
  answerSession((_request, response) => {
    response.writeHead(200, { 'content-type': SSE }).write(long)
    response.end(event(progress).repeat(20_000) + event({ last: true }))
  })
  const response = await boundedFetch(fetch, clock)(`http://127.0.0.1:${port}/events`, { headers: { accept: SSE } })
  let read = ''
  const done = response.body?.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write: (piece) => {
        read += piece
      },
    }),
  )
  let pauses = 0
  let over = false
  done?.finally(() => {
    over = true
  })
  while (!over) {
    await vi.waitFor(() => expect(over || clock.pending > 0).toBe(true))
    if (clock.pending > 0) pauses++
    clock.advance(1_000)
  }
  expect(read).toContain('"id":5,"error":{"code":-32603,"message":"The server answered with more than 10485760 bytes')
  expect(read.endsWith(event({ last: true }))).toBe(true)
  expect(read.length).toBeLessThan(event(progress).length * 20_010)
  expect(pauses).toBeGreaterThan(5)
})
