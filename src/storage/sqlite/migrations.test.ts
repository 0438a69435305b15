import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { auditColumns, COLUMN_TYPES } from '../../core/records/audit-columns.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { NOTHING_SHOWN } from '../fixtures/audit-rows.ts'
import { call, event } from '../fixtures/call-entry.ts'
import { whole } from '../fixtures/given-knowledge.ts'
import { OwnChain, verifyChains } from '../ledger/verify-chain.ts'
import { auditColumnStep } from '../sql/audit-log.ts'
import { USAGE } from '../sql/database.ts'
import { TABLES } from '../sql/sql-stores.ts'
import { hostStorage } from '../worker/host-storage.ts'
import { olderLayout } from './fixtures/older-layout.ts'
import { migrate } from './migrations.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

const KEY = 'old key'

/** A database of the first edition. */
function oldDatabase(): { readonly folder: string; readonly database: SqliteDatabase } {
  const folder = mkdtempSync(join(tmpdir(), 'audit-rows-'))
  const database = new SqliteDatabase(folder)
  onTestFinished(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })
  database.exec(readFileSync(new URL('fixtures/audit-blocks.sql', import.meta.url), 'utf8'))
  database.exec('PRAGMA user_version = 4')
  return { folder, database }
}

function freshDatabase(): SqliteDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'new-layout-'))
  const fresh = new SqliteDatabase(folder)
  onTestFinished(() => {
    fresh.close()
    rmSync(folder, { recursive: true })
  })
  migrate(fresh)
  return fresh
}

const layout = (database: SqliteDatabase) =>
  database.all(
    `SELECT master.type, master.name, columns.name AS part, columns.type AS holds, columns."notnull", columns.pk
     FROM sqlite_schema AS master LEFT JOIN pragma_table_info(master.name) AS columns ORDER BY 2, columns.name`,
  )

async function openTables(folder: string) {
  const engine = await openSqliteEngine({ folder, instance: 'new', keepDays: 7 }, { log: captureLog() })
  onTestFinished(() => engine.close())
  return engine.tables
}

test('turns blocks into one row per call, and both chains still verify', async () => {
  const { folder, database } = oldDatabase()
  migrate(database)
  const tables = await openTables(folder)
  expect(await verifyChains(tables, KEY, new Map())).toEqual({
    chains: 2,
    rows: 22,
    expired: 0,
    seals: 1,
    unsealed: 4,
    faults: [],
  })
  expect(await tables.rows({ tenant: 'globex', runId: 'run-15', limit: 10 })).toMatchObject([
    { chain: 'sealed-server', seq: 16, tool: 'add', model: null, caller: 'key-1', attempts: 1 },
  ])
  expect(database.all("SELECT name FROM sqlite_schema WHERE name LIKE 'audit\\_%s' ESCAPE '\\'")).toEqual([])
})

/** The layout before the audit log had events, with one sealed chain. */
async function databaseOfVersion6(): Promise<{ readonly folder: string; readonly database: SqliteDatabase }> {
  const folder = mkdtempSync(join(tmpdir(), 'version-6-'))
  const database = new SqliteDatabase(folder)
  onTestFinished(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })
  migrate(database)
  const tables = await openTables(folder)
  const chain = new OwnChain(tables, 'old-server', KEY, systemClock)
  await chain.append([call(), call({ model: 'mini:v1' }), call({ code: 'TIMEOUT' })], (rows) =>
    tables.write({ rows, runs: [], cells: [] }),
  )
  await chain.seal()
  database.exec(olderLayout(7))
  for (const index of ['audit_event_by_time', 'audit_event_by_tenant', 'runs_by_id'])
    database.exec(`DROP INDEX ${index}`)
  database.exec('DROP VIEW audit_log')
  for (const column of ['event', 'subject', 'detail']) database.exec(`ALTER TABLE audit DROP COLUMN ${column}`)
  database.exec('CREATE VIEW audit_log AS SELECT tool FROM audit')
  for (const column of ['tools', 'models']) database.exec(`ALTER TABLE keys DROP COLUMN ${column}`)
  database.exec('DROP TABLE sessions')
  database.exec('PRAGMA user_version = 6')
  return { folder, database }
}

