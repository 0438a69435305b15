import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { GENESIS, RowMaker } from '../ledger/chain-row.ts'
import type { ChainRow } from '../ledger/ledger-tables.ts'
import { ParamsHasher } from '../ledger/params-hasher.ts'
import { auditBlocksMigration } from './audit-blocks-migration.ts'
import { migrations } from './migrations.ts'
import { SqliteAudit } from './sqlite-audit.ts'
import { SqliteDatabase } from './sqlite-database.ts'

const folder = mkdtempSync(join(tmpdir(), 'audit-blocks-'))
const database = new SqliteDatabase(folder)

afterEach(() => {
  database.close()
  rmSync(folder, { recursive: true })
})

test('rows that were kept one by one are the same afterwards, and are found as before', async () => {
  for (const migration of migrations.slice(0, migrations.indexOf(auditBlocksMigration))) database.exec(migration)
  database.run("INSERT INTO chains (id, name) VALUES (7, 'a chain')")
  const rows = chain()
  for (const row of rows) {
    database.run(
      'INSERT INTO audit VALUES (7, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      row.seq,
      row.at,
      row.tenant,
      row.caller,
      row.source,
      row.runId,
      row.tool,
      row.schemaHash,
      row.paramsHash,
      row.outcome,
      row.code,
      row.durationMs,
      row.attempts,
      row.hash,
    )
  }
  database.exec(auditBlocksMigration)
  const audit = new SqliteAudit(database)
  expect(audit.stretch('a chain', 1, 100)).toEqual(rows)
  const newest = rows.toReversed()
  expect(await audit.rows({ tenant: undefined, limit: 100 }, undefined)).toEqual(newest)
  const ofTenant = newest.filter(({ tenant }) => tenant === 'tenant "1"')
  expect(await audit.rows({ tenant: 'tenant "1"', limit: 100 }, undefined)).toEqual(ofTenant)
  const ofRun = newest.filter(({ runId }) => runId === 'run-2')
  expect(ofRun.length).toBeGreaterThan(1)
  expect(await audit.rows({ tenant: undefined, runId: 'run-2', limit: 100 }, undefined)).toEqual(ofRun)
})

function chain(): readonly ChainRow[] {
  const maker = new RowMaker('a chain', new ParamsHasher('key'))
  let before = GENESIS
  return Array.from({ length: 12 }, (_, index) => {
    const row = maker.row(
      {
        at: 1_794_787_200_000 + index,
        tenant: `tenant "${index % 2}"`,
        caller: index % 3 === 0 ? null : 'someone',
        source: 'rest',
        runId: index % 4 === 1 ? null : `run-${index % 4}`,
        tool: 'wéather\n',
        schemaHash: null,
        params: `{"index":${index}}`,
        code: index % 5 === 0 ? 'TIMEOUT' : null,
        unknown: false,
        durationMs: index / 7,
        attempts: 1,
        model: null,
      },
      index + 1,
      before,
    )
    before = row.hash
    return row
  })
}
