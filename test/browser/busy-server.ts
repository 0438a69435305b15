import type { Page } from 'playwright-core'
import type { StoredRun } from '../../src/core/storage/run-store.ts'
import { openTestServer, type TestServer } from '../../src/server/fixtures/open-server.ts'
import { toolConfig } from '../../src/server/fixtures/open-tool-server.ts'
import { call as callEntry } from '../../src/storage/fixtures/call-entry.ts'

export const HOUR = 3_600_000
const PAST = 70

export interface BusyServer extends TestServer {
  /** A run that was made just now. */
  readonly runId: string
  answer<Answer>(path: string): Promise<Answer>
}

/** A server with calls and runs of the last day. */
export async function openBusyServer(): Promise<BusyServer> {
  const { config, handlers } = toolConfig({
    hello: async () => 'world',
    broken: async () => Promise.reject(new Error('It broke')),
  })
  const models = [
    { id: 'mini:v1', name: 'Mini', capabilities: ['function-calling' as const], prices: { input: 2, output: 8 } },
  ]
  const objectives = [{ tool: 'hello', success: 0.99 }, { p95_ms: 100_000 }]
  const server = await openTestServer({ ...config, models, objectives }, { local: true, handlers })
  await server.installation.storage.ledger.append(
    Array.from({ length: PAST }, (_, index) =>
      callEntry({
        at: Date.now() - 2 * HOUR - index * 0.25 * HOUR,
        tenant: 'local',
        caller: 'local',
        tool: index % 3 === 0 ? 'hello' : 'slow',
        code: index % 7 === 0 ? 'TIMEOUT' : index % 11 === 0 ? 'RATE_LIMITED' : null,
        durationMs: 20 + ((index * 37) % 400),
        cost: index % 3 === 0 ? 250_000 : null,
        keyId: 'key-of-the-past',
        ...(index % 3 !== 0 && { payload: { content: `{"params":{"index":${index}}}`, storageBytes: 1_000_000 } }),
      }),
    ),
    Array.from({ length: 9 }, (_, index) => storedRun(index)),
  )
  const post = (path: string, body: unknown) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const call = (tool_name: string, params: object) => post('/tools/execute', { tool_name, params })
  await call('hello', { secret: 'never kept' })
  await call('hello', {})
  await call('broken', {})
  const run = await post('/api/tools/test', { query: 'hello', model: 'mini:v1' })
  const { run_id: runId } = (await run.json()) as { run_id: string }
  return { ...server, runId, answer: async (path) => (await fetch(server.url + path)).json() as never }
}

/** A run of some hours ago that went through a few rounds. */
const storedRun = (index: number): StoredRun => ({
  id: `run-${index}`,
  tenant: 'local',
  caller: 'local',
  model: index % 2 === 0 ? 'mini:v1' : 'mini:other',
  service: 'chat',
  started_at: new Date(Date.now() - (2 + index) * HOUR).toISOString(),
  duration_ms: 900,
  stop_reason: index === 4 ? 'max_iterations' : 'stop',
  iterations: 1 + (index % 5),
  tool_calls: 2,
  prompt_tokens: 100,
  completion_tokens: 20,
  cost: 0.01 * (1 + (index % 3)),
  error: null,
  question: 'Why?',
  answer: 'Because.',
  steps: [],
})

/** The choices that stand in the address. */
export const addressOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)
