import { auditColumns } from '../../core/records/audit-columns.ts'
import type { AuditPage, AuditRow } from '../../core/storage/ledger.ts'

/** Reads the page at a cursor, or the first page. */
export type PageOf = (cursor: { readonly cursor?: string }) => Promise<AuditPage>

const COLUMNS = ['id', 'time', ...auditColumns.map(({ shown }) => shown), 'hash'] as (keyof AuditRow)[]

/** All rows as CSV, page by page. */
export async function* auditCsv(pageOf: PageOf): AsyncGenerator<string> {
  yield `${COLUMNS.join(',')}\r\n`
  for await (const rows of pages(pageOf)) {
    yield rows.map((row) => `${COLUMNS.map((column) => csvCell(row[column])).join(',')}\r\n`).join('')
  }
}

/** All rows as one JSON array, page by page. */
export async function* auditJson(pageOf: PageOf): AsyncGenerator<string> {
  yield '['
  let before = '\n'
  for await (const rows of pages(pageOf)) {
    if (rows.length > 0) yield before + rows.map((row) => JSON.stringify(row)).join(',\n')
    before = rows.length > 0 ? ',\n' : before
  }
  yield '\n]\n'
}

async function* pages(pageOf: PageOf): AsyncGenerator<readonly AuditRow[]> {
  let cursor: { cursor?: string } | undefined = {}
  while (cursor !== undefined) {
    const { rows, next }: AuditPage = await pageOf(cursor)
    yield rows
    cursor = next === undefined ? undefined : { cursor: next }
  }
}

/**
 * A cell as text. Callers choose tool names, so text that a spreadsheet would run as a formula is escaped, also behind
 * the separators of other locales.
 */
export function csvCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value)
  const escaped = (value ?? '').replace(/(?:^|[;\t\r\n,|])(?= *[=+\-@＝＋－＠])/g, "$&'")
  const text = /^[\t\r]/.test(escaped) ? `'${escaped}` : escaped
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
