import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { auditColumns, COLUMN_TYPES } from '../../src/core/records/audit-columns.ts'
import type { Change } from '../../src/core/storage/storage.ts'
import { call, event } from '../../src/storage/fixtures/call-entry.ts'
import { chainRow, GENESIS } from '../../src/storage/ledger/chain-row.ts'
import { SealRegister, sealTail } from '../../src/storage/ledger/seal-register.ts'
import { OwnChain, verifyChains } from '../../src/storage/ledger/verify-chain.ts'
import { migrations } from '../../src/storage/postgres/migrations.ts'
import { auditColumnStep } from '../../src/storage/sql/audit-log.ts'
import type { Engine } from '../../src/storage/sql/engine.ts'
import { captureLog } from '../../src/testing/stand-ins.ts'
import { FULL } from '../setup/full.ts'
import { startPostgres } from '../setup/start-postgres.ts'
import { ask, type Databases, startDatabases } from './databases.ts'
import { startProxy } from './proxy.ts'
import { answer, claimOf, job, settings, until } from './samples.ts'

let databases: Databases
beforeAll(async () => {
  databases = await startDatabases()
})
afterAll(() => databases.stop())

/** Creates the schema of an older version. */
async function createOld(url: string, version: number): Promise<void> {
  await ask(url, 'CREATE SCHEMA toolyard')
  await ask(url, 'CREATE TABLE toolyard.migrations (version integer PRIMARY KEY, applied_at timestamptz DEFAULT now())')
  for (const [index, migration] of migrations.slice(0, version).entries()) {
    await ask(url, migration)
    await ask(url, 'INSERT INTO toolyard.migrations (version) VALUES ($1)', [index + 1])
  }
}

