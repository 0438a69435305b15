import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toolyard } from '../../../core/fixtures/code-yard.ts'
import { POST_HEADERS, statelessMessage } from '../fixtures/http-yard.ts'
import { callerOf, ToolServer } from '../tool-server.ts'
import { PlainAnswers, plainRequest } from './plain-request.ts'
import { StatelessHandler } from './sessions.ts'

/** The same server twice: by itself and over the SDK. */
async function twoWays() {
  const { registry, executor, add } = toolyard()
  const server = new ToolServer({ registry, executor, version: '1' })
  const [plain, handler] = [new PlainAnswers(server), new StatelessHandler(server, 10)]
  const ways: Record<string, (request: IncomingMessage, response: ServerResponse, body: unknown) => unknown> = {
    '/plain': ({ headers }, response, body) => {
      const read = plainRequest(headers, body)
      if (read === undefined) throw new Error('The message is not plain')
      return plain.answer(read, response, callerOf({}))
    },
    '/sdk': (request, response, body) => handler.handle(request, response, body, callerOf({})),
  }
  const http = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => ways[request.url ?? '']?.(request, response, JSON.parse(text)))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await handler.close()
    http.closeAllConnections()
    http.close()
    server.close()
  })
  const { port } = http.address() as AddressInfo
  const ask = async (way: string, message: unknown, headers: Record<string, string>) => {
    const init = { method: 'POST', headers: { ...POST_HEADERS, ...headers }, body: JSON.stringify(message) }
    const response = await fetch(`http://127.0.0.1:${port}${way}`, init)
    const type = response.headers.get('content-type')
    return {
      status: response.status,
      type,
      text: (await response.text()).replace(/("execution_time_ms":)[\d.]+/g, '$1'),
    }
  }
  return { add, ask }
}

const CONTENT = { content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }], _meta: { from: 'here' } }

describe('answers plain requests like the SDK', () => {
  test.each<[string, string, Record<string, unknown>]>([
    ['an object', 'tools/call', { name: 'object', arguments: { a: 1 } }],
    ['a text', 'tools/call', { name: 'text' }],
    ['a failure', 'tools/call', { name: 'failure', arguments: {} }],
    ['a list', 'tools/list', {}],
    ['a cursor that is none', 'tools/list', { cursor: 'x' }],
  ])('%s', async (_what, method, params) => {
    const { add, ask } = await twoWays()
    add('object', async () => ({ city: 'Köln', at: [1, 2.5] }))
    add('text', async () => 'two\nlines "quoted"')
    add('failure', async () => {
      throw new Error('It broke')
    })
    const { message, headers } = statelessMessage(method, params)
    expect(await ask('/plain', message, headers)).toEqual(await ask('/sdk', message, headers))
  })

  test('progress, as a stream of events', async () => {
    const { add, ask } = await twoWays()
    add('slow', async (_params, { report }) => {
      report({ progress: 1, total: 2 })
      await new Promise((resolve) => setTimeout(resolve, 5))
      return 'done'
    })
    const { message, headers } = statelessMessage('tools/call', { name: 'slow', arguments: {} }, { progressToken: 'p' })
    const answer = await ask('/plain', message, headers)
    expect(answer.type).toBe('text/event-stream')
    expect(events(answer.text)).toEqual(events((await ask('/sdk', message, headers)).text))
  })

  test('content of the protocol', async () => {
    const { add, ask } = await twoWays()
    add('image', async () => CONTENT, {
      implementation: { type: 'code', run: async () => CONTENT, returns: 'mcp_content' },
    })
    const { message, headers } = statelessMessage('tools/call', { name: 'image' })
    const [plain, sdk] = [await ask('/plain', message, headers), await ask('/sdk', message, headers)]
    expect(JSON.parse(plain.text)).toEqual(JSON.parse(sdk.text))
  })
})

const events = (text: string) => [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data as string))

describe('plainRequest leaves to the SDK', () => {
  const { message, headers } = statelessMessage('tools/call', { name: 'x', arguments: {} })
  const all = { ...POST_HEADERS, ...headers }
  const older = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } }

  test('nothing that is plain', () => {
    expect(plainRequest(all, message)).toMatchObject({ id: 1, method: 'tools/call', stateless: true })
    expect(plainRequest(POST_HEADERS, older)).toMatchObject({ stateless: false })
  })

  test.each<[string, Record<string, string>, unknown]>([
    ['other methods', POST_HEADERS, { ...older, method: 'ping' }],
    ['several messages', POST_HEADERS, [older]],
    ['notifications', POST_HEADERS, { jsonrpc: '2.0', method: 'tools/call', params: older.params }],
    ['another version of JSON-RPC', POST_HEADERS, { ...older, jsonrpc: '1.0' }],
    ['ids that are none', POST_HEADERS, { ...older, id: 1.5 }],
    ['keys that are none', POST_HEADERS, { ...older, extra: 1 }],
    ['parameters that are none', POST_HEADERS, { ...older, params: { name: 'x', requestState: 's' } }],
    ['arguments that are no object', POST_HEADERS, { ...older, params: { name: 'x', arguments: [] } }],
    ['a token that is none', POST_HEADERS, { ...older, params: { name: 'x', _meta: { progressToken: {} } } }],
    ['clients that take no events', { ...POST_HEADERS, accept: 'application/json' }, older],
    ['an unknown version', { ...POST_HEADERS, 'mcp-protocol-version': '2030-01-01' }, older],
    ['a version in the header only', { ...POST_HEADERS, 'mcp-protocol-version': '2026-07-28' }, older],
    ['an envelope without headers', POST_HEADERS, message],
    ['a name in another spelling', { ...all, 'mcp-name': '=?base64?eA==?=' }, message],
    ['an envelope of another version', { ...all, 'mcp-protocol-version': '2027-01-01' }, withVersion('2027-01-01')],
  ])('%s', (_what, given, body) => {
    expect(plainRequest(given, body)).toBeUndefined()
  })
})

function withVersion(version: string) {
  return statelessMessage('tools/call', { name: 'x' }, { 'io.modelcontextprotocol/protocolVersion': version }).message
}
