import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ToolLoop } from '../../chat/tool-loop.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import type { Handler } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import { DEFAULT_QUOTA } from '../../core/storage/quota.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { ModelCatalogue } from '../../models/model-catalogue.ts'
import { openSqliteEngine } from '../../storage/sqlite/sqlite-engine.ts'
import { scripted } from '../../testing/stand-ins.ts'
import { DurableRuns } from './durable-runs.ts'
import { TextSeal } from './sealed-text.ts'

const RUNS = process.env.TOOLYARD_TEST_FULL === '1' ? 10_000 : 300
const AT_ONCE = 50
const CALLERS = 200
const EXPIRED = 120
const HOUR_MS = 3_600_000
const TENANT = 'acme'

/** A server: what it asks the store for, and the timers of its durable runs. */
async function start(folder: string, wall: () => number) {
  const clock: Clock = { ...systemClock, wall }
  const engine = await openSqliteEngine({ folder, instance: randomUUID(), keepDays: 7 }, { log: silentLog, clock })
  const asked: string[] = []
  const store = new Proxy(engine.durableRuns, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        asked.push(String(name))
        return method.apply(target, args)
      }
    },
  })
  const timers = new Set<() => void>()
  const counted: Clock = {
    ...clock,
    after(_ms, run) {
      timers.add(run)
      return () => timers.delete(run)
    },
  }
  const { once, pauses } = engine
  const { registry, executor, add } = toolyard({ clock, once, approvals: { pauses } })
  const pay = vi.fn(() => 'paid')
  const slow = { parameters: { type: 'object' }, approval: { expires_ms: 2 * HOUR_MS } }
  add('pay', pay, slow)
  add('look', () => 'seen', { effect: 'read' })
  add('wait', () => new Promise(() => {}), { effect: 'read' })
  const where: (readonly string[] | undefined)[] = []
  const run: Handler = (_params, { child }) => void where.push(child?.().parent?.agents)
  add('where', run, { ...slow, implementation: { type: 'kind', run } })
  const sessions: (string | undefined)[] = []
  add('hurry', pay, { ...slow, approval: { expires_ms: HOUR_MS } })
  const loop = new ToolLoop(registry, executor, { clock })
  const model = { ...scripted(...Array.from({ length: RUNS }, () => 'Done.')), id: 'scripted:turns' }
  const info = { id: model.id, name: 'M', capabilities: ['function-calling'] } as const
  const durable = new DurableRuns({
    ...{ store, once, pauses, clock: counted, log: silentLog, seal: new TextSeal(undefined) },
    quota: () => ({ ...DEFAULT_QUOTA, durable_runs: RUNS }),
    loop: () => loop,
    models: async () => new ModelCatalogue([{ name: 'scripted', model: () => model }], [info]),
    contextOf: ({ caller }, session) => {
      sessions.push(session)
      return caller === 'ended' ? undefined : { tenant: TENANT, caller }
    },
    showsContents: () => true,
    onRun: () => {},
  })
  const close = async () => {
    await durable.close()
    await engine.close()
  }
  return { engine, durable, asked, timers, pay, where, sessions, close }
}

