import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { afterAll, expect, test, vi } from 'vitest'
import { frame } from '../../src/models/fixtures/wire-frames.ts'
import { ask, type Databases, startDatabases } from '../postgres/databases.ts'
import { FULL } from '../setup/full.ts'
import { type StartedServer, startServer } from './start-server.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

/** The requests of each run, in order. Those of one turn are made at once. */
const REQUESTS = ['model 1', 'look a', 'look b', 'pay 1', 'model 2', 'pay 2', 'model 3'] as const
/** Each run dies while its server waits for one of these, or after the answer has arrived and before it is stored. */
const RUNS: readonly string[] = REQUESTS.flatMap((request) => [`${request} asked`, `${request} answered`])

const call = (run: string, index: number, name: string, id: string) => ({
  ...{ index, id: `${name}-${id}`, type: 'function' },
  function: { name, arguments: JSON.stringify({ run, id }) },
})
const TURNS: readonly ((run: string) => object)[] = [
  (run) => ({ tool_calls: [call(run, 0, 'look', 'a'), call(run, 1, 'look', 'b'), call(run, 2, 'pay', '1')] }),
  (run) => ({ tool_calls: [call(run, 0, 'pay', '2')] }),
  () => ({ content: 'Done.' }),
]

interface Asked {
  readonly run?: string
  readonly id?: string
  readonly messages?: readonly { readonly role: string; readonly content?: unknown }[]
}

/** The provider and the tools of all runs. Holds the answer of each run at the request where its server dies. */
class World {
  readonly seen = new Map<string, string[]>()
  /** The results that the model of each run was told last. */
  readonly told = new Map<string, readonly string[]>()
  readonly held = new Map<string, () => ServerResponse>()
  /** Answered requests whose answers the server has not stored. */
  #dead = false
  readonly #http: Server
  readonly #folder: string

  private constructor(http: Server, folder: string) {
    this.#http = http
    this.#folder = folder
    http.on('request', async (request, response) => {
      const asked: Asked = JSON.parse((await text(request)) || '{}')
      this.#answer(request.url ?? '', asked, response.setHeader('content-type', 'text/event-stream'))
    })
  }

