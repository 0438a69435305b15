import type { AuditFilter, AuditPage, AuditRow } from '../../core/storage/audit.ts'
import { readAuditCursor, writeAuditCursor } from './audit-cursor.ts'
import type { ChainRow, LedgerTables } from './ledger-tables.ts'

const MOST_ROWS = 1_000

/** One page of the audit, newest rows first. */
export async function auditPage(tables: LedgerTables, { cursor, ...filter }: AuditFilter): Promise<AuditPage> {
  const limit = Math.max(1, Math.min(Math.floor(filter.limit), MOST_ROWS))
  const before = cursor === undefined ? undefined : readAuditCursor(cursor)
  // One more than is shown tells whether there is a next page.
  const found = await tables.rows({ ...filter, limit: limit + 1 }, before)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const more = found.length > limit && last !== undefined
  return { rows: rows.map(auditRow), ...(more && { next: writeAuditCursor(last) }) }
}

const auditRow = (row: ChainRow): AuditRow => ({
  id: `${row.chain}:${row.seq}`,
  time: new Date(row.at).toISOString(),
  tenant: row.tenant,
  caller: row.caller,
  source: row.source,
  run_id: row.runId,
  tool: row.tool,
  model: row.model,
  schema_hash: row.schemaHash,
  params_hash: row.paramsHash,
  outcome: row.outcome,
  error_code: row.code as AuditRow['error_code'],
  duration_ms: row.durationMs,
  attempts: row.attempts,
  hash: row.hash,
})