describe('migrations', () => {
  test('any number of servers that start at once on an empty database all find it whole', async () => {
    const url = await databases.create()
    const engines = await Promise.all(Array.from({ length: 8 }, () => databases.open({ url })))
    await Promise.all(engines.map((engine, n) => engine.settings.put(settings(`s${n}`))))
    expect(await engines[0]?.settings.list('limits')).toHaveLength(8)
    const versions = await ask(url, 'SELECT version FROM toolyard.migrations ORDER BY version')
    expect(versions).toEqual(migrations.map((_, index) => ({ version: index + 1 })))
  })

  test('what is there is kept when a server starts again', async () => {
    const url = await databases.create()
    const first = await databases.open({ url })
    await first.settings.put(settings('kept'))
    await first.close()
    const second = await databases.open({ url })
    expect(await second.settings.list('limits')).toEqual([settings('kept')])
  })

  test('keys and test results of an older version are read after the migration', async () => {
    const url = await databases.create()
    await createOld(url, 3)
    const key = "'acme', 'name', 'user'"
    await ask(url, `INSERT INTO toolyard.keys VALUES ('a', 'h1', ${key}, '{"x,y",z}', NULL, 'now', NULL, NULL)`)
    await ask(url, `INSERT INTO toolyard.keys VALUES ('b', 'h2', ${key}, NULL, NULL, 'now', NULL, NULL)`)
    const tests = [
      { timestamp: 't', success: true },
      { timestamp: 'u', success: false, error: 'a "b", c' },
    ]
    await ask(
      url,
      "INSERT INTO toolyard.validations VALUES ('acme', 'mini:one', 2, 1, $1), ('acme', 'two', 0, 0, '{}')",
      [tests.map((one) => JSON.stringify(one))],
    )
    const engine = await databases.open({ url })
    expect((await engine.keys.list()).map(({ scopes }) => scopes)).toEqual([['x,y', 'z'], null])
    expect(await engine.validations.list('acme')).toEqual([
      { model_id: 'mini:one', test_count: 2, success_count: 1, test_history: tests },
      { model_id: 'two', test_count: 0, success_count: 0, test_history: [] },
    ])
  })

  test.runIf(FULL)('a chain from before events verifies after the migration, and takes events', async () => {
    const url = await databases.create()
    await createOld(url, 6)
    await ask(url, "INSERT INTO toolyard.chains (name) VALUES ('old')")
    let before = GENESIS
    for (const [index, entry] of [call(), call({ model: 'mini:v1' }), call({ code: 'TIMEOUT' })].entries()) {
      const row = chainRow(entry, { chain: 'old', seq: index + 1, before }, () => null)
      before = row.hash
      await ask(
        url,
        `INSERT INTO toolyard.audit (chain, seq, at, tenant, caller, source, tool, model, schema_hash, outcome, code,
           duration_ms, attempts, hash)
         VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
        [
          ...[row.seq, row.at, row.tenant, row.caller, row.source, row.tool, row.model, row.schema_hash, row.outcome],
          ...[row.code, row.duration_ms, row.attempts, row.hash],
        ],
      )
    }
    const { tables } = await databases.open({ url })
    expect(await verifyChains(tables, 'key', new Map())).toMatchObject({ rows: 3, faults: [] })
    const later = new OwnChain(tables, 'later', 'key', systemClock)
    await later.append([call(), event()], (rows) => tables.write({ rows, runs: [], cells: [] }))
    expect(await verifyChains(tables, 'key', new Map())).toMatchObject({ chains: 2, rows: 5, faults: [] })
    expect(await ask(url, 'SELECT event, subject, detail FROM toolyard.audit_log WHERE event IS NOT NULL')).toEqual([
      { event: 'key.created', subject: 'key-2', detail: '{"name":"ci"}' },
    ])
    await ask(url, "UPDATE toolyard.audit SET detail = '{}' WHERE event IS NOT NULL")
    expect((await verifyChains(tables, 'key', new Map())).faults).toMatchObject([{ chain: 'later', at: 2 }])
  })

  test('the audit log has the columns of the list, and a step that adds one gives the same', async () => {
    const url = await databases.create()
    await (await databases.open({ url })).close()
    const layout = () =>
      ask<{ name: string; type: string; required: boolean }>(
        url,
        `SELECT column_name AS name, data_type AS type, is_nullable = 'NO' AS required FROM information_schema.columns
         WHERE table_schema = 'toolyard' AND table_name = 'audit' AND column_name NOT IN ('chain', 'seq', 'at', 'hash')`,
      )
    const view = () => ask(url, "SELECT pg_get_viewdef('toolyard.audit_log'::regclass) AS sql")
    const [columns, shown] = [await layout(), await view()]
    const byName = (list: readonly { name: string }[]) => list.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    expect(byName(columns)).toEqual(
      byName(
        auditColumns.map(({ name, type, required = false }) => ({ name, type: COLUMN_TYPES[type].postgres, required })),
      ),
    )
    await ask(url, 'DROP VIEW toolyard.audit_log')
    const { name } = auditColumns.at(-1) as (typeof auditColumns)[number]
    await ask(url, `ALTER TABLE toolyard.audit DROP COLUMN ${name}`)
    await ask(url, 'CREATE VIEW toolyard.audit_log AS SELECT 1')
    await ask(url, auditColumnStep(name).postgres)
    expect([byName(await layout()), await view()]).toEqual([byName(columns), shown])
  })

  test('a database of a newer version is refused by a sentence that says so', async () => {
    const url = await databases.create()
    await (await databases.open({ url })).close()
    await ask(url, 'INSERT INTO toolyard.migrations (version) VALUES (99)')
    await expect(databases.open({ url })).rejects.toThrow(
      `The database was written by a newer version of Toolyard (its version is 99, this one knows up to ${migrations.length}): use that version, or another database`,
    )
  })

  test('without pgvector the store is ready, says that it keeps no vectors, and logs it once', async () => {
    const log = captureLog()
    const engine = await databases.open({}, { log })
    expect(await engine.status()).toEqual({ engine: 'postgres', ready: true, vectors: false })
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'The database has no pgvector: collections are searched by words only'],
    ])
  })

  test('a user who may not create a schema can use one that was made for him', async () => {
    const url = await databases.create()
    const user = `user_${randomUUID().replaceAll('-', '')}`
    await ask(url, `CREATE ROLE ${user} LOGIN PASSWORD 'pass'`)
    await ask(url, `CREATE SCHEMA toolyard AUTHORIZATION ${user}`)
    const theirs = new URL(url)
    theirs.username = user
    theirs.password = 'pass'
    const engine = await databases.open({ url: theirs.href })
    expect(await engine.status()).toMatchObject({ ready: true })
  })
})

test('reports added rows whose numbers are not safe integers, and lists the others', async () => {
  const url = await databases.create()
  const { tables } = await databases.open({ url })
  const row = chainRow(call(), { chain: 'one', seq: 1, before: GENESIS }, () => null)
  await tables.write({ rows: [row], runs: [], cells: [] })
  const columns = ['at', ...auditColumns.map(({ name }) => name), 'hash'].join(', ')
  const numbers = ['-9223372036854775808', '-9007199254740992', '9007199254740993']
  for (const number of numbers) {
    await ask(
      url,
      `INSERT INTO toolyard.audit (chain, seq, ${columns}) SELECT chain, ${number}, ${columns} FROM toolyard.audit WHERE seq = 1`,
    )
  }
  expect(await verifyChains(tables, 'key', new Map())).toMatchObject({
    rows: 1,
    faults: numbers.map((number) => ({ chain: 'one', problem: `Row ${number} should not exist: it was added` })),
  })
  expect(await tables.rows({ tenant: undefined, limit: 10 })).toEqual([row])
})

describe('seals', () => {
  test('of servers that seal at once get consecutive numbers, and a removed one is missed', async () => {
    const url = await databases.create()
    const engines = [await databases.open({ url }), await databases.open({ url }), await databases.open({ url })]
    const chains = Array.from({ length: 24 }, (_, index) => `chain-${index}`)
    const write = async (name: string, { tables }: Engine) => {
      const row = chainRow(call(), { chain: name, seq: 1, before: GENESIS }, () => null)
      await tables.write({ rows: [row], runs: [], cells: [] })
    }
    await Promise.all(chains.map((name, index) => write(name, engines[index % 3] as Engine)))
    const verify = async () => (await verifyChains((engines[0] as Engine).tables, 'key', new Map())).faults
    // Each server seals every chain.
    const sealAll = (engine: Engine, from: number) => {
      const register = new SealRegister(engine.tables, 'key')
      const mine = chains.map((_, index) => chains[(index + from) % chains.length] as string)
      return Promise.all(mine.map((name) => sealTail(engine.tables, register, name, () => 1)))
    }
    const all = Promise.all(engines.map((engine, index) => sealAll(engine, index * 8)))
    expect(await verify()).toEqual([])
    expect((await all).flat()).toEqual(Array.from({ length: 72 }, () => undefined))
    const numbers = await ask(url, "SELECT split_part(mac, ':', 1)::int AS n FROM toolyard.seals ORDER BY n")
    expect(numbers).toEqual(chains.map((_, index) => ({ n: index + 1 })))
    expect(await verify()).toEqual([])
    await ask(url, "DELETE FROM toolyard.seals WHERE mac LIKE '7:%'")
    expect(await verify()).toMatchObject([{ chain: '*', problem: 'Seal 7 of 24 is missing: it was removed' }])
    const refused = (await sealAll(engines[1] as Engine, 0)).filter((row) => row !== undefined)
    expect(refused).toEqual([1])
  })
})

describe('who lives', () => {
  const aliveMs = 5_000

  /** Makes servers look as if nobody had seen them for twice as long as they count as alive. */
  const forget = (url: string, ...instances: string[]) =>
    ask(
      url,
      "UPDATE toolyard.instances SET seen_at = seen_at - $2 * interval '1 millisecond' WHERE instance = ANY ($1)",
      [instances, 2 * aliveMs],
    )

  test('a claim of a server that has died is lost, one of a server that lives is running', async () => {
    const url = await databases.create()
    const proxy = await startProxy(url)
    onTestFinished(() => proxy.stop())
    const other = await databases.open({ url, aliveMs })
    const dying = await databases.open({ url: proxy.url, instance: 'dying', aliveMs })
    expect(await dying.once.claim(claimOf('a'))).toEqual({ state: 'fresh' })
    await forget(url, 'dying')
    await until(async () => expect(await other.once.claim(claimOf('a'))).toEqual({ state: 'running' }))
    proxy.cut()
    await forget(url, 'dying')
    await until(async () => expect(await other.once.claim(claimOf('a'))).toEqual({ state: 'lost' }))
    await dying.close()
  })

  test('a server that is closed is gone at once', async () => {
    const url = await databases.create()
    const [one, other] = [await databases.open({ url }), await databases.open({ url })]
    await one.once.claim(claimOf('a'))
    await one.jobs.create({ ...job('j'), created_at: '2026-01-01T00:00:00.000Z' })
    await one.jobs.take('j', '2026-01-01T00:00:01.000Z')
    expect(await other.jobs.waiting(10)).toEqual([])
    await one.close()
    expect(await other.once.claim(claimOf('a'))).toEqual({ state: 'lost' })
    expect(await other.jobs.waiting(10)).toEqual([{ id: 'j', tenant: 'acme' }])
  })

  test.runIf(FULL)(
    'the names that a process had before live as long as it does, and what they had is its own',
    async () => {
      const url = await databases.create()
      const proxy = await startProxy(url)
      onTestFinished(() => proxy.stop())
      const observer = await databases.open({ url, aliveMs })
      const before = await databases.open({ url: proxy.url, instance: 'before', aliveMs })
      await before.once.claim(claimOf('a'))
      await before.leases?.lease([{ key: 'k', calls: 10, perMs: 1_000, want: 6 }])
      proxy.cut()
      const after = await databases.open({ url, instance: 'after', formerly: ['before'], aliveMs })
      expect(await after.leases?.lease([{ key: 'k', calls: 10, perMs: 1_000, want: 10 }])).toEqual([10])
      await forget(url, 'before')
      await until(async () => expect(await observer.once.claim(claimOf('a'))).toEqual({ state: 'running' }))
      await after.once.settle(claimOf('a'), answer)
      expect(await observer.once.claim(claimOf('a'))).toEqual({ state: 'done', result: answer })
      await before.close()
    },
  )

  test.runIf(FULL)(
    'who was cut off from the database takes nobody for dead until they had time to show themselves',
    async () => {
      const url = await databases.create()
      const proxy = await startProxy(url)
      onTestFinished(() => proxy.stop())
      const [one, other] = [
        await databases.open({ url: proxy.url, instance: 'one', aliveMs }),
        await databases.open({ url: proxy.url, instance: 'other', aliveMs }),
      ]
      await one.once.claim(claimOf('a'))
      proxy.cut()
      await forget(url, 'one', 'other')
      proxy.restore()
      const states = new Set<string>()
      await until(async () => {
        states.add((await other.once.claim(claimOf('a'))).state)
        expect(await one.status()).toMatchObject({ ready: true })
        expect(await other.status()).toMatchObject({ ready: true })
      })
      expect([...states]).toEqual(['running'])
    },
  )
})

describe('changes', () => {
  const heardBy = (engine: Awaited<ReturnType<Databases['open']>>): Change[] => {
    const heard: Change[] = []
    engine.onChange((change) => heard.push(change))
    return heard
  }

  test('a change reaches every server, and who asked for no more hears no more', async () => {
    const url = await databases.create()
    const [one, other] = [await databases.open({ url }), await databases.open({ url })]
    const [own, theirs] = [heardBy(one), heardBy(other)]
    const none: Change[] = []
    other.onChange((change) => none.push(change))()
    await one.settings.put(settings('a'))
    await one.validations.record('acme', 'm', { timestamp: '2026-01-01T00:00:00.000Z', success: true })
    await until(() => expect(theirs).toEqual(['settings', 'validations']))
    await until(() => expect(own).toEqual(['settings', 'validations']))
    expect(none).toEqual([])
  })

  test('after a lost connection everything counts as changed', async () => {
    const url = await databases.create()
    const engine = await databases.open({ url })
    const heard = heardBy(engine)
    await ask(
      url,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    await until(() => expect(new Set(heard)).toEqual(new Set(['keys', 'settings', 'validations', 'pauses'])))
    await engine.settings.put(settings('b'))
    await until(() => expect(heard.filter((change) => change === 'settings')).toHaveLength(2))
  })
})

describe('a database that goes away', () => {
  test('what is asked meanwhile is refused by a sentence without an address, and later questions are answered', async () => {
    const log = captureLog()
    const url = await databases.create()
    const proxy = await startProxy(url)
    onTestFinished(() => proxy.stop())
    const engine = await databases.open({ url: proxy.url }, { log })
    const inFlight = Promise.allSettled(Array.from({ length: 20 }, () => engine.settings.list('limits')))
    proxy.cut()
    const settled = await inFlight
    const refused = await engine.settings.list('limits').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    const status = await engine.status()
    expect(status).toMatchObject({ ready: false, problem: expect.stringContaining('The database cannot be reached') })
    proxy.restore()
    await until(async () => expect(await engine.status()).toMatchObject({ ready: true }))
    await engine.settings.put(settings('after'))
    expect(await engine.settings.list('limits')).toEqual([settings('after')])
    const said = JSON.stringify([settled, String(refused), status, log.lines])
    expect(said).not.toMatch(/127\.0\.0\.1|:toolyard@|localhost/)
    expect(said).not.toContain(new URL(proxy.url).port)
    expect(log.lines.map(({ message }) => message)).toEqual(
      expect.arrayContaining([expect.stringContaining('Reconnecting until it answers'), 'The database answers again']),
    )
  })

  test.runIf(FULL)('one that falls silent hangs nothing', async () => {
    const url = await databases.create()
    const proxy = await startProxy(url)
    onTestFinished(() => proxy.stop())
    const engine = await databases.open({ url: proxy.url }, { answerMs: 1_000 })
    proxy.freeze()
    const asked = Array.from({ length: 12 }, () => engine.settings.list('limits').catch((error: unknown) => error))
    for (const error of await Promise.all(asked)) {
      expect(error).toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringContaining('cannot be reached'),
      })
    }
    expect(await engine.status()).toMatchObject({ ready: false })
    proxy.restore()
    await until(async () => expect(await engine.status()).toMatchObject({ ready: true }))
    expect(await engine.settings.list('limits')).toEqual([])
  })

  test('an engine on one that falls silent closes, and another does not open', async () => {
    const url = await databases.create()
    const proxy = await startProxy(url)
    onTestFinished(() => proxy.stop())
    const engine = await databases.open({ url: proxy.url }, { answerMs: 1_000 })
    proxy.freeze()
    const opening = databases.open({ url: proxy.url }, { answerMs: 1_000 }).catch((error: unknown) => error)
    await engine.close()
    expect(await opening).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  test.runIf(FULL)(
    'a crash of the database is outlived',
    async () => {
      // All databases of a server crash together, so this one has a server of its own.
      const postgres = await startPostgres()
      onTestFinished(() => postgres.stop())
      const engine = await databases.open({ url: postgres.url })
      onTestFinished(() => engine.close())
      await engine.settings.put(settings('kept'))
      const [backend] = await ask<{ pid: number }>(
        postgres.url,
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'toolyard' AND datname = current_database()",
      )
      // The server then ends all its processes and starts anew.
      process.kill(backend?.pid as number, 'SIGKILL')
      await until(async () => expect(await engine.status()).toMatchObject({ ready: false }))
      await until(async () => expect(await engine.status()).toMatchObject({ ready: true }))
      expect(await engine.settings.list('limits')).toEqual([settings('kept')])
    },
    60_000,
  )

  test.each([
    ['mysql://root@127.0.0.1/x', 'TOOLYARD_DATABASE_URL is not an address such as'],
    ['postgres://x:y@127.0.0.1:1/x', 'nothing listens at the address in TOOLYARD_DATABASE_URL'],
  ])('an engine on %s does not open, and says why', async (url, sentence) => {
    await expect(databases.open({ url })).rejects.toThrow(sentence)
  })

  test('a wrong password and a missing database are named, and nothing else is', async () => {
    const wrong = new URL(await databases.create())
    wrong.password = 'hunter2'
    const refused = await databases.open({ url: wrong.href }).catch((error: Error) => error.message)
    expect(refused).toBe('The database rejects the user or the password in TOOLYARD_DATABASE_URL (SQLSTATE 28P01)')
    const missing = new URL(wrong)
    missing.password = 'toolyard'
    missing.pathname = 'nowhere'
    await expect(databases.open({ url: missing.href })).rejects.toThrow('does not exist: create it (SQLSTATE 3D000)')
  })
})

describe('at the same time', () => {
  test('of many claims of one key one is fresh', async () => {
    const url = await databases.create()
    const engines = await Promise.all([databases.open({ url }), databases.open({ url })])
    const states = await Promise.all(
      Array.from({ length: 40 }, (_, n) => (engines[n % 2] as (typeof engines)[0]).once.claim(claimOf('same'))),
    )
    expect(states.filter(({ state }) => state === 'fresh')).toHaveLength(1)
    expect(states.filter(({ state }) => state === 'running')).toHaveLength(39)
  })

  test('a job is taken by one', async () => {
    const url = await databases.create()
    const engines = await Promise.all([databases.open({ url }), databases.open({ url })])
    await engines[0].jobs.create(job('j'))
    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (engines[n % 2] as (typeof engines)[0]).jobs.take('j', '2026-01-01T00:00:01.000Z'),
      ),
    )
    expect(taken.filter((found) => found !== undefined)).toHaveLength(1)
  })

  test.runIf(FULL)('no test of a model is lost', async () => {
    const url = await databases.create()
    const engines = await Promise.all([databases.open({ url }), databases.open({ url })])
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        (engines[n % 2] as (typeof engines)[0]).validations.record('acme', 'm', {
          timestamp: new Date(n).toISOString(),
          success: n % 3 === 0,
        }),
      ),
    )
    const [record] = await engines[1].validations.list('acme')
    expect(record).toMatchObject({ model_id: 'm', test_count: 40, success_count: 14 })
    expect(record?.test_history).toHaveLength(40)
  })
})
