import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { AuditEvents } from '../../src/app/callers/audit-events.ts'
import { Connections } from '../../src/app/connections/connections.ts'
import { TextSeal } from '../../src/app/durable/sealed-text.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import type { Rate } from '../../src/core/rates.ts'
import type { LeaseRequest, LeaseStore } from '../../src/core/storage/lease-store.ts'
import { allowAt, ENCRYPTION_KEY, openAccounts } from '../../src/server/fixtures/open-connections.ts'
import { LeasedRates } from '../../src/storage/leased-rates.ts'
import { PostgresDatabase } from '../../src/storage/postgres/postgres-database.ts'
import { PostgresStatements, sweep } from '../../src/storage/postgres/postgres-engine.ts'
import type { Engine } from '../../src/storage/sql/engine.ts'
import { sqlStores } from '../../src/storage/sql/sql-stores.ts'
import { FULL } from '../setup/full.ts'
import { ask, type Databases, startDatabases } from './databases.ts'
import { startProxy } from './proxy.ts'

let databases: Databases
beforeAll(async () => {
  databases = await startDatabases()
})
afterAll(() => databases.stop())

const until = (condition: () => unknown) => vi.waitFor(condition, { interval: 50 })
const leasesOf = ({ leases }: Engine): LeaseStore => leases as LeaseStore
const limit = (want: number, more: Partial<LeaseRequest> = {}): LeaseRequest => ({
  key: 'k',
  calls: 100,
  perMs: 1_000,
  want,
  ...more,
})

/** Calls as fast as it is let; gives when they ran. */
async function hammer(rates: LeasedRates, rate: Rate, ms: number): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + ms
  const call = async (): Promise<void> => {
    while (performance.now() < end) {
      const { waitMs } = await rates.take('k', rate, performance.now())
      if (waitMs === 0) times.push(performance.now())
      else await sleep(Math.min(waitMs, 5))
    }
  }
  await Promise.all([call(), call(), call(), call()])
  return times
}

/** The most calls in any window, but for what a busy machine may be late in noting them. */
function most(times: readonly number[], { perMs }: Rate): number {
  return Math.max(...times.map((from) => times.filter((time) => time >= from && time < from + 0.95 * perMs).length))
}

/** Somebody else in the middle of a transaction: what he did is not there yet for others. */
async function halfDone(url: string, text: string, values: unknown[]): Promise<() => Promise<void>> {
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  await client.query(text, values)
  return async () => {
    await client.query('COMMIT')
  }
}

/** Until the work waits for a lock, or is done because it waited for none. */
async function untilHeldUp(url: string, work: Promise<unknown>): Promise<void> {
  let done = false
  work.finally(() => {
    done = true
  })
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  await until(async () => expect(done || (await ask(url, waiting)).length > 0).toBe(true))
}

test('a token that two servers need is renewed once', async () => {
  const accounts = await openAccounts()
  onTestFinished(() => accounts.close())
  const url = await databases.create()
  const base = { clock: systemClock, log: silentLog, env: () => ({}), seal: new TextSeal(ENCRYPTION_KEY) }
  const events = new AuditEvents({ ...base, write: async () => {} })
  const met = Promise.withResolvers<void>()
  const openOne = async () => {
    const { connections: stored } = await databases.open({ url })
    // The server that renews the token waits until the other one has tried to.
    const lease: typeof stored.lease = async (...asked) => {
      const leased = await stored.lease(...asked)
      if (leased) await met.promise
      else met.resolve()
      return leased
    }
    const store = new Proxy(stored, {
      get: (target, name) => (name === 'lease' ? lease : Reflect.get(target, name).bind(target)),
    })
    return new Connections({ ...base, events, store, config: () => accounts.config() })
  }
  const [one, other] = [await openOne(), await openOne()]
  accounts.issuer.state.tokenSeconds = 20
  const { url: asked, state } = await one.start('acme', 'ann', { provider: 'octohub' })
  const ann = { tenant: 'acme', id: 'ann', name: 'Ann' }
  await other.finish('octohub', new URL(await allowAt(asked)).searchParams, state, ann)
  accounts.issuer.state.tokenSeconds = 3600
  const before = accounts.issuer.asked('POST /token')
  const user = { tenant: 'acme', caller: 'ann' }
  const tokens = await Promise.all([one, other, one, other].map((each) => each.token('octohub', user, 'whoami')))
  expect(new Set(tokens).size).toBe(1)
  expect(await accounts.issuer.accountOf(tokens[0] as string)).toBe('ada')
  expect(accounts.issuer.asked('POST /token') - before).toBe(1)
})

