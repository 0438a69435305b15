import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { frame } from '../../src/models/fixtures/wire-frames.ts'
import { type StartedServer, startServer } from './start-server.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

/** The requests of a run, in an order in which each can be the last that its server makes. */
const KILLS = ['model 1', 'look a', 'look b', 'pay 1', 'model 2', 'pay 2', 'model 3'] as const
const call = (index: number, name: string, id: string) => ({
  ...{ index, id: `${name}-${id}`, type: 'function' },
  function: { name, arguments: JSON.stringify({ id }) },
})
const TURNS = [
  { tool_calls: [call(0, 'look', 'a'), call(1, 'look', 'b'), call(2, 'pay', '1')] },
  { tool_calls: [call(0, 'pay', '2')] },
  { content: 'Done.' },
]

/** The provider and the tools of one run. Kills the server at one of its requests. */
class World {
  readonly seen: string[] = []
  readonly told: string[] = []
  readonly servers: StartedServer[] = []
  #http: Server | undefined
  readonly #killAt: string
  #killed = false
  folder = ''

  constructor(killAt: string) {
    this.#killAt = killAt
  }

  async open(env: Readonly<Record<string, string>>, count: number): Promise<void> {
    this.folder = await mkdtemp(join(tmpdir(), 'toolyard-durable-'))
    this.#http = createServer(async (request, response) => {
      const body = JSON.parse((await text(request)) || '{}')
      const answer = this.#answer(request.url ?? '', body)
      // The connection ends with the process.
      if (answer === undefined) for (const { process } of this.servers.splice(0, 1)) process.kill('SIGKILL')
      else response.setHeader('content-type', 'text/event-stream').end(answer)
    }).listen(0, '127.0.0.1')
    await once(this.#http, 'listening')
    const url = `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
    const tool = (name: string, effect: string) => ({
      ...{ name, description: name, effect },
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      implementation: { type: 'http', url: `${url}/${name}`, method: 'POST' },
    })
    const config = {
      tools: { enabled: true, registry: [tool('look', 'read'), tool('pay', 'write')] },
      http: { allow_private: ['127.0.0.1/32'] },
      providers: { openai: { base_url: `${url}/v1`, api_key: 'none' } },
      models: [{ id: 'openai:m', name: 'M', capabilities: ['function-calling'] }],
      server: { drain_ms: 0 },
    }
    await writeFile(join(this.folder, 'toolyard.config.json'), JSON.stringify(config))
    const all = { TOOLYARD_DATA: join(this.folder, 'data'), ...env }
    for (let started = 0; started < count; started++) this.servers.push(await startServer(all, this.folder))
  }

  async close(): Promise<void> {
    for (const { process } of this.servers) process.kill('SIGKILL')
    this.#http?.closeAllConnections()
    this.#http?.close()
    await rm(this.folder, { recursive: true, force: true })
  }

  #answer(url: string, body: { id?: string; messages?: { role: string; content?: unknown }[] }): string | undefined {
    const results = (body.messages ?? []).filter(({ role }) => role === 'tool')
    const turn = results.length === 0 ? 0 : results.length === 3 ? 1 : 2
    const name = url.startsWith('/v1') ? `model ${turn + 1}` : `${url.slice(1)} ${body.id}`
    this.seen.push(name)
    if (name === this.#killAt && !this.#killed) {
      this.#killed = true
      return undefined
    }
    if (!url.startsWith('/v1')) return JSON.stringify({ done: name })
    this.told.splice(0, this.told.length, ...results.map(({ content }) => String(content)))
    const chunk = (delta: object, finish_reason: string | null) =>
      frame({
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta, finish_reason }],
      })
    return `${chunk({ role: 'assistant', ...TURNS[turn] }, null)}${chunk({}, turn < 2 ? 'tool_calls' : 'stop')}data: [DONE]\n\n`
  }
}

/** Starts a run, whose server is killed, and checks what the world has seen when the run has ended. */
async function check(killAt: string, world: World, status: () => Promise<string | undefined>, restart: boolean) {
  const headers = { 'content-type': 'application/json', prefer: 'respond-async' }
  const url = world.servers[0]?.url
  const before = world.servers.length
  const body = JSON.stringify({ message: 'Go' })
  // The server may die before it has answered.
  const response = await fetch(`${url}/chat`, { method: 'POST', headers, body }).catch(() => undefined)
  if (response !== undefined) {
    expect([response.status, response.headers.get('location')]).toEqual([202, expect.stringMatching(/^\/api\/runs\/./)])
  }
  await vi.waitFor(() => expect(world.servers.length).toBe(before - 1), { timeout: 60_000 })
  if (restart) world.servers.push(await startServer({ TOOLYARD_DATA: join(world.folder, 'data') }, world.folder))
  await vi.waitFor(async () => expect(await status()).toBe('finished'), { timeout: 90_000, interval: 200 })
  const counts = Object.fromEntries(KILLS.map((name) => [name, world.seen.filter((seen) => seen === name).length]))
  // Only what was not stored is repeated, and no write at all.
  for (const name of ['pay 1', 'pay 2'] as const) expect([killAt, name, counts[name]]).toEqual([killAt, name, 1])
  for (const name of ['model 1', 'model 2', 'model 3'] as const) {
    expect([killAt, name, counts[name]]).toEqual([killAt, name, name === killAt ? 2 : 1])
  }
  const unknown = world.told.filter((result) => result.includes('"outcome":"unknown"'))
  expect([killAt, unknown.length]).toEqual([
    killAt,
    expect.toSatisfy((n) => (killAt.startsWith('pay') ? n === 1 : n <= 1)),
  ])
}

test('a run continues after its server was killed during a write or a model request, on SQLite', async () => {
  const one = async (killAt: string) => {
    const world = new World(killAt)
    try {
      await world.open({}, 1)
      const status = async () => {
        const database = new DatabaseSync(join(world.folder, 'data', 'toolyard.db'), { readOnly: true })
        try {
          return database.prepare('SELECT status FROM durable_runs').get()?.status as string | undefined
        } finally {
          database.close()
        }
      }
      await check(killAt, world, status, true)
    } finally {
      await world.close()
    }
  }
  await Promise.all((['pay 1', 'model 2'] as const).map(one))
})
