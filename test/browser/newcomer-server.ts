import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import { openTestServer, type TestServer } from '../../src/server/fixtures/open-server.ts'
import { EXAMPLES } from '../../web/src/testing/examples.ts'
import { SHIPPED_CONFIG } from './shipped-config.ts'

const HOUR_MS = 3_600_000

/** Calls as people make them. */
const CALLS = [
  { tool_name: 'get_weather', params: { location: 'Paris' } },
  { tool_name: 'get_weather', params: { location: 'Lisbon', units: 'fahrenheit' } },
  { tool_name: 'calculate', params: { expression: 'sqrt(2) ^ 3' } },
  { tool_name: 'datetime', params: { operation: 'now', timezone: 'Europe/Paris' } },
  { tool_name: 'string', params: { operation: 'slug', text: 'A tool for every yard' } },
  { tool_name: 'search_documents', params: { query: 'idempotency keys' } },
]

/** And those that go wrong, now and then. */
const MISTAKES = [
  { tool_name: 'calculate', params: { expression: '2 +' } },
  { tool_name: 'string', params: { operation: 'shout', text: 'hello' } },
]

/** What a test or a picture needs to know of a model. */
export interface NamedModel {
  readonly id: string
  readonly name: string
}

export interface NewcomerServer extends TestServer {
  /** The model that answers where nobody names one. */
  readonly model: NamedModel
}

/** A server as it is after the first start. */
export async function openNewcomerServer(): Promise<NewcomerServer> {
  const server = await openTestServer(SHIPPED_CONFIG, { local: true })
  return { ...server, model: await defaultModel(server.url) }
}

/** A server that has been used for a day: calls and runs hour by hour, and a few tests on record. */
export async function openUsedServer(): Promise<NewcomerServer & { readonly run: string }> {
  let hoursAgo = 23
  const clock = { ...systemClock, wall: () => Date.now() - hoursAgo * HOUR_MS }
  const home = await mkdtemp(join(tmpdir(), 'toolyard-used-'))
  const file = join(home, 'toolyard.config.json')
  await writeFile(file, `${JSON.stringify(SHIPPED_CONFIG, null, 2)}\n`)
  const server = await openTestServer({}, { local: true, clock, file })
  const model = await defaultModel(server.url)
  for (; hoursAgo > 0; hoursAgo--) {
    const calls = CALLS.slice(0, 1 + ((hoursAgo * 5) % CALLS.length))
    if (hoursAgo % 8 === 0) calls.push(...MISTAKES)
    for (const call of calls) await post(server.url, '/tools/execute', call)
    const { query } = EXAMPLES[hoursAgo % EXAMPLES.length] ?? { query: '' }
    if (hoursAgo % 3 === 0) await post(server.url, '/api/tools/test', { model: model.id, query })
  }
  for (const { query } of EXAMPLES.slice(0, 3)) {
    await post(server.url, '/api/tools/validate', { model: model.id, success: true, details: { query } })
  }
  const query = "What's the weather in Paris and London?"
  const { run_id } = (await post(server.url, '/api/tools/test', { model: model.id, query })) as { run_id: string }
  const close = async () => {
    await server.close()
    await rm(home, { recursive: true, force: true })
  }
  return { ...server, model, run: run_id, close }
}

async function defaultModel(url: string): Promise<NamedModel> {
  const { llm, model } = SHIPPED_CONFIG.responses?.[0] ?? {}
  const { models } = (await (await fetch(`${url}/api/models/list`)).json()) as { models: NamedModel[] }
  const found = models.find(({ id }) => id === `${llm}:${model}`)
  if (found === undefined) throw new Error(`The model ${llm}:${model} of toolyard.config.json is not listed`)
  return found
}

async function post(url: string, path: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return answer.json()
}
