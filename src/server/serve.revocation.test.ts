import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import type { Handler } from '../core/handler.ts'
import { INITIALIZE, POST_HEADERS, statelessMessage } from '../mcp/server/fixtures/http-yard.ts'
import type { GivenTurn } from '../testing/stand-ins.ts'
import { Conversations } from './ai-sdk/conversations.ts'
import { openScriptedServer } from './fixtures/open-scripted-server.ts'

/** A server whose tool `wait` waits until it is cancelled, and the calls of it so far. */
async function openWaitingServer() {
  const calls: { readonly caller: string; readonly signal: AbortSignal }[] = []
  const wait: Handler = ({ caller }, { signal }) => {
    calls.push({ caller: String(caller), signal })
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const call = { name: 'wait', arguments: { caller: 'doomed' } }
  const server = await openScriptedServer([{ calls: [call] }, { calls: [call] }], { tools: { wait } })
  const admin = await server.key('acme')
  const doomed = await server.key('acme', 'operator')
  const kept = await server.key('acme', 'operator')
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': doomed, ...headers },
      body: JSON.stringify(body),
    })
  const { keys } = server.installation.storage
  const revoke = async () => {
    const id = server.installation.callers.find(doomed)?.id
    return fetch(`${server.url}/api/keys/${id}`, { method: 'DELETE', headers: { 'x-api-key': admin } })
  }
  return { ...server, keys, calls, admin, doomed, kept, post, revoke }
}

const EVENTS = { accept: 'text/event-stream' }
const execute = (caller: string) => ({ tool_name: 'wait', params: { caller }, timeout_ms: 60_000 })
/** The text of a response, or of what came before the connection was closed. */
const rest = async (response: Response): Promise<string> => {
  let text = ''
  try {
    for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk)
  } catch {}
  return text
}

test('revoking a key ends its calls, streams, MCP sessions and jobs, and no others', async () => {
  const { url, app, kept, doomed, calls, post, revoke, installation } = await openWaitingServer()
  const running = (caller: string) => calls.filter((call) => call.caller === caller && !call.signal.aborted).length

  // Eight jobs of a tenant run at once, so two of these wait.
  const jobs: string[] = []
  for (let index = 0; index < 10; index++) {
    const answer = await post('/tools/execute', execute('doomed'), { prefer: 'respond-async' })
    jobs.push(((await answer.json()) as { id: string }).id)
  }
  await vi.waitFor(() => expect(running('doomed')).toBe(8))

  const plain = post('/tools/execute', execute('doomed'))
  const streams = [
    await post('/tools/execute', execute('doomed'), EVENTS),
    await post('/chat', { message: 'Go.' }, EVENTS),
    await post('/v1/chat/completions', {
      model: 'scripted:turns',
      stream: true,
      messages: [{ role: 'user', content: 'Go.' }],
    }),
    await fetch(`${url}/api/jobs/${jobs[0]}`, { headers: { 'x-api-key': doomed, ...EVENTS } }),
  ]
  const opened = await post('/mcp', INITIALIZE, POST_HEADERS)
  await opened.text()
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string }
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }
  await post('/mcp', initialized, { ...POST_HEADERS, ...session })
  const mcpCall = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'wait', arguments: { caller: 'doomed' } },
  }
  const listening = statelessMessage('subscriptions/listen', { notifications: { toolsListChanged: true } })
  const calling = statelessMessage('tools/call', { name: 'wait', arguments: { caller: 'doomed' } })
  streams.push(
    await fetch(`${url}/mcp`, { headers: { 'x-api-key': doomed, ...EVENTS, ...session } }),
    await post('/mcp', listening.message, { ...POST_HEADERS, ...listening.headers }),
  )
  const mcpCalls = [
    post('/mcp', mcpCall, { ...POST_HEADERS, ...session }),
    post('/mcp', calling.message, { ...POST_HEADERS, ...calling.headers }),
  ]
  const keptCall = post('/tools/execute', execute('kept'), { 'x-api-key': kept, ...EVENTS })
  await vi.waitFor(() => expect([running('doomed'), running('kept')]).toEqual([14, 1]))

  expect((await revoke()).status).toBe(204)

  const texts = await Promise.all(streams.map(rest))
  for (const text of texts.slice(0, 4)) expect(text).toContain('event: key-ended')
  expect((await (await plain).json()) as object).toMatchObject({ error_code: 'CANCELLED' })
  for (const call of mcpCalls) await call.then(rest, () => undefined)
  expect([running('doomed'), running('kept')]).toEqual([0, 1])
  await vi.waitFor(() => expect(app.streams.size).toBe(1))
  await vi.waitFor(async () => {
    const stored = await Promise.all(jobs.map((id) => installation.storage.jobs.get('acme', id)))
    const ended = stored.map((job) => [job?.state, job?.result?.success === false && job.result.error_code])
    expect(ended).toEqual([
      ...Array(8).fill(['cancelled', 'CANCELLED']),
      ...Array(2).fill(['done', 'PERMISSION_DENIED']),
    ])
  })
  expect(calls.filter(({ caller }) => caller === 'doomed')).toHaveLength(14)
  void (await keptCall).body?.cancel()
})

