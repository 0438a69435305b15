import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ToolLoop } from '../../chat/tool-loop.ts'
import { systemClock } from '../../core/clock.ts'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import { silentLog } from '../../core/log.ts'
import type { DurableRun } from '../../core/storage/durable-run-store.ts'
import type { Pause } from '../../core/storage/pause-store.ts'
import { DEFAULT_QUOTA } from '../../core/storage/quota.ts'
import type { Model, ModelEvent } from '../../models/model.ts'
import { ModelCatalogue } from '../../models/model-catalogue.ts'
import type { Engine } from '../../storage/sql/engine.ts'
import { openSqliteEngine } from '../../storage/sqlite/sqlite-engine.ts'
import { DurableRuns } from './durable-runs.ts'
import { TextSeal } from './sealed-text.ts'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const TENANT = 'acme'
const CALLER = 'key-1'

/** `pay` and `rush` need approval: within a day, or within an hour. */
type Kind = 'look' | 'write' | 'pay' | 'rush'
type Server = 0 | 1
type Command =
  | { readonly type: 'start'; readonly server: Server; readonly turns: readonly (readonly Kind[])[] }
  | { readonly type: 'decide'; readonly pick: number; readonly verdict: 'approve' | 'change' | 'reject' }
  | { readonly type: 'cancel'; readonly server: Server; readonly pick: number }
  /** Two hours or two days pass. */
  | { readonly type: 'expire'; readonly long: boolean }
  | Crash

/**
 * The server dies at its next operation but so many, before or after that is done. It may stay down for long. If it stalls, it
 * goes on with that operation when the other server has taken its runs.
 */
interface Crash {
  readonly type: 'crash'
  readonly server: Server
  readonly after: number
  readonly done: boolean
  readonly long: boolean
  readonly stalls: boolean
}

const kind = fc.constantFrom<Kind>('look', 'write', 'pay', 'rush')
const server = fc.constantFrom<Server>(0, 1)
const turns = fc.array(fc.array(kind, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 })
const pick = fc.nat({ max: 9 })
const commands = fc.array(
  fc.oneof<fc.Arbitrary<Command>[]>(
    fc.record({ type: fc.constant('start' as const), server, turns }),
    fc.record({
      type: fc.constant('decide' as const),
      pick,
      verdict: fc.constantFrom<'approve' | 'change' | 'reject'>('approve', 'change', 'reject'),
    }),
    fc.record({ type: fc.constant('cancel' as const), server, pick }),
    fc.record({ type: fc.constant('expire' as const), long: fc.boolean() }),
    fc.record({
      type: fc.constant('crash' as const),
      server,
      after: fc.nat({ max: 12 }),
      done: fc.boolean(),
      long: fc.boolean(),
      stalls: fc.boolean(),
    }),
  ),
  { minLength: 3, maxLength: 14 },
)

/** What the simulation knows of a run. */
interface Known {
  readonly id: string
  readonly turns: readonly (readonly Kind[])[]
  /** How often the model was asked, by turn. */
  readonly asked: number[]
  /** The parameters that each call ran with, by turn and index. */
  readonly ran: Map<string, number[]>
  /** By call: the number that was approved, or null. */
  readonly decided: Map<string, number | null>
  cancelled: boolean
  /** A crash or the time may have ended something that was approved. */
  disturbed: boolean
  crashes: number
}

interface State {
  isDead: boolean
  operations: number
  /** Set while the server stalls. */
  wake: (() => void) | undefined
}

type OpenServer = Awaited<ReturnType<Simulation['open']>>

const dead = () => new Promise<never>(() => {})

/**
 * Two servers over one store. Each dies as a process does: nothing that it does later has an effect. Or it stalls: the other one
 * takes its runs, and it goes on without knowing.
 */
