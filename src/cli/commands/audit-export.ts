import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { auditCsv, auditJson } from '../../server/routes/audit-export.ts'
import { type AuditOptions, auditFilter } from '../audit-filter.ts'
import { hasStore } from '../has-store.ts'
import { withStore } from '../open-store.ts'
import { printable } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface AuditExportOptions extends AuditOptions {
  readonly format?: 'csv' | 'json'
}

const PAGE = 1_000

/** `toolyard audit export`: all rows that fit, the newest first, to stdout. */
export async function auditExport(terminal: Terminal, options: AuditExportOptions): Promise<number> {
  const format = options.format ?? (terminal.json ? 'json' : 'csv')
  if (terminal.json && format === 'csv') throw new UsageError('--json prints JSON: leave it out, or --format csv.')
  const filter = { ...auditFilter(options), limit: PAGE }
  const write = format === 'csv' ? auditCsv : auditJson
  const rows = (pageOf: Parameters<typeof write>[0]) =>
    // The command goes on only as fast as its reader: an export may be larger than the memory.
    pipeline(Readable.from(forReader(terminal, write(pageOf))), process.stdout, { end: false })
  const read = hasStore()
    ? withStore(options, ({ ledger }) => rows((cursor) => ledger.audit({ ...filter, ...cursor })))
    : rows(async () => ({ rows: [] }))
  await read.catch((error: NodeJS.ErrnoException) => {
    // A reader that has seen enough is no error.
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
  return 0
}

/** On a terminal as it can be shown, else as it is. */
async function* forReader(terminal: Terminal, parts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const part of parts) yield terminal.watched ? printable(part.replaceAll('\r\n', '\n')) : part
}
