import type { AuditPage, AuditRow } from '../../core/storage/ledger.ts'
import { type AuditOptions, auditFilter } from '../audit-filter.ts'
import { readStore } from '../open-store.ts'
import { printableLine } from '../printable.ts'
import { showTable } from '../show-table.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface AuditListOptions extends AuditOptions {
  readonly limit?: string
  readonly cursor?: string
}

const NOTHING: AuditPage = { rows: [] }
const USUAL_LIMIT = '50'

/** `toolyard audit list`: who called what, the newest first. */
export async function auditList(terminal: Terminal, options: AuditListOptions): Promise<number> {
  const { cursor } = options
  const filter = { ...auditFilter(options), limit: readLimit(options.limit ?? USUAL_LIMIT), ...(cursor && { cursor }) }
  const page = await readStore(options, ({ ledger }) => ledger.audit(filter), NOTHING)
  if (terminal.json) terminal.document(page)
  else if (page.rows.length === 0) terminal.note('No calls are on record that fit.')
  else {
    showTable(terminal, [HEAD, ...page.rows.map(rowOf)])
    if (page.next !== undefined) terminal.note(`There are more: --cursor ${page.next}`)
  }
  return 0
}

const HEAD = ['TIME', 'TENANT', 'CALLER', 'SOURCE', 'TOOL', 'OUTCOME', 'MS']

const rowOf = ({ time, tenant, caller, source, tool, outcome, error_code, duration_ms }: AuditRow): string[] => [
  time,
  tenant,
  caller ?? '',
  source ?? '',
  tool,
  error_code === null ? outcome : `${error_code}${outcome === 'unknown' ? ' (unknown)' : ''}`,
  String(Math.round(duration_ms)),
]

function readLimit(text: string): number {
  const limit = Number(text)
  if (/^\d{1,4}$/.test(text) && limit >= 1 && limit <= 1_000) return limit
  throw new UsageError(`--limit takes a number from 1 to 1000, not '${printableLine(text)}'.`)
}
