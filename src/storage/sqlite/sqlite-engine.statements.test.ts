import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { chainRow } from '../fixtures/audit-rows.ts'
import type { ChainRow } from '../ledger/ledger-tables.ts'
import { ask } from '../sql/database.ts'
import { SqlLedgerTables } from '../sql/sql-ledger-tables.ts'
import { migrate } from './migrations.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { SqliteChanges, SqliteInstances, SqliteStatements } from './sqlite-engine.ts'

const folder = mkdtempSync(join(tmpdir(), 'sqlite-audit-'))
const database = new SqliteDatabase(folder)
migrate(database)
const options = { folder, instance: 'me', keepDays: 7 }
const instances = new SqliteInstances(database, options, systemClock, silentLog)
const changes = new SqliteChanges(database, silentLog)
const statements = new SqliteStatements(database, instances, changes, 7)
const sliced = new SqlLedgerTables(statements)
const whole = new SqlLedgerTables(new SqliteStatements(database, instances, changes))

const row = (index: number): ChainRow =>
  chainRow({
    chain: `chain-${index % 3}`,
    seq: Math.floor(index / 3) + 1,
    // Several of the same time, across slices.
    at: Math.floor(index / 10) * 10,
    tenant: `tenant-${index % 2}`,
    run_id: index % 4 === 0 ? `run-${index % 8}` : null,
    tool: index % 25 === 0 ? 'rare' : 'common',
    hash: `${index}`,
  })

beforeAll(async () => {
  const rows = Array.from({ length: 200 }, (_, index) => row(index))
  await sliced.write({ rows, runs: [], cells: [] })
})

afterAll(() => {
  changes.close()
  instances.close()
  database.close()
  rmSync(folder, { recursive: true })
})

test('a transaction that fails leaves nothing behind, and the next one works', async () => {
  const add = (name: string) =>
    ask('INSERT INTO toolyard.settings (kind, name, value) VALUES (?, ?, ?)', ['pin', name, '1'])
  const names = async () => (await statements.run<{ name: string }>('SELECT name FROM toolyard.settings')).rows
  await expect(
    statements.transaction(function* () {
      yield* add('a')
      yield* add('a')
    }),
  ).rejects.toMatchObject({ code: 'INVALID_PARAMETERS' })
  expect(await names()).toEqual([])
  await statements.transaction(() => add('b'))
  expect(await names()).toEqual([{ name: 'b' }])
})

describe('a search for few rows among many', () => {
  it.each([
    { tenant: undefined, tool: 'rare' },
    { tenant: 'tenant-1', tool: 'rare' },
    { tenant: 'tenant-1', tool: 'common' },
    { tenant: undefined, tool: 'rare', from: 50, to: 120 },
    { tenant: undefined, tool: 'rare', from: 55, to: 55 },
    { tenant: undefined, tool: 'rare', to: 100 },
    { tenant: undefined, tool: 'nothing' },
    { tenant: undefined, runId: 'run-4', tool: 'common' },
    { tenant: 'nobody', outcome: 'success' as const },
  ])('finds the same rows in slices as in one statement: %o', async (filter) => {
    const expected = Array.from({ length: 200 }, (_, index) => row(index)).filter(
      ({ tenant, tool, run_id, at }) =>
        (filter.tenant === undefined || tenant === filter.tenant) &&
        (filter.tool === undefined || tool === filter.tool) &&
        (filter.runId === undefined || run_id === filter.runId) &&
        at >= (filter.from ?? 0) &&
        at < (filter.to ?? 1e9),
    )
    const all = await whole.rows({ ...filter, limit: 1_000 }, undefined)
    expect(all.map(({ hash }) => hash).toSorted()).toEqual(expected.map(({ hash }) => hash).toSorted())
    expect(await sliced.rows({ ...filter, limit: 1_000 }, undefined)).toEqual(all)
    expect(await sliced.rows({ ...filter, limit: 3 }, undefined)).toEqual(all.slice(0, 3))
    const [first] = all
    if (first !== undefined) expect(await sliced.rows({ ...filter, limit: 3 }, first)).toEqual(all.slice(1, 4))
  })

  it.each([
    [undefined, 'audit_event_by_time'],
    ['tenant-1', 'audit_event_by_tenant'],
  ])('reads the events of the tenant %s by an index that holds no calls', async (tenant, index) => {
    const run = vi.spyOn(statements, 'run')
    onTestFinished(() => run.mockRestore())
    await sliced.rows({ tenant, type: 'event', caller: 'key-1', limit: 10 }, { at: 100, chain: 'chain-1', seq: 5 })
    const [[sql, values] = ['']] = run.mock.calls.slice(-1)
    const plan = await statements.run<{ detail: string }>(['EXPLAIN QUERY PLAN', sql, '-- RETURNING'].join(' '), values)
    expect(plan.rows[0]?.detail).toContain(index)
  })

  it('lets other work run between slices', async () => {
    const turns: string[] = []
    const other = new Promise<void>((resolve) =>
      setImmediate(() => {
        turns.push('other')
        resolve()
      }),
    )
    await sliced.rows({ tenant: undefined, tool: 'nothing', limit: 10 }, undefined).then(() => turns.push('found'))
    await other
    expect(turns).toEqual(['other', 'found'])
  })

  it('begins at the time of a cursor whose chain is unknown', async () => {
    const rows = await whole.rows({ tenant: undefined, limit: 10 }, { at: 100, chain: 'made up', seq: 5 })
    expect(rows.map(({ at }) => at)).toEqual(Array(10).fill(90))
  })
})