  static async open(): Promise<World> {
    const http = createServer().listen(0, '127.0.0.1')
    await once(http, 'listening')
    const world = new World(http, await mkdtemp(join(tmpdir(), 'toolyard-durable-')))
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    const properties = { run: { type: 'string' }, id: { type: 'string' } }
    const tool = (name: string, effect: string) => ({
      ...{ name, description: name, effect, parameters: { type: 'object', properties, required: ['run', 'id'] } },
      implementation: { type: 'http', url: `${url}/${name}`, method: 'POST' },
    })
    const config = {
      tools: { enabled: true, registry: [tool('look', 'read'), tool('pay', 'write')] },
      http: { allow_private: ['127.0.0.1/32'] },
      providers: { openai: { base_url: `${url}/v1`, api_key: 'none' } },
      models: [{ id: 'openai:m', name: 'M', capabilities: ['function-calling'] }],
      server: { drain_ms: 0 },
    }
    await writeFile(join(world.#folder, 'toolyard.config.json'), JSON.stringify(config))
    return world
  }

  get database(): string {
    return join(this.#folder, 'data', 'toolyard.db')
  }

  start(env: Readonly<Record<string, string>> = {}): Promise<StartedServer> {
    return startServer({ TOOLYARD_DATA: join(this.#folder, 'data'), ...env }, this.#folder)
  }

  /** Answers the requests whose answers must arrive, while the store is locked. */
  async answerLate(): Promise<void> {
    const late = [...this.held].filter(([run]) => run.endsWith('answered'))
    await Promise.all(late.map(([, answer]) => once(answer(), 'finish')))
  }

  /** From now on, everything is answered. */
  revive(): void {
    this.#dead = true
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections()
    this.#http.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  #answer(url: string, { run: named, id, messages = [] }: Asked, response: ServerResponse): void {
    const results = messages.filter(({ role }) => role === 'tool')
    const turn = results.length === 0 ? 0 : results.length === 3 ? 1 : 2
    const run = named ?? String(messages.findLast(({ role }) => role === 'user')?.content)
    const name = url.startsWith('/v1') ? `model ${turn + 1}` : `${url.slice(1)} ${id}`
    this.seen.set(run, [...(this.seen.get(run) ?? []), name])
    if (url.startsWith('/v1'))
      this.told.set(
        run,
        results.map(({ content }) => String(content)),
      )
    const answer = () => response.end(url.startsWith('/v1') ? turnText(run, turn) : JSON.stringify({ done: name }))
    if (!this.#dead && run.startsWith(name)) this.held.set(run, answer)
    else answer()
  }
}

function turnText(run: string, turn: number): string {
  const chunk = (delta: object, finish_reason: string | null) =>
    frame({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
      choices: [{ index: 0, delta, finish_reason }],
    })
  const said = { role: 'assistant', ...TURNS[turn]?.(run) }
  return `${chunk(said, null)}${chunk({}, turn < 2 ? 'tool_calls' : 'stop')}data: [DONE]\n\n`
}

/** What the test does to the store, from outside. */
interface Store {
  /** Nothing can be stored until the lock is released. */
  lock(): Promise<() => Promise<unknown>>
  /** Lets the heartbeat of the server run out at once. */
  bury(): Promise<unknown>
  runs(): Promise<readonly { readonly status: string; readonly answer: string | null }[]>
}

/** Starts all runs on a server, kills it, and checks what the world has seen when the runs have ended. */
async function check(world: World, server: StartedServer, store: Store, next: () => Promise<unknown>): Promise<void> {
  const headers = { 'content-type': 'application/json', prefer: 'respond-async' }
  for (const message of RUNS) {
    const body = JSON.stringify({ message })
    const response = await fetch(`${server.url}/chat`, { method: 'POST', headers, body })
    expect([response.status, response.headers.get('location')]).toEqual([202, expect.stringMatching(/^\/api\/runs\/./)])
    await response.body?.cancel()
  }
  await vi.waitFor(() => expect([...world.held.keys()].sort()).toEqual([...RUNS].sort()), { timeout: 60_000 })
  const unlock = await store.lock()
  await world.answerLate()
  const died = once(server.process, 'exit')
  server.process.kill('SIGKILL')
  await died
  world.revive()
  await store.bury()
  await unlock()
  await next()
  const ended = async () => (await store.runs()).filter(({ status }) => status === 'finished')
  await vi.waitFor(async () => expect(await ended()).toHaveLength(RUNS.length), { timeout: 90_000, interval: 200 })
  for (const { answer } of await ended()) expect(JSON.parse(answer ?? '')).toMatchObject({ content: 'Done.' })
  for (const run of RUNS) {
    const count = (name: string) => world.seen.get(run)?.filter((seen) => seen === name).length
    // A stored answer is never asked for again, one that was not stored once, and no write at all.
    for (const name of REQUESTS) {
      const times = name.startsWith('look')
        ? expect.any(Number)
        : name.startsWith('model') && run.startsWith(name)
          ? 2
          : 1
      expect([run, name, count(name)]).toEqual([run, name, times])
    }
    const unknown = world.told.get(run)?.filter((result) => result.includes('"outcome":"unknown"')).length ?? 0
    if (run.startsWith('model')) expect([run, unknown]).toEqual([run, 0])
    if (/^pay . asked/.test(run)) expect([run, unknown]).toEqual([run, 1])
    // The result of a write may have been stored without the results of its turn.
    expect([run, unknown]).toEqual([run, expect.toSatisfy((times) => times <= 1)])
  }
}

const worlds: World[] = []
const servers: StartedServer[] = []
let databases: Databases | undefined
afterAll(async () => {
  for (const { process } of servers) process.kill('SIGKILL')
  for (const world of worlds) await world.close()
  await databases?.stop()
})

async function open(): Promise<World> {
  const world = await World.open()
  worlds.push(world)
  return world
}

test('runs continue after their server was killed at any step, on SQLite', async () => {
  const world = await open()
  const start = async () => {
    const server = await world.start()
    servers.push(server)
    return server
  }
  const server = await start()
  const inside = (use: (database: DatabaseSync) => unknown) => {
    const database = new DatabaseSync(world.database, { timeout: 10_000 })
    try {
      return use(database)
    } finally {
      database.close()
    }
  }
  const store: Store = {
    async lock() {
      const database = new DatabaseSync(world.database, { timeout: 10_000 })
      database.exec('BEGIN IMMEDIATE')
      database.exec('DELETE FROM instances')
      return async () => {
        database.exec('COMMIT')
        database.close()
      }
    },
    // Done under the lock.
    bury: async () => {},
    runs: async () => inside((database) => database.prepare('SELECT status, answer FROM durable_runs').all()) as never,
  }
  await check(world, server, store, start)
})

test.runIf(FULL)('runs continue on the other server after theirs was killed at any step, on PostgreSQL', async () => {
  const world = await open()
  databases = await startDatabases()
  const url = await databases.create()
  const [server, other] = await Promise.all([
    world.start({ TOOLYARD_DATABASE_URL: url }),
    world.start({ TOOLYARD_DATABASE_URL: url }),
  ])
  servers.push(server, other)
  const store: Store = {
    async lock() {
      const client = new pg.Client(url)
      await client.connect()
      await client.query('BEGIN')
      await client.query('LOCK TABLE toolyard.durable_runs, toolyard.run_steps, toolyard.once IN EXCLUSIVE MODE')
      return async () => {
        await client.query('ROLLBACK')
        await client.end()
      }
    },
    // The other server says again that it is alive.
    bury: () => ask(url, 'DELETE FROM toolyard.instances'),
    runs: () => ask(url, 'SELECT status, answer FROM toolyard.durable_runs'),
  }
  await check(world, server, store, async () => {})
})
