import { randomUUID } from 'node:crypto'
import { STATELESS_HEADERS, weatherCall } from '../mcp/asking.ts'
import { NAME, PARAMS } from '../weather.ts'
import { type Client, EVENTS } from './client.ts'

/** Something that clients do with a server, over and over, so many of them at a time. */
export interface Visit {
  readonly name: string
  readonly clients: number
  /** What each of them waits in between, in milliseconds. */
  readonly pauseMs: number
  go(client: Client): Promise<void>
}

const CALL = { tool_name: NAME, params: PARAMS }
const QUESTIONS = ["What's the weather in Paris?", 'Calculate 15% tip on $45', 'What is 20% of 80?', "What's 2+2?"]
const question = () => QUESTIONS[Math.floor(Math.random() * QUESTIONS.length)]
const completion = (stream: boolean) => ({
  model: 'mini:v1',
  messages: [{ role: 'user', content: question() }],
  stream,
})
const MCP_HEADERS = { accept: 'application/json, text/event-stream', ...STATELESS_HEADERS }

/** Every way in, and some that end badly. */
export const VISITS: readonly Visit[] = [
  visit('calls', 16, 0, async (client) => {
    await client.ask('POST', '/tools/execute', { body: CALL })
  }),
  visit('calls with an idempotency key', 1, 50, async (client) => {
    await client.ask('POST', '/tools/execute', { body: CALL, headers: { 'idempotency-key': randomUUID() } })
  }),
  visit('calls answered with events', 2, 5, async (client) => {
    await client.ask('POST', '/tools/execute', { body: CALL, headers: EVENTS })
  }),
  visit('calls of an isolated tool', 1, 20, async (client) => {
    const body = { tool_name: 'calculate', params: { expression: `sqrt(${Date.now() % 1000}) + 1` } }
    await client.ask('POST', '/tools/execute', { body })
  }),
  visit('calls that are refused', 1, 20, async (client) => {
    await client.ask('POST', '/tools/execute', { body: { tool_name: NAME, params: { location: 42 } }, expects: 400 })
    await client.ask('POST', '/tools/execute', { body: { tool_name: `no_${randomUUID()}`, params: {} }, expects: 404 })
    await client.ask('GET', '/audit', { headers: { authorization: `Bearer ${randomUUID()}` }, expects: 401 })
  }),
  visit('jobs', 1, 50, async (client) => {
    const body = { tool_name: 'echo', params: { text: 'later' } }
    const asked = { body, headers: { prefer: 'respond-async' }, expects: 202 }
    const { id } = JSON.parse(await client.ask('POST', '/tools/execute', asked)) as { readonly id: string }
    await client.ask('GET', `/api/jobs/${id}`, { headers: EVENTS })
  }),
  visit('chat', 1, 10, async (client) => {
    await client.ask('POST', '/chat', { body: { message: question() } })
  }),
  visit('chat answered with events', 1, 10, async (client) => {
    await client.ask('POST', '/chat', { body: { message: question() }, headers: EVENTS })
  }),
  visit('chat whose client hangs up', 1, 20, (client) => client.hangUp('/chat', { message: question() })),
  visit('completions', 1, 10, async (client) => {
    await client.ask('POST', '/v1/chat/completions', { body: completion(false) })
    await client.ask('POST', '/v1/chat/completions', { body: completion(true) })
  }),
  visit('MCP', 2, 0, async (client) => {
    await client.ask('POST', '/mcp', { body: weatherCall(1, 'stateless'), headers: MCP_HEADERS })
  }),
  visit('audit, runs and figures', 1, 50, async (client) => {
    await client.ask('GET', '/audit?limit=100')
    await client.ask('GET', '/audit?outcome=failure&limit=20')
    await client.ask('GET', '/api/runs')
    for (const window of ['1h', '7d']) {
      await client.ask('GET', `/metrics/tools/execution?window=${window}`)
      await client.ask('GET', `/metrics/models?window=${window}`)
    }
    await client.ask('GET', '/metrics')
    await client.ask('GET', '/api/tools/list')
  }),
]

function visit(name: string, clients: number, pauseMs: number, go: Visit['go']): Visit {
  return { name, clients, pauseMs, go }
}