describe('leases', () => {
  test('what is given back can be leased by another', async () => {
    const url = await databases.create()
    const [one, other] = [await databases.open({ url }), await databases.open({ url })]
    expect(await leasesOf(one).lease([limit(90)])).toEqual([90])
    expect(await leasesOf(other).lease([limit(50)])).toEqual([10])
    expect(await leasesOf(one).lease([limit(20)])).toEqual([20])
    expect(await leasesOf(other).lease([limit(100)])).toEqual([80])
  })

  test('the part of a server that has died comes free when the time of the limit has passed, not before', async () => {
    const url = await databases.create()
    const proxy = await startProxy(url)
    onTestFinished(() => proxy.stop())
    const aliveMs = 500
    const dying = await databases.open({ url: proxy.url, aliveMs })
    const other = await databases.open({ url, aliveMs })
    const slow = { key: 'slow', perMs: 3_600_000 }
    await leasesOf(dying).lease([limit(60, { perMs: 3_000 }), limit(60, slow)])
    proxy.cut()
    const cutAt = performance.now()
    await until(async () => expect(await leasesOf(other).lease([limit(100, { perMs: 3_000 })])).toEqual([100]))
    expect(performance.now() - cutAt).toBeGreaterThan(2_500)
    expect(await leasesOf(other).lease([limit(100, slow)])).toEqual([40])
    await dying.close()
  })

  test.runIf(FULL)('the part of a server that was closed counts until the time of the limit has passed', async () => {
    const url = await databases.create()
    const [one, other] = [await databases.open({ url }), await databases.open({ url })]
    await leasesOf(one).lease([limit(60), limit(60, { key: 'slow', perMs: 3_600_000 })])
    await one.close()
    expect(await leasesOf(other).lease([limit(100, { key: 'slow', perMs: 3_600_000 })])).toEqual([40])
    await until(async () => expect(await leasesOf(other).lease([limit(100)])).toEqual([100]))
  })

  test('what another is about to lease is waited for', async () => {
    const url = await databases.create()
    const engine = await databases.open({ url })
    await ask(url, "INSERT INTO toolyard.instances (instance, seen_at) VALUES ('other', now() + interval '1 hour')")
    const lease = "SELECT toolyard.lease('other', 10000, 2000, ARRAY['k'], ARRAY[100], ARRAY[1000], ARRAY[80])"
    const commit = await halfDone(url, lease, [])
    const leased = leasesOf(engine).lease([limit(80)])
    await untilHeldUp(url, leased)
    await commit()
    expect(await leased).toEqual([20])
  })

  test('batches that name the same limits in any order neither deadlock nor give too much', async () => {
    const url = await databases.create()
    const engines = await Promise.all([1, 2, 3].map(() => databases.open({ url })))
    const keys = Array.from({ length: 20 }, (_, n) => `key ${n}`)
    const asked = engines.flatMap((engine) =>
      Array.from({ length: 20 }, (_, n) => {
        const turned = [...keys.slice(n), ...keys.slice(0, n)]
        const mixed = n % 2 === 0 ? turned : turned.reverse()
        return leasesOf(engine).lease(mixed.map((key) => limit(10 + n * 3, { key })))
      }),
    )
    await Promise.all(asked)
    const sums = await ask<{ sum: string }>(url, 'SELECT sum(amount) FROM toolyard.leases GROUP BY key')
    expect(sums).toHaveLength(20)
    for (const { sum } of sums) expect(Number(sum)).toBeLessThanOrEqual(100)
  })

  test.runIf(FULL)(
    'three servers that are hammered make no more calls in any window than the limit, and not much fewer',
    async () => {
      const url = await databases.create()
      const engines = await Promise.all([1, 2, 3].map(() => databases.open({ url })))
      const servers = engines.map((engine) => new LeasedRates(leasesOf(engine), { log: silentLog }))
      const rate = { calls: 200, perMs: 1_000 }
      const times = (await Promise.all(servers.map((rates) => hammer(rates, rate, 4_000)))).flat()
      await Promise.all(servers.map((rates) => rates.close()))
      expect(most(times, rate)).toBeLessThanOrEqual(rate.calls * 1.05)
      expect(times.length).toBeGreaterThan(2 * rate.calls)
    },
  )

  test.runIf(FULL)(
    'without the database two servers go on, together within the limit',
    async () => {
      const proxy = await startProxy(await databases.create())
      onTestFinished(() => proxy.stop())
      const engines = await Promise.all([1, 2].map(() => databases.open({ url: proxy.url })))
      const servers = engines.map((engine) => new LeasedRates(leasesOf(engine), { log: silentLog }))
      const rate = { calls: 100, perMs: 1_000 }
      await until(async () => {
        for (const engine of engines) expect(await leasesOf(engine).company()).toMatchObject({ servers: 2 })
      })
      const cut = sleep(1_000).then(() => proxy.cut())
      const times = await Promise.all(servers.map((rates) => hammer(rates, rate, 13_000)))
      await cut
      expect(most(times.flat(), rate)).toBeLessThanOrEqual(rate.calls * 1.05)
      const end = Math.max(...times.flat())
      for (const own of times) expect(own.filter((time) => time > end - 2_000).length).toBeGreaterThan(20)
      await Promise.all(servers.map((rates) => rates.close()))
    },
    60_000,
  )
})