class Simulation {
  readonly runs = new Map<string, Known>()
  readonly #folder: string
  readonly #servers: (OpenServer | undefined)[] = [undefined, undefined]
  #later = 0
  #armed: (Omit<Crash, 'after'> & { after: number }) | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** A server, with operations that can be its last. */
  async open(server: Server) {
    const clock = { ...systemClock, wall: () => Date.now() + this.#later }
    const instance = randomUUID()
    const options = { folder: this.#folder, instance, keepDays: 7, aliveMs: 100 * DAY_MS }
    // Its own time goes on: the heartbeats of servers that are idle are not simulated.
    const engine = await openSqliteEngine(options, { log: silentLog, clock: systemClock })
    const death = Promise.withResolvers<void>()
    const state: State = { isDead: false, operations: 0, wake: undefined }
    let awake = Promise.resolve()
    const operate = async <T>(work: () => T | Promise<T>): Promise<T> => {
      if (state.isDead) return dead()
      state.operations++
      await awake
      const isArmed = this.#armed?.server === server
      const last = isArmed && this.#armed !== undefined && this.#armed.after-- <= 0 ? this.#armed : undefined
      if (last === undefined) return work()
      this.#armed = undefined
      if (last.stalls) {
        if (last.long) this.#pass()
        const stalled = Promise.withResolvers<void>()
        awake = stalled.promise
        const done = last.done ? await work() : undefined
        this.#bury(instance)
        state.wake = stalled.resolve
        await awake
        return last.done ? (done as T) : work()
      }
      if (last.done) await work()
      state.isDead = true
      if (last.long) this.#pass()
      death.resolve()
      return dead()
    }
    const mortal = <Store extends object>(store: Store): Store =>
      new Proxy(store, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          return (...args: unknown[]) => operate(() => value.apply(target, args))
        },
      })
    const [once, pauses, store] = [mortal(engine.once), mortal(engine.pauses), mortal(engine.durableRuns)]
    const setup = toolyard({ clock, once, approvals: { pauses } })
    const loop = new ToolLoop(setup.registry, setup.executor, { clock })
    const call = ({ run, place, n }: Record<string, unknown>) =>
      operate(() => {
        const { ran } = this.runs.get(String(run)) as Known
        ran.set(String(place), [...(ran.get(String(place)) ?? []), Number(n)])
        return { done: n }
      })
    const properties = { run: { type: 'string' }, place: { type: 'string' }, n: { type: 'number' } }
    const parameters = { type: 'object', properties }
    setup.add('look', call, { effect: 'read', parameters })
    setup.add('write', call, { effect: 'write', parameters })
    setup.add('pay', call, { effect: 'write', approval: true, parameters })
    setup.add('rush', call, { effect: 'write', approval: { expires_ms: HOUR_MS }, parameters })
    const model: Model = { id: 'world:m', stream: (request) => this.#answer(request.messages, operate) }
    const catalogue = new ModelCatalogue(
      [{ name: 'world', model: () => model }],
      [{ id: model.id, name: 'World', capabilities: ['function-calling'] }],
    )
    const durable = new DurableRuns({
      ...{ store, once, pauses, clock, log: silentLog, seal: new TextSeal('k'.repeat(43)), quota: () => DEFAULT_QUOTA },
      loop: () => loop,
      models: async () => catalogue,
      contextOf: () => ({ tenant: TENANT, caller: CALLER }),
      showsContents: () => true,
      onRun: () => {},
    })
    durable.work()
    return { engine, durable, model, clock, state, instance, death: death.promise }
  }

  async *#answer(
    messages: readonly { readonly role: string; readonly content: unknown; readonly tool_calls?: unknown }[],
    operate: <T>(work: () => T) => Promise<T>,
  ): AsyncGenerator<ModelEvent> {
    const run = this.runs.get(String(messages[0]?.content)) as Known
    const index = messages.filter(({ tool_calls }) => tool_calls !== undefined).length
    await operate(() => {
      run.asked[index] = (run.asked[index] ?? 0) + 1
    })
    const calls = run.turns[index] ?? []
    for (const [position, name] of calls.entries()) {
      const place = `${index + 1}.${position}`
      const text = JSON.stringify({ run: run.id, place, n: 1 })
      yield { type: 'tool-call-end', call: { id: place, type: 'function', function: { name, arguments: text } } }
    }
    if (calls.length === 0) yield { type: 'text-delta', text: 'Done.' }
    yield { type: 'finish', reason: calls.length === 0 ? 'stop' : 'tool_calls' }
  }