test(`${RUNS} waiting runs cost a restarted server one query and one timer`, { timeout: 900_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-waiting-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  let now = Date.now()
  const wall = () => now
  const before = await start(folder, wall)
  const waiting: { id: string; approval: string }[] = []
  const rest = Array.from({ length: RUNS }, (_, index) => index).values()
  const work = async () => {
    for (const index of rest) {
      const model = scripted({ calls: [{ name: index < EXPIRED ? 'hurry' : 'pay' }] })
      const id = randomUUID()
      const context = { tenant: TENANT, caller: `key-${index % CALLERS}`, runId: id }
      const request = { model, messages: [{ role: 'user', content: 'Pay' }] as const, context }
      for await (const event of before.durable.pausing(request)) {
        if (event.type === 'answer') waiting[index] = { id, approval: event.answer.approvals?.[0]?.id ?? '' }
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  await before.close()

  const server = await start(folder, wall)
  const { durable, asked, timers, pay, engine } = server
  onTestFinished(server.close)
  const idle = async () => vi.waitFor(() => expect(timers.size).toBe(1), { timeout: 60_000 })
  durable.work()
  await idle()
  expect(asked).toEqual(['due'])

  // A decision wakes its run, and no other is looked at.
  const last = waiting.at(-1)
  const decided = { decided_params: null, decided_by: 'olga', decided_by_name: 'olga', decided_at: now, reason: null }
  const decision = { ...decided, decision: 'approve', expires_at: now + HOUR_MS } as const
  expect(await engine.pauses.decide(TENANT, last?.approval ?? '', decision)).toBe(true)
  const status = async (id = '') => (await engine.durableRuns.get(TENANT, id))?.status
  durable.wake()
  await vi.waitFor(async () => expect(await status(last?.id)).toBe('finished'), { timeout: 60_000 })
  expect(pay).toHaveBeenCalledTimes(1)
  expect(asked.filter((name) => name === 'take')).toHaveLength(1)

  // Runs whose approvals have expired are found by the same query.
  now += HOUR_MS + 1
  const hurried = waiting.slice(0, EXPIRED)
  await vi.waitFor(
    async () => {
      durable.wake()
      expect(new Set(await Promise.all(hurried.map(({ id }) => status(id))))).toEqual(new Set(['finished']))
    },
    { timeout: 120_000 },
  )
  await idle()
  expect(asked.filter((name) => name === 'take')).toHaveLength(1 + EXPIRED)
  expect(await status(waiting[EXPIRED]?.id)).toBe('waiting')
  expect(pay).toHaveBeenCalledTimes(1)
})

test('a run that continues belongs to its session, and to the agents that called it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-waiting-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const now = 1_000_000
  const { engine, durable, where, sessions, close } = await start(folder, () => now)
  onTestFinished(close)
  const model = scripted({ calls: [{ name: 'where' }] })
  const parent = { id: '', path: [], agents: ['elsewhere/planner'], deadline: systemClock.now() + 60_000 }
  const context = { tenant: TENANT, caller: 'key', runId: 'r', session: 's', parent }
  await Array.fromAsync(durable.pausing({ model, messages: [{ role: 'user', content: 'Go' }], context }))
  const { pauses } = await engine.pauses.list({ tenant: TENANT, now, limit: 9 })
  const decided = { decided_params: null, decided_by: 'olga', decided_by_name: 'olga', decided_at: now, reason: null }
  const decision = { ...decided, decision: 'approve', expires_at: now + HOUR_MS } as const
  expect(await engine.pauses.decide(TENANT, pauses[0]?.id ?? '', decision)).toBe(true)
  durable.work()
  const stored = () => engine.durableRuns.get(TENANT, 'r')
  await vi.waitFor(async () => expect((await stored())?.status).toBe('finished'), { timeout: 60_000 })
  expect([where, sessions]).toEqual([[parent.agents], ['s']])
})

test('a run whose steps cannot be read is given up', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-waiting-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { engine, durable, close } = await start(folder, () => 1_000_000)
  onTestFinished(close)
  const model = scripted()
  const context = { tenant: TENANT, caller: 'key', runId: 'r' }
  await engine.durableRuns.create({
    ...{ id: 'r', tenant: TENANT, caller: 'key', model: model.id, fingerprint: '', created_at: 1 },
    request: JSON.stringify({ model: model.id, messages: [] }),
  })
  await engine.durableRuns.release('r', 1)
  const run = await engine.durableRuns.get(TENANT, 'r')
  if (run === undefined) throw new Error('There is no run')
  vi.spyOn(engine.durableRuns, 'data').mockRejectedValueOnce(new Error('the disk fails'))
  await expect(durable.resume(run, { model, context })).rejects.toThrow('the disk fails')
  expect(await engine.durableRuns.owned()).toEqual([])
  expect(await engine.durableRuns.get(TENANT, 'r')).toMatchObject({ status: 'running', resumes: 0 })
})

test.each(['leaves', 'is refused'])('nobody is asked for the calls of a client that %s', async (why) => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-waiting-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { engine, durable, close } = await start(folder, () => 1_000_000)
  onTestFinished(close)
  const create = vi.spyOn(engine.durableRuns, 'create')
  if (why === 'is refused') create.mockRejectedValue(new ToolExecutionError('RATE_LIMITED', 'Too many runs'))
  const model = scripted({ calls: [{ name: 'look' }, { name: 'pay' }] })
  const context = { tenant: TENANT, caller: 'key', runId: 'r' }
  const reasons: string[] = []
  for await (const event of durable.pausing({ model, messages: [{ role: 'user', content: 'Pay' }], context })) {
    if (event.type === 'call-result' && why === 'leaves') break
    if (event.type === 'answer') reasons.push(event.answer.stop_reason)
  }
  expect(reasons).toEqual(why === 'leaves' ? [] : ['error'])
  const page = { tenant: TENANT, now: 1_000_000, limit: 9 }
  const { pauses } = await engine.pauses.list({ ...page, status: 'expired' })
  expect(pauses).toMatchObject([{ run_id: 'r', tool: 'pay' }])
})

test('nobody is asked for the calls of a run whose key has ended', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-waiting-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { engine, durable, close } = await start(folder, () => 1_000_000)
  onTestFinished(close)
  const model = scripted({ calls: [{ name: 'pay' }, { name: 'wait' }] })
  const context = { tenant: TENANT, caller: 'ended', runId: 'r' }
  await durable.start({ model, messages: [{ role: 'user', content: 'Pay' }], context })
  const pending = () => engine.pauses.countPending(TENANT, 1_000_000)
  await vi.waitFor(async () => expect(await pending()).toBe(1), { timeout: 30_000 })
  await durable.endCallers(new Set(['ended']))
  expect([await pending(), (await engine.durableRuns.get(TENANT, 'r'))?.status]).toEqual([0, 'failed'])
})

test('a run of a key whose rights have become fewer continues with those', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-waiting-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { engine, durable, sessions, close } = await start(folder, () => 1_000_000)
  onTestFinished(close)
  durable.work()
  const model = { ...scripted({ calls: [{ name: 'wait' }] }), id: 'scripted:turns' }
  const context = { tenant: TENANT, caller: 'key', runId: 'r' }
  await durable.start({ model, messages: [{ role: 'user', content: 'Wait' }], context })
  const stored = () => engine.durableRuns.get(TENANT, 'r')
  const steps = async () => (await engine.durableRuns.data('r')).length
  await vi.waitFor(async () => expect(await steps()).toBe(1), { timeout: 30_000 })
  await durable.endCallers(new Set(['key']), true)
  // Its rights are read again.
  await vi.waitFor(() => expect(sessions).toHaveLength(1), { timeout: 30_000 })
  expect(await stored()).toMatchObject({ status: 'running', fence: 2 })
})
