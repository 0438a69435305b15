import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ChainRow } from '../ledger/ledger-tables.ts'
import { migrate } from './migrate.ts'
import { SqliteAudit } from './sqlite-audit.ts'
import { SqliteDatabase } from './sqlite-database.ts'

const folder = mkdtempSync(join(tmpdir(), 'sqlite-audit-'))
const database = new SqliteDatabase(folder)
const sliced = new SqliteAudit(database, 7)
const whole = new SqliteAudit(database)

const row = (index: number): ChainRow => ({
  chain: `chain-${index % 3}`,
  seq: Math.floor(index / 3) + 1,
  // Several of the same time, across slices.
  at: Math.floor(index / 10) * 10,
  tenant: `tenant-${index % 2}`,
  caller: null,
  source: null,
  runId: index % 4 === 0 ? `run-${index % 8}` : null,
  tool: index % 25 === 0 ? 'rare' : 'common',
  model: null,
  schemaHash: null,
  paramsHash: null,
  outcome: 'success',
  code: null,
  durationMs: 1,
  attempts: 1,
  hash: `${index}`,
})

beforeAll(() => {
  migrate(database)
  const rows = Array.from({ length: 200 }, (_, index) => row(index))
  for (const { chain } of rows) sliced.chainOf(chain)
  database.write(() => sliced.put(rows))
})

afterAll(() => {
  database.close()
  rmSync(folder, { recursive: true })
})

describe('looking for few rows among many', () => {
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
  ])('gives, slice by slice, what one look gives: %o', async (filter) => {
    const expected = Array.from({ length: 200 }, (_, index) => row(index)).filter(
      ({ tenant, tool, runId, at }) =>
        (filter.tenant === undefined || tenant === filter.tenant) &&
        (filter.tool === undefined || tool === filter.tool) &&
        (filter.runId === undefined || runId === filter.runId) &&
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

  it('lets others have their turn in between', async () => {
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

  it('begins at its time where the chain of a cursor is unknown', async () => {
    const rows = await whole.rows({ tenant: undefined, limit: 10 }, { at: 100, chain: 'made up', seq: 5 })
    expect(rows.map(({ at }) => at)).toEqual(Array(10).fill(90))
  })
})