  async do(command: Command): Promise<void> {
    const { engine, durable, model, clock, death, state } = await this.#living('server' in command ? command.server : 0)
    // Nobody waits for a server that has stalled.
    const unlessDead = async (work: Promise<unknown>) => {
      let isOver = false
      const stalled = async () => {
        while (!isOver && state.wake === undefined) await turn()
      }
      await Promise.race([work, death, stalled()]).finally(() => {
        isOver = true
      })
    }
    if (command.type === 'crash') this.#armed = { ...command }
    if (command.type === 'expire' && command.long) this.#pass()
    else if (command.type === 'expire') this.#later += 2 * HOUR_MS
    if (command.type === 'start') {
      const id = randomUUID()
      const known = { asked: [], ran: new Map(), decided: new Map(), cancelled: false, disturbed: false, crashes: 0 }
      this.runs.set(id, { id, turns: command.turns, ...known })
      const context = { tenant: TENANT, caller: CALLER, runId: id }
      const messages = [{ role: 'user', content: id }] as const
      await unlessDead(durable.start({ model, messages, context }).then((events) => events.return()))
      await this.#settle()
      const { durableRuns } = (await this.#living(0)).engine
      if ((await durableRuns.get(TENANT, id)) === undefined) this.runs.delete(id)
    }
    if (command.type === 'cancel') {
      const open = await this.#stored(({ ended_at }) => ended_at === null)
      const run = open[command.pick % open.length]
      if (run !== undefined) await unlessDead(durable.cancel(run))
      await this.#settle()
      for (const { id } of await this.#stored(({ status }) => status === 'cancelled')) this.#known(id).cancelled = true
    }
    if (command.type === 'decide') {
      const { pauses } = await engine.pauses.list({ tenant: TENANT, status: 'pending', limit: 100, now: clock.wall() })
      const pause = pauses[command.pick % pauses.length]
      if (pause !== undefined) await this.#decide(pause, command.verdict, engine)
    }
    await this.#settle()
  }

  async #decide({ id, run_id, call_id, params }: Pause, verdict: string, engine: Engine): Promise<void> {
    const approved = verdict === 'reject' ? null : verdict === 'change' ? 2 : 1
    const now = Date.now() + this.#later
    const decided = await engine.pauses.decide(TENANT, id, {
      decision: approved === null ? 'reject' : 'approve',
      decided_params: approved === 2 ? { ...params, n: 2 } : null,
      ...{ decided_by: 'p', decided_by_name: 'p', decided_at: now, reason: null, expires_at: now + DAY_MS },
    })
    expect(decided).toBe(true)
    this.#known(run_id ?? '').decided.set(call_id ?? '', approved)
  }

  /** Longer than approvals last, and results of idempotency keys. */
  #pass(): void {
    this.#later += 2 * DAY_MS
    for (const run of this.runs.values()) run.disturbed = true
  }

  /** Lets the servers work until nothing is left to do. One that has stalled goes on when the other one has settled. */
  async #settle(): Promise<void> {
    for (;;) {
      const both = [await this.#living(0), await this.#living(1)]
      const before = both.map(({ state }) => state.operations)
      await turn()
      const awake = both.filter(({ state }) => state.wake === undefined)
      const { engine, clock } = awake[0] as OpenServer
      // In this order: a run is taken when it is due.
      const due = await engine.durableRuns.due(clock.wall(), 9)
      const owned = await Promise.all(awake.map((one) => one.engine.durableRuns.owned()))
      if (due.length > 0) for (const { durable } of awake) durable.wake()
      else if (
        owned.flat().length === 0 &&
        both.every(({ state }, n) => !state.isDead && state.operations === before[n])
      ) {
        if (awake.length === both.length) return
        for (const one of both.filter(({ state }) => state.wake !== undefined)) this.#wake(one)
      }
    }
  }