test('a sweep removes what nobody needs any more, and nothing else', async () => {
  const url = await databases.create()
  const engine = await databases.open({ url, instance: 'me' })
  const now = Date.now()
  const claim = (key: string, expiresAt: number) => ({ tenant: 't', caller: 'c', key, fingerprint: 'f', expiresAt })
  await engine.once.claim(claim('past', now - 1))
  await engine.once.claim(claim('current', now + 60_000))
  const result = { success: true, result: 1, tool_name: 'echo', execution_time_ms: 1 } as const
  for (const [id, days] of [
    ['old', 8],
    ['young', 6],
  ] as const) {
    const at = new Date(now - days * 86_400_000).toISOString()
    await engine.jobs.create({ id, tenant: 't', caller: null, tool: 'echo', params: {}, timeout_ms: 1, created_at: at })
    await engine.jobs.end(id, 'done', result, at)
  }
  const waits = {
    tenant: 't',
    caller: null,
    tool: 'echo',
    params: {},
    timeout_ms: 1,
    created_at: '2000-01-01T00:00:00Z',
  }
  await engine.jobs.create({ ...waits, id: 'waits' })
  const chat = { tenant: 't', caller: 'c', chat: 'chat' }
  for (const messageId of ['stale', 'fresh']) await engine.chats.add(chat, { messageId, messages: '[]' })
  await ask(url, `UPDATE toolyard.chat_turns SET at = ${now - 8 * 86_400_000} WHERE message_id = 'stale'`)
  const run = { tenant: 't', caller: 'c', model: 'm', fingerprint: '', request: 'é', created_at: now }
  for (const id of ['ended', 'runs']) await engine.durableRuns.create({ ...run, id })
  const steps = [{ kind: 'answer', data: 'data', shown: '[]' }]
  await engine.durableRuns.end('ended', 1, { status: 'finished', answer: null, at: now - 2 * 86_400_000, steps })
  await leasesOf(engine).lease([limit(0, { key: 'none' }), limit(1, { key: 'some' })])
  await ask(url, "INSERT INTO toolyard.instances (instance, seen_at) VALUES ('gone', now() - interval '2 days')")
  await ask(url, "INSERT INTO toolyard.leases VALUES ('gone', 'gone', 5, now() - interval '2 days')")
  const [past, soon] = [-60_000, 60_000].map((ms) => new Date(now + ms).toISOString())
  await ask(url, `INSERT INTO toolyard.former_secrets VALUES ('past', 'a', '${past}'), ('current', 'b', '${soon}')`)
  const database = await PostgresDatabase.open(url, 1)
  onTestFinished(() => database.close())
  const presence = { instance: 'me', names: ['me'], aliveMs: 10_000, beatMs: 2_000 }
  await sqlStores(new PostgresStatements(database, presence), systemClock, 7).sweep()
  // Nobody is taken for dead while the database or the server that sweeps has just started.
  await sweep(database, { instance: 'another', aliveMs: 1 })
  const left = async (text: string) => (await ask<{ name: string }>(url, text)).map(({ name }) => name)
  expect(await left('SELECT key AS name FROM toolyard.once')).toEqual(['current'])
  expect(await left('SELECT id AS name FROM toolyard.jobs ORDER BY id')).toEqual(['waits', 'young'])
  expect(await left('SELECT message_id AS name FROM toolyard.chat_turns')).toEqual(['fresh'])
  expect(await left('SELECT id AS name FROM toolyard.durable_runs')).toEqual(['runs'])
  expect(await left('SELECT run_id AS name FROM toolyard.run_steps')).toEqual([])
  expect(await left('SELECT key AS name FROM toolyard.leases')).toEqual(['some'])
  expect(await left('SELECT id AS name FROM toolyard.former_secrets')).toEqual(['current'])
  expect(await left('SELECT instance AS name FROM toolyard.instances')).toEqual(['me'])
})
