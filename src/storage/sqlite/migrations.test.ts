import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { captureLog } from '../../testing/stand-ins.ts'
import { whole } from '../fixtures/given-knowledge.ts'
import { verifyChains } from '../ledger/verify-chain.ts'
import { USAGE } from '../sql/database.ts'
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

test('reports the rows of a block that somebody damaged as missing', async () => {
  const { folder, database } = oldDatabase()
  database.run("UPDATE audit_blocks SET rows = '{' WHERE chain = 1 AND from_seq = 2")
  migrate(database)
  const { faults } = await verifyChains(await openTables(folder), KEY, new Map())
  expect(faults[0]).toEqual({ chain: 'sealed-server', at: 2, problem: 'Rows 2 to 13 are missing' })
})

test('the audit_log view has the columns that the audit API shows', () => {
  const { database } = oldDatabase()
  migrate(database)
  expect({ ...database.get<object>("SELECT * FROM audit_log WHERE id = 'sealed-server:1'") }).toEqual({
    id: 'sealed-server:1',
    time: '2026-11-01T12:00:00.000Z',
    at: Date.UTC(2026, 10, 1, 12),
    tenant: 'globex',
    caller: null,
    source: 'mcp',
    run_id: 'run-0',
    tool: 'wéather "now"',
    model: null,
    schema_hash: null,
    params_hash: 'b03d280144a050fa55b7694ab6d4e0d54cc63ac8a7745eeea002bcec0e7c0bac',
    outcome: 'unknown',
    error_code: 'TIMEOUT',
    duration_ms: 0,
    attempts: 1,
    hash: '01d14b526c525e19a25a7811ebc58ee671d5cd1900b32b12fea545bf09b88262',
  })
})

test('the queries in docs/audit.md run', () => {
  const { database } = oldDatabase()
  migrate(database)
  const page = readFileSync(new URL('../../../docs/audit.md', import.meta.url), 'utf8')
  const queries = [...page.matchAll(/^sqlite3 \.toolyard\/toolyard\.db "(.*)"$/gm)].map(([, query]) => query as string)
  expect(queries).toHaveLength(3)
  const [failures, byTool] = queries.map((query) => database.all(query))
  expect(failures?.[0]).toMatchObject({ time: '2026-11-01T12:00:00.016Z', tenant: 'acme', error_code: 'TIMEOUT' })
  expect(byTool?.[0]).toMatchObject({ tool: 'add', calls: 18, failed: 2 })
})

test('gives an old database the layout of a new one', () => {
  const { database: old } = oldDatabase()
  migrate(old)
  const folder = mkdtempSync(join(tmpdir(), 'new-layout-'))
  const fresh = new SqliteDatabase(folder)
  onTestFinished(() => {
    fresh.close()
    rmSync(folder, { recursive: true })
  })
  migrate(fresh)
  const columns = (database: SqliteDatabase) =>
    database.all(
      `SELECT master.type, master.name, columns.name AS part, columns.type AS holds, columns."notnull", columns.pk
       FROM sqlite_schema AS master LEFT JOIN pragma_table_info(master.name) AS columns ORDER BY 2, columns.name`,
    )
  expect(columns(old)).toEqual(columns(fresh))
})

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
  const usage = () => database.get<object>(USAGE.replaceAll('toolyard.', ''), 'acme', 'acme', 'acme', 'acme')
  const before = usage()
  expect({ ...before }).toEqual({ queued_jobs: 1, documents: 1, storage_bytes: 6 + 6 + 4 })
  database.exec(`
    DROP TABLE reserve; DROP TABLE job_bytes; DROP INDEX jobs_to_do_by_tenant; ALTER TABLE jobs DROP COLUMN bytes;
    ALTER TABLE knowledge_versions DROP COLUMN bytes; ALTER TABLE knowledge_collections DROP COLUMN bytes;
    PRAGMA user_version = 6`)
  migrate(database)
  expect(usage()).toEqual(before)
})

test.each([1, 3])('refuses a database of the unreleased version %d and changes nothing', (version) => {
  const { database } = oldDatabase()
  database.exec(`PRAGMA user_version = ${version}`)
  expect(() => migrate(database)).toThrow(`(its version is ${version}): use another data folder`)
  expect(database.get('PRAGMA user_version')).toEqual({ user_version: version })
})