test('a request whose key is revoked while its body is sent is refused', async () => {
  const { url, app, admin, doomed, revoke, keys, installation } = await openWaitingServer()
  // The key of an admin, which could create another key.
  const stored = (await keys.list()).find(({ id }) => id === installation.callers.find(admin)?.id)
  const send = (path: string, body: string) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const head = [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1', `X-API-Key: ${path === '/mcp' ? doomed : admin}`]
    const more = ['Content-Type: application/json', `Accept: ${POST_HEADERS.accept}`, `Content-Length: ${body.length}`]
    socket.write(`${[...head, ...more].join('\r\n')}\r\n\r\n${body.slice(0, -1)}`)
    return async () => {
      socket.write(body.slice(-1))
      const [answer] = (await once(socket, 'data')) as [Buffer]
      socket.destroy()
      return answer.toString().slice(0, 12)
    }
  }
  const finish = send('/api/keys', JSON.stringify({ name: 'another', role: 'admin' }))
  await vi.waitFor(() => expect(app.traffic.busy).toBe(true))
  const finishMcp = send('/mcp', JSON.stringify(INITIALIZE))
  await vi.waitFor(() => expect(app.mcp.busy).toBe(true))
  await revoke()
  await keys.revoke(String(stored?.id), new Date().toISOString())
  await installation.callers.load(keys)
  expect([await finish(), await finishMcp()]).toEqual(['HTTP/1.1 401', 'HTTP/1.1 401'])
  expect((await keys.list()).map(({ name }) => name)).not.toContain('another')
})

test('a replay ends with its key, and a question that waited for another one is not asked', async () => {
  const asked: AbortSignal[] = []
  const waiting: GivenTurn = async ({ signal }) => {
    asked.push(signal as AbortSignal)
    await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    return ''
  }
  const { url, key, installation } = await openScriptedServer(['Hi.', waiting, waiting, waiting], {
    config: { storage: { payloads: 'all' } },
  })
  const [admin, doomed] = [await key('acme'), await key('acme', 'operator')]
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': doomed },
      body: JSON.stringify(body),
    })
  const { run_id } = (await (await post('/chat', { message: 'Go.' })).json()) as { run_id: string }
  await vi.waitFor(async () => expect(await installation.storage.runs.get('acme', run_id)).toBeDefined())
  const replay = post(`/api/runs/${run_id}/replay`, { model: 'scripted:turns' })
  await vi.waitFor(() => expect(asked).toHaveLength(1))
  const question = (id: string) => ({
    id: 'chat',
    model: 'scripted:turns',
    messages: [{ id, role: 'user', parts: [{ type: 'text', text: 'Go.' }] }],
  })
  const first = post('/api/ai-sdk/chat', question('one'))
  await vi.waitFor(() => expect(asked).toHaveLength(2))
  // Waits until the first question has ended.
  const entered = vi.spyOn(Conversations.prototype, 'begin')
  const second = post('/api/ai-sdk/chat', question('two'))
  await vi.waitFor(() => expect(entered).toHaveBeenCalled())
  const id = installation.callers.find(doomed)?.id
  await fetch(`${url}/api/keys/${id}`, { method: 'DELETE', headers: { 'x-api-key': admin } })
  await Promise.all([replay, first, second].map(async (sent) => rest(await sent)))
  expect(asked.map(({ aborted }) => aborted)).toEqual([true, true])
})
