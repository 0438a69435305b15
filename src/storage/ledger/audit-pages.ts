import type { AuditFilter, AuditPage, AuditRow } from '../../core/storage/ledger.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
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

/** The place of a row among all, newest first. */
type RowPlace = Pick<ChainRow, 'at' | 'chain' | 'seq'>

/** Where the next page of rows begins: after this one. */
const writeAuditCursor = ({ at, chain, seq }: RowPlace): string =>
  Buffer.from(JSON.stringify([at, chain, seq])).toString('base64url')

function readAuditCursor(cursor: string): RowPlace {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(value) && value.length === 3) {
      const [at, chain, seq] = value as unknown[]
      const named = typeof chain === 'string' && !chain.includes('\0')
      if (Number.isSafeInteger(at) && named && Number.isSafeInteger(seq)) {
        return { at: at as number, chain, seq: seq as number }
      }
    }
  } catch {
    // It is said below.
  }
  throw new ToolExecutionError(
    'INVALID_PARAMETERS',
    `cursor: "${cursor.slice(0, 60)}" is none that a page gave as next`,
  )
}