test('a chain from before events verifies after the migration, and takes events', async () => {
  const { folder, database } = await databaseOfVersion6()
  migrate(database)
  const tables = await openTables(folder)
  expect(await verifyChains(tables, KEY, new Map())).toMatchObject({ rows: 3, seals: 1, faults: [] })
  expect(layout(database)).toEqual(layout(freshDatabase()))
  const storage = await hostStorage({ folder, instance: 'later', keepDays: 7, auditKey: KEY }, { log: captureLog() })
  onTestFinished(() => storage.close())
  await storage.ledger.append([call()], [], [event()])
  expect(await storage.ledger.verify()).toMatchObject({ chains: 2, rows: 5, faults: [] })
  database.run("UPDATE audit SET subject = 'another' WHERE event = 'key.created'")
  expect((await storage.ledger.verify()).faults).toMatchObject([{ chain: 'later', at: 2 }])
})

test('reports the rows of a block that somebody damaged as missing', async () => {
  const { folder, database } = oldDatabase()
  database.run("UPDATE audit_blocks SET rows = '{' WHERE chain = 1 AND from_seq = 2")
  migrate(database)
  const { faults } = await verifyChains(await openTables(folder), KEY, new Map())
  expect(faults[0]).toEqual({ chain: 'sealed-server', at: 2, problem: 'Rows 2 to 13 are missing' })
})

test('the table of the audit log has the columns of the list', () => {
  const columns = freshDatabase().all<{ name: string; type: string; notnull: number }>('PRAGMA table_info(audit)')
  const place = ['chain', 'seq', 'at', 'hash']
  expect(new Map(columns.filter(({ name }) => !place.includes(name)).map((one) => [one.name, one]))).toMatchObject(
    new Map(
      auditColumns.map(({ name, type, required }) => [
        name,
        { type: COLUMN_TYPES[type].sqlite, notnull: Number(required ?? 0) },
      ]),
    ),
  )
})

test('a step that adds a column gives the layout of the list', () => {
  const fresh = freshDatabase()
  const before = layout(fresh)
  const view = () => fresh.get<{ sql: string }>("SELECT sql FROM sqlite_schema WHERE name = 'audit_log'")?.sql
  const sql = view()?.replace(/\s+/g, ' ')
  const { name } = auditColumns.at(-1) as (typeof auditColumns)[number]
  fresh.exec(`DROP VIEW audit_log; ALTER TABLE audit DROP COLUMN ${name}; CREATE VIEW audit_log AS SELECT 1`)
  fresh.exec(auditColumnStep(name).sqlite)
  expect(layout(fresh)).toEqual(before)
  expect(view()).toBe(sql)
})

test('the audit_log view has the columns that the audit API shows', () => {
  const { database } = oldDatabase()
  migrate(database)
  const row = { ...database.get<object>("SELECT * FROM audit_log WHERE id = 'sealed-server:1'") }
  expect(Object.keys(row)).toEqual(['id', 'time', 'at', ...auditColumns.map(({ shown }) => shown), 'hash'])
  expect(row).toEqual({
    ...NOTHING_SHOWN,
    id: 'sealed-server:1',
    time: '2026-11-01T12:00:00.000Z',
    at: Date.UTC(2026, 10, 1, 12),
    tenant: 'globex',
    source: 'mcp',
    run_id: 'run-0',
    tool: 'wéather "now"',
    params_hash: 'b03d280144a050fa55b7694ab6d4e0d54cc63ac8a7745eeea002bcec0e7c0bac',
    outcome: 'unknown',
    error_code: 'TIMEOUT',
    duration_ms: 0,
    attempts: 1,
    hash: '01d14b526c525e19a25a7811ebc58ee671d5cd1900b32b12fea545bf09b88262',
  })
})

test('the queries in docs/reference/audit.md run', () => {
  const { database } = oldDatabase()
  migrate(database)
  const page = readFileSync(new URL('../../../docs/reference/audit.md', import.meta.url), 'utf8')
  const queries = [...page.matchAll(/^sqlite3 \.toolyard\/toolyard\.db "(.*)"$/gm)].map(([, query]) => query as string)
  expect(queries).toHaveLength(5)
  const [failures, byTool] = queries.map((query) => database.all(query))
  expect(failures?.[0]).toMatchObject({ time: '2026-11-01T12:00:00.016Z', tenant: 'acme', error_code: 'TIMEOUT' })
  expect(byTool?.[0]).toMatchObject({ tool: 'add', calls: 18, failed: 2 })
})

