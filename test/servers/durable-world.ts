import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { expect, onTestFinished, vi } from 'vitest'
import { frame } from '../../src/models/fixtures/wire-frames.ts'
import { ask, startDatabases } from '../postgres/databases.ts'
import { type StartedServer, startServer } from './start-server.ts'

/** A call of a run, such as `pay 1`. */
type Called = `${'look' | 'pay' | 'send' | 'fee' | 'toll'} ${string}`

/** The calls of each turn. Those of one turn are made at once. `send` waits for approval. */
const TURNS: readonly (readonly Called[])[] = [
  ['look a', 'look b', 'pay 1'],
  ['pay 2', 'send 3'],
]
/** The next server allows one call of `fee`, and has no budget for `toll`. */
const LIMITED: Readonly<Record<string, readonly (readonly Called[])[]>> = {
  'fee 2 asked': [['fee 1', 'fee 2']],
  'toll 1 asked': [['toll 1']],
}
/** Its approval is pending when the server dies. */
const WAITING = 'approval pending'
const REQUESTS = ['model 1', 'look a', 'look b', 'pay 1', 'model 2', 'pay 2', 'send 3', 'model 3'] as const
/** Each run dies while its server waits for one of these, or after the answer has arrived and before it is stored. */
const HELD = [...Object.keys(LIMITED), ...REQUESTS.flatMap((request) => [`${request} asked`, `${request} answered`])]
export const RUNS: readonly string[] = [WAITING, ...HELD]

const turnsOf = (run: string) => LIMITED[run] ?? TURNS
/** The writes of a run. */
const writesOf = (run: string) =>
  turnsOf(run)
    .flat()
    .filter((called) => !called.startsWith('look'))

