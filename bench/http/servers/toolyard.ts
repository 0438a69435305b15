import { setTimeout as pause } from 'node:timers/promises'
import { STATELESS_HEADERS, weatherCall } from '../../mcp/asking.ts'
import { NAME, PARAMS, WEATHER } from '../../weather.ts'
import { postJson } from '../http-request.ts'
import type { HttpServer } from '../http-server.ts'
import { type StartedToolyard, startToolyard } from '../start-toolyard.ts'

/** How long the last records may take to be in the store. */
const SETTLING_MS = 10_000

interface Route {
  readonly path: string
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** What is in every right answer. */
  readonly expects?: string
}

interface Way {
  readonly name?: string
  readonly paced?: boolean
  readonly fresh?: boolean
  /** Whether the server has a key. */
  readonly keyed?: boolean
}

const EXECUTE: Route = { path: '/tools/execute', body: { tool_name: NAME, params: PARAMS }, headers: {} }

const MCP: Route = {
  path: '/mcp',
  body: weatherCall(1, 'stateless'),
  headers: { accept: 'application/json, text/event-stream', ...STATELESS_HEADERS },
}

const CHAT: Route = {
  path: '/v1/chat/completions',
  body: { model: 'mini:v1', messages: [{ role: 'user', content: 'What is 20% of 80?' }] },
  headers: {},
  expects: '20% of 80 is 16.',
}

const variant = (
  id: string,
  { path, body, headers, expects = WEATHER.condition }: Route,
  weight: number,
  { name = 'Toolyard', paced = false, fresh = false, keyed = true }: Way = {},
): HttpServer => ({
  id,
  name,
  asked: `POST ${path}`,
  weight,
  paced,
  fresh,
  async start() {
    const started = await startToolyard(undefined, keyed)
    const { server, close } = started
    const text = postJson(path, body, { ...authorization(started), ...headers })
    return {
      server,
      request: { text, expects },
      check: (requests) => checkRecords(started, requests),
      close,
    }
  },
})

const authorization = ({ key }: StartedToolyard): Record<string, string> =>
  key === '' ? {} : { authorization: `Bearer ${key}` }

/** Everything was on only if every call is in the figures that are made of the audit's records. */
async function checkRecords(started: StartedToolyard, requests: number): Promise<void> {
  const { server } = started
  const until = performance.now() + SETTLING_MS
  for (;;) {
    const headers = authorization(started)
    const response = await fetch(`${server.url}/metrics/tools/execution?window=1h`, { headers })
    const { total } = (await response.json()) as { readonly total?: number }
    if (total === requests) return
    if (performance.now() > until) throw new Error(`${total} of ${requests} calls were recorded.`)
    await pause(100)
  }
}

export const toolyardExecute = variant('server-execute', EXECUTE, 1, { paced: true })
export const toolyardMcp = variant('server-mcp', MCP, 2)
export const toolyardChat = variant('server-chat', CHAT, 20)

const FRESH_WEIGHT = 8
export const toolyardFresh = variant('server-fresh', EXECUTE, FRESH_WEIGHT, {
  name: 'Toolyard, REST, a connection per request',
  fresh: true,
})
export const toolyardFreshWithoutKeys = variant('server-fresh-without-keys', EXECUTE, FRESH_WEIGHT, {
  name: 'Toolyard without keys, REST, a connection per request',
  fresh: true,
  keyed: false,
})