test('gives an old database the layout of a new one', () => {
  const { database: old } = oldDatabase()
  migrate(old)
  expect(layout(old)).toEqual(layout(freshDatabase()))
})

test('describes each table as it is', () => {
  const database = freshDatabase()
  const described = TABLES.filter(({ key }) => key !== undefined)
  for (const { name, columns = {}, key, indexes = {} } of described) {
    const stored = database.all<{ name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)', name)
    expect(stored.map((column) => column.name)).toEqual(Object.keys(columns))
    const inKey = stored.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    expect(inKey.map((column) => column.name).join(', ')).toBe(key)
    const found = database.all<{ name: string }>("SELECT name FROM pragma_index_list(?) WHERE origin = 'c'", name)
    expect(found.map((index) => index.name)).toEqual(expect.arrayContaining(Object.keys(indexes)))
  }
})

const SOURCES = 8

test('counts what tenants had stored before there were quotas', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'before-quotas-'))
  const database = new SqliteDatabase(folder)
  onTestFinished(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })
  const engine = await openSqliteEngine({ folder, instance: 'old', keepDays: 7 }, { log: captureLog() })
  await engine.knowledge.open('acme', 'docs', null)
  await engine.knowledge.put(whole('a', ['wörds']))
  await engine.knowledge.put(whole('b', ['staged'], { parts: 2 }))
  const job = { id: 'j', tenant: 'acme', caller: null, tool: 'x', params: 'é', timeout_ms: 1, created_at: '2026' }
  await engine.jobs.create(job)
  await engine.close()
  const usage = () => database.get<object>(USAGE.replaceAll('toolyard.', ''), 'acme', 'acme', 'acme', 'acme', 'acme')
  const before = usage()
  expect({ ...before }).toEqual({ queued_jobs: 1, durable_runs: 0, documents: 1, storage_bytes: 6 + 6 + 4 + SOURCES })
  database.exec(olderLayout(7))
  migrate(database)
  // Sources and metadata count only since a later version.
  expect(usage()).toEqual({ ...before, storage_bytes: 6 + 6 + 4 })
})

test.each([1, 3])('refuses a database of the unreleased version %d and changes nothing', (version) => {
  const { database } = oldDatabase()
  database.exec(`PRAGMA user_version = ${version}`)
  expect(() => migrate(database)).toThrow(`(its version is ${version}): use another data folder`)
  expect(database.get('PRAGMA user_version')).toEqual({ user_version: version })
})

test('approvals from before calls could continue stay', () => {
  const database = freshDatabase()
  database.exec(olderLayout(11))
  database.exec(`INSERT INTO pauses (id, kind, tenant, caller, tool, version, params_hash, params, requested_at, expires_at)
    VALUES ('p', 'approval', 't', 'c', 'pay', '0.0.0', 'h', '{}', 1, 2)`)
  migrate(database)
  expect(layout(database)).toEqual(layout(freshDatabase()))
  expect(database.all('SELECT id, root_hash, progress, definitions FROM pauses')).toEqual([
    { id: 'p', root_hash: null, progress: null, definitions: null },
  ])
})

test('keys that had every scope may approve, and no others', () => {
  const database = freshDatabase()
  const all = '["read","call","chat","observe","validate","manage","installation"]'
  for (const [id, scopes] of [['all', all] as const, ['some', '["read","manage"]'] as const, ['role', null] as const]) {
    database.run(
      "INSERT INTO keys (id, hash, tenant, name, role, created_at, scopes) VALUES (?, ?, 't', 'n', 'admin', '2026', ?)",
      ...[id, id, scopes],
    )
  }
  database.exec(olderLayout(9))
  migrate(database)
  const scopes = database.all<{ scopes: string | null }>('SELECT scopes FROM keys ORDER BY id').map((key) => key.scopes)
  expect(scopes).toEqual([all.replace('"manage"', '"approve","manage"'), null, '["read","manage"]'])
})