  /** A server that has stalled goes on, until it knows that it has lost its runs. */
  #wake({ state, durable, instance }: OpenServer): void {
    this.#beat('INSERT INTO instances (instance, seen_at) VALUES (?, unixepoch() * 1000)', instance)
    state.wake?.()
    state.wake = undefined
    durable.wake()
  }

  async #living(index: Server): Promise<OpenServer> {
    const known = this.#servers[index]
    if (known?.state.isDead) {
      this.#disturb()
      // Its heartbeat ends.
      await known.engine.close()
      this.#servers[index] = undefined
    }
    const living = this.#servers[index] ?? (await this.open(index))
    this.#servers[index] = living
    return living
  }

  #disturb(): void {
    for (const run of this.runs.values()) Object.assign(run, { disturbed: true, crashes: run.crashes + 1 })
  }

  /** The other server takes the runs of this one. */
  #bury(instance: string): void {
    this.#disturb()
    this.#beat('DELETE FROM instances WHERE instance = ?', instance)
  }

  #beat(sql: string, instance: string): void {
    const database = new DatabaseSync(join(this.#folder, 'toolyard.db'), { timeout: 10_000 })
    database.prepare(sql).run(instance)
    database.close()
  }

  async #stored(which: (run: DurableRun) => boolean): Promise<DurableRun[]> {
    const { durableRuns } = (await this.#living(0)).engine
    const all = await Promise.all([...this.runs.keys()].map((id) => durableRuns.get(TENANT, id)))
    return all.filter((run) => run !== undefined).filter(which)
  }

  #known(id: string): Known {
    return this.runs.get(id) as Known
  }

  /** Compares the store and the world with what may have happened. */
  async check(): Promise<void> {
    const { engine, clock } = await this.#living(0)
    const { pauses } = await engine.pauses.list({ tenant: TENANT, status: 'pending', limit: 100, now: clock.wall() })
    for (const { id, status } of await this.#stored(() => true)) {
      const run = this.#known(id)
      const waits = pauses.some(({ run_id }) => run_id === id)
      const expected = run.cancelled ? 'cancelled' : waits ? 'waiting' : 'finished'
      if (status !== 'failed' || run.crashes <= 5) expect([id, status]).toEqual([id, expected])
      for (const times of run.asked) expect(times).toBeLessThanOrEqual(1 + run.crashes)
      for (const [index, kinds] of run.turns.entries()) {
        for (const [position, name] of kinds.entries()) {
          const place = `${index + 1}.${position}`
          this.#checkCall(run, place, name, status === 'finished')
        }
      }
    }
  }

  #checkCall({ ran, decided, disturbed }: Known, place: string, name: Kind, finished: boolean): void {
    const given = ran.get(place) ?? []
    if (name !== 'look') expect([place, given.length]).toEqual([place, expect.toSatisfy((n) => n <= 1)])
    const approved = decided.get(place)
    // Nothing runs that nobody approved, and only with the approved parameters.
    const isGuarded = name === 'pay' || name === 'rush'
    if (isGuarded) for (const n of given) expect([place, n]).toEqual([place, approved])
    if (!finished || disturbed) return
    const once = !isGuarded || typeof approved === 'number'
    expect([place, given.length]).toEqual([place, once ? 1 : 0])
  }

  /** Every run comes to an end when its approvals have expired. */
  async end(): Promise<void> {
    this.#armed = undefined
    // Each turn may ask.
    for (let asked = 0; asked < 2; asked++) await this.do({ type: 'expire', long: true })
    await this.check()
    expect(await this.#stored(({ ended_at }) => ended_at === null)).toEqual([])
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server?.durable.close()
    for (const server of this.#servers) await server?.engine.close()
  }
}

test('durable runs keep their promises whatever crashes, is decided, expires or is cancelled', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (all) => {
      const folder = await mkdtemp(join(tmpdir(), 'toolyard-simulation-'))
      const simulation = new Simulation(folder)
      try {
        for (const command of all) {
          await simulation.do(command)
          await simulation.check()
        }
        await simulation.end()
      } finally {
        await simulation.close()
        await rm(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: FULL ? 500 : 20 },
  )
})