interface Asked {
  readonly run?: string
  readonly id?: string
  readonly messages?: readonly { readonly role: string; readonly content?: unknown; readonly tool_calls?: unknown }[]
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
    await world.configure({}, [])
    return world
  }

  /** The next server finds limits that the first one did not have. */
  restrict(): Promise<void> {
    return this.configure({ rate_limit: { calls: 1, per_ms: 3_600_000 } }, [
      { scope: 'tool', match: 'toll', per: 'day', amount: 0 },
    ])
  }

  async configure(fee: object, budgets: readonly object[]): Promise<void> {
    const url = `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
    const properties = { run: { type: 'string' }, id: { type: 'string' } }
    const tool = (name: string, more: object = {}) => ({
      ...{ name, description: name, parameters: { type: 'object', properties, required: ['run', 'id'] } },
      // A slow machine needs time until all runs are held.
      ...{ effect: 'write', timeout_ms: 300_000, ...more },
      implementation: { type: 'http', url: `${url}/${name}`, method: 'POST' },
    })
    const registry = [
      tool('look', { effect: 'read' }),
      tool('pay'),
      tool('send', { approval: true }),
      tool('fee', fee),
      tool('toll', { cost: { per_call: 1 } }),
    ]
    const config = {
      tools: { enabled: true, registry },
      budgets,
      http: { allow_private: ['127.0.0.1/32'] },
      providers: { openai: { base_url: `${url}/v1`, api_key: 'none' } },
      models: [{ id: 'openai:m', name: 'M', capabilities: ['function-calling'] }],
      server: { drain_ms: 0 },
    }
    await writeFile(join(this.#folder, 'toolyard.config.json'), JSON.stringify(config))
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
    const answered = async ([run, answer]: (typeof late)[number]) => {
      const response = answer()
      await Promise.race([once(response, 'finish'), once(response, 'close')])
      if (!response.writableFinished) throw new Error(`The server no longer waits for the answer of '${run}'`)
    }
    await Promise.all(late.map(answered))
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
    const turn = messages.filter(({ tool_calls }) => tool_calls !== undefined).length
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
  const calls = turnsOf(run)[turn]?.map((called, index) => {
    const [name, id] = called.split(' ')
    return { index, id: `${name}-${id}`, type: 'function', function: { name, arguments: JSON.stringify({ run, id }) } }
  })
  const said = { role: 'assistant', ...(calls === undefined ? { content: 'Done.' } : { tool_calls: calls }) }
  return `${chunk(said, null)}${chunk({}, calls === undefined ? 'stop' : 'tool_calls')}data: [DONE]\n\n`
}

/** What the test does to the store, from outside. */
interface Store {
  /** Nothing can be stored until the lock is released. */
  lock(): Promise<() => Promise<unknown>>
  /** Lets the heartbeat of the server run out at once. */
  bury(): Promise<unknown>
  runs(): Promise<readonly { readonly status: string; readonly answer: string | null }[]>
}

/** What became of the runs. */
export interface Outcome {
  readonly answers: readonly (string | null)[]
  /** The ids of the events of one run after the first, from a server that did not start it. */
  readonly events: readonly string[]
  /** How often a run made each of its requests. */
  count(run: string, request: string): number
  /** How many results with an unknown outcome its model was told. */
  unknown(run: string): number
}

interface Pending {
  readonly id: string
  readonly params: Asked
}

/** Approves the pending calls of runs, as a person does on the page. */
async function approve(url: string, isApproved: (run: string) => boolean): Promise<void> {
  const { approvals } = (await (await fetch(`${url}/api/approvals?status=pending`)).json()) as { approvals: Pending[] }
  for (const { id, params } of approvals) {
    if (!isApproved(params.run ?? '')) continue
    const headers = { 'content-type': 'application/json', origin: url }
    const body = JSON.stringify({ decision: 'approve' })
    expect((await fetch(`${url}/api/approvals/${id}`, { method: 'POST', headers, body })).status).toBe(200)
  }
}

/** The server on which the runs end, started before or after theirs dies. */
interface Next {
  readonly isBeside: boolean
  start(): Promise<StartedServer>
}

/** Starts all runs on a server, kills it, and waits until the runs have ended on the next one. */
async function kill(world: World, server: StartedServer, store: Store, next: Next) {
  const headers = { 'content-type': 'application/json', prefer: 'respond-async' }
  const locations: string[] = []
  for (const message of RUNS) {
    const response = await fetch(`${server.url}/chat`, { method: 'POST', headers, body: JSON.stringify({ message }) })
    expect([response.status, response.headers.get('location')]).toEqual([202, expect.stringMatching(/^\/api\/runs\/./)])
    locations.push(response.headers.get('location') ?? '')
    await response.body?.cancel()
  }
  const held = async () => {
    await approve(server.url, (run) => run !== WAITING)
    expect([...world.held.keys()].sort()).toEqual([...HELD].sort())
    expect((await store.runs()).filter(({ status }) => status === 'waiting')).toHaveLength(1)
  }
  await vi.waitFor(held, { timeout: 90_000, interval: 100 })
  // Not earlier: any server may continue an approved run.
  const other = next.isBeside ? await next.start() : undefined
  const unlock = await store.lock()
  await world.answerLate()
  const died = once(server.process, 'exit')
  server.process.kill('SIGKILL')
  await died
  world.revive()
  await store.bury()
  await unlock()
  const { url } = other ?? (await next.start())
  const ended = async () => (await store.runs()).filter(({ status }) => status === 'finished')
  const done = async () => {
    await approve(url, () => true)
    expect(await ended()).toHaveLength(RUNS.length)
  }
  await vi.waitFor(done, { timeout: 120_000, interval: 200 })
  const after = { 'last-event-id': '1' }
  const events = await (await fetch(`${url}${locations.at(-1)}/events`, { headers: after })).text()
  return {
    answers: (await ended()).map(({ answer }) => answer),
    events: events.match(/(?<=^id: ).*$/gm) ?? [],
    count: (run: string, request: string) => world.seen.get(run)?.filter((seen) => seen === request).length ?? 0,
    unknown: (run: string) => world.told.get(run)?.filter((one) => one.includes('"outcome":"unknown"')).length ?? 0,
  } satisfies Outcome
}

export function expectSameAnswers({ answers, events }: Outcome): void {
  expect(answers.map((answer) => JSON.parse(answer ?? '{}').content)).toEqual(RUNS.map(() => 'Done.'))
  expect(events).toEqual(['2', '3', '4', '5', '6', '7', '8', 'end'])
}

/** A stored answer is never asked for again, one that was not stored once. */
export function expectModelAskedOnce({ count }: Outcome): void {
  for (const run of RUNS) {
    for (let turn = 1; turn <= turnsOf(run).length + 1; turn++) {
      const name = `model ${turn}`
      expect([run, name, count(run, name)]).toEqual([run, name, run.startsWith(name) ? 2 : 1])
    }
  }
}

export function expectWritesOnce({ count, unknown }: Outcome): void {
  for (const run of RUNS) {
    // A call that a limit refuses when the run continues had begun before.
    for (const name of writesOf(run)) expect([run, name, count(run, name)]).toEqual([run, name, 1])
    const isLost = /^(pay|send) . asked/.test(run)
    if (run.startsWith('model') || run === WAITING) expect([run, unknown(run)]).toEqual([run, 0])
    else if (isLost || LIMITED[run] !== undefined) expect([run, unknown(run)]).toEqual([run, 1])
    // The result of a write may have been stored without the results of its turn.
    else expect([run, unknown(run)]).toEqual([run, expect.toSatisfy((times) => times <= 1)])
  }
}

/** On one server, which is started again. */
export async function killOnSqlite(): Promise<Outcome> {
  const world = await World.open()
  const servers: StartedServer[] = []
  const start = async () => {
    const server = await world.start()
    servers.push(server)
    return server
  }
  try {
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
      async runs() {
        const database = new DatabaseSync(world.database, { timeout: 10_000 })
        const runs = database.prepare('SELECT status, answer FROM durable_runs').all()
        database.close()
        return runs as never
      },
    }
    const restart = async () => {
      await world.restrict()
      return start()
    }
    return await kill(world, await start(), store, { isBeside: false, start: restart })
  } finally {
    for (const { process } of servers) process.kill('SIGKILL')
    await world.close()
  }
}

/** On one of two servers. */
export async function killOnPostgres(): Promise<Outcome> {
  const databases = await startDatabases()
  onTestFinished(() => databases.stop())
  const world = await World.open()
  onTestFinished(() => world.close())
  const url = await databases.create()
  const start = (name: string) => world.start({ TOOLYARD_DATABASE_URL: `${url}?application_name=${name}` })
  const server = await start('first')
  onTestFinished(() => void server.process.kill('SIGKILL'))
  const rows = await ask<{ instance: string }>(url, 'SELECT instance FROM toolyard.instances')
  const startOther = async () => {
    await world.restrict()
    const other = await start('other')
    onTestFinished(() => void other.process.kill('SIGKILL'))
    return other
  }
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
    async bury() {
      // PostgreSQL would run its last statements after the lock, since it does not notice that nobody waits for them.
      await ask(url, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'first'")
      await ask(url, 'DELETE FROM toolyard.instances WHERE instance = ANY ($1)', [rows.map(({ instance }) => instance)])
    },
    runs: () => ask(url, 'SELECT status, answer FROM toolyard.durable_runs'),
  }
  return kill(world, server, store, { isBeside: true, start: startOther })
}
