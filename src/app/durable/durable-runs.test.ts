import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ToolLoop } from '../../chat/tool-loop.ts'
import { systemClock } from '../../core/clock.ts'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import { silentLog } from '../../core/log.ts'
import { DEFAULT_QUOTA } from '../../core/storage/quota.ts'
import type { Model } from '../../models/model.ts'
import { ModelCatalogue } from '../../models/model-catalogue.ts'
import { openSqliteEngine } from '../../storage/sqlite/sqlite-engine.ts'
import { DurableRuns } from './durable-runs.ts'
import { TextSeal } from './sealed-text.ts'

/** Durable runs with a model that answers the tenant `slow` only when it is released. */
async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-durable-'))
  const options = { folder, instance: randomUUID(), keepDays: 7 }
  const engine = await openSqliteEngine(options, { log: silentLog, clock: systemClock })
  const { durableRuns: store, pauses, once } = engine
  const { registry, executor } = toolyard()
  const loop = new ToolLoop(registry, executor, {})
  const released = Promise.withResolvers<void>()
  const asked: string[] = []
  const model: Model = {
    id: 'world:m',
    async *stream({ messages }) {
      const tenant = String(messages[0]?.content)
      asked.push(tenant)
      if (tenant === 'slow') await released.promise
      // As if another server did it.
      if (tenant === 'gone') for (const id of await store.owned()) await store.cancel(tenant, id, Date.now())
      yield { type: 'text-delta', text: 'Done.' }
      yield { type: 'finish', reason: 'stop' }
    },
  }
  const info = { id: model.id, name: 'World', capabilities: ['function-calling'] } as const
  const catalogue = new ModelCatalogue([{ name: 'world', model: () => model }], [info])
  const durable = new DurableRuns({
    ...{ store, pauses, once, clock: systemClock, log: silentLog, seal: new TextSeal('k'.repeat(43)) },
    quota: () => DEFAULT_QUOTA,
    loop: () => loop,
    models: async () => catalogue,
    contextOf: ({ caller }) => ({ tenant: caller, caller }),
    showsContents: () => true,
    onRun: () => {},
  })
  durable.work()
  onTestFinished(async () => {
    released.resolve()
    await durable.close()
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  })
  /** Starts a run of a tenant, whose caller has the same name. */
  const start = async (tenant: string, detached: boolean, signal?: AbortSignal) => {
    const context = { tenant, caller: tenant, runId: randomUUID(), signal }
    const messages = [{ role: 'user', content: tenant }] as const
    await durable.start({ model, messages, context }, {}, detached)
    return context.runId
  }
  const statusOf = async (tenant: string, id: string) => (await store.get(tenant, id))?.status
  return { store, durable, model, released, asked, start, statusOf }
}

test('runs that clients of one tenant wait for do not stop runs of others that continue', async () => {
  const { store, durable, start, statusOf, asked } = await open()
  for (let one = 0; one < 100; one++) await start('slow', false)
  await vi.waitFor(() => expect(asked).toHaveLength(100))
  // As if its server had died.
  const waiting = { id: 'dead', tenant: 'other', caller: 'other', model: 'world:m', fingerprint: '', created_at: 1 }
  const seal = new TextSeal('k'.repeat(43))
  const messages = [{ role: 'user', content: 'other' }]
  const request = seal.seal(JSON.stringify({ model: 'world:m', messages }), 'dead')
  await store.create({ ...waiting, request })
  await store.release('dead', 1)
  durable.wake()
  await vi.waitFor(async () => expect(await statusOf('other', 'dead')).toBe('finished'), { timeout: 30_000 })
})

test('runs that no client waits for begin when their tenant has a place, and leave places for others', async () => {
  const { released, start, statusOf, asked } = await open()
  const ids: string[] = []
  for (let one = 0; one < 60; one++) ids.push(await start('slow', true))
  const other = await start('other', true)
  await vi.waitFor(async () => expect(await statusOf('other', other)).toBe('finished'), { timeout: 30_000 })
  expect(asked.filter((tenant) => tenant === 'slow')).toHaveLength(50)
  released.resolve()
  for (const id of ids) {
    await vi.waitFor(async () => expect(await statusOf('slow', id)).toBe('finished'), { timeout: 30_000 })
  }
  expect(asked.filter((tenant) => tenant === 'slow')).toHaveLength(60)
})

test('refuses more runs of a tenant whose clients start runs and leave', async () => {
  const { released, start, statusOf, asked } = await open()
  const client = new AbortController()
  const ids: string[] = []
  for (let one = 0; one < 50; one++) ids.push(await start('slow', false, client.signal))
  await start('slow', false, client.signal)
  client.abort()
  await expect(start('slow', false)).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    message: expect.stringContaining("Tenant 'slow' has 50 durable runs whose clients have left"),
  })
  await start('other', false)
  await vi.waitFor(() => expect(asked).toContain('other'))
  released.resolve()
  for (const id of ids) {
    await vi.waitFor(async () => expect(await statusOf('slow', id)).toBe('finished'), { timeout: 30_000 })
  }
  await vi.waitFor(() => start('slow', false), { timeout: 30_000 })
})

test.each([
  [{ tool_choice: { name: 'gone' } }, "tool_choice names the tool 'gone', which is not offered"],
  [{ budget: { cost: 1 } }, 'A cost budget needs the prices of the model: set models[].prices'],
])('a run with a request that no run can begin fails at once: %j', async (wrong, message) => {
  const { store, durable, model, asked } = await open()
  const context = { tenant: 'acme', caller: 'acme', runId: 'r' }
  const events = await durable.start({ model, messages: [{ role: 'user', content: 'Go' }], context, ...wrong })
  await expect(Array.fromAsync(events)).rejects.toThrow(message)
  const run = await store.get('acme', 'r')
  expect(run && [run.status, run.resumes, durable.answerOf(run)?.error]).toEqual(['failed', 0, message])
  expect(asked).toEqual([])
})

test('a client learns that its run was cancelled elsewhere while it ended', async () => {
  const { durable, model, statusOf } = await open()
  const context = { tenant: 'gone', caller: 'gone', runId: 'r' }
  const events = await durable.start({ model, messages: [{ role: 'user', content: 'gone' }], context })
  const last = (await Array.fromAsync(events)).at(-1)
  expect(last).toMatchObject({ type: 'answer', answer: { stop_reason: 'cancelled' } })
  expect(await statusOf('gone', 'r')).toBe('cancelled')
})
