import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { counted } from '../../core/schema/problem-words.ts'
import type { AuditFilter, AuditPage, AuditReport, AuditRow } from '../../core/storage/ledger.ts'
import { TOOL_ERRORS } from '../../core/tool-result.ts'
import { auditCsv, auditJson } from '../../server/routes/audit-export.ts'
import { hasStore, readStore, withStore } from '../common/open.ts'
import { readInteger } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printable,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const HELP = `
Examples:
  $ toolyard audit list --tenant acme --outcome failure --from 2026-01-31
  $ toolyard audit export --format csv > audit.csv
  $ toolyard audit verify`

export function defineAudit(audit: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  audit.addHelpText('after', HELP)

  withFilter(audit.command('list').description('List calls, newest first'))
    .option('--limit <n>', 'maximum number of calls, 1 to 1000 (default 50)')
    .option('--cursor <text>', 'continue after an earlier list')
    .action(run(auditList))

  withFilter(audit.command('export').description('Print all matching calls as CSV or JSON'))
    .addOption(new Option('--format <format>', 'output format (default csv)').choices(['csv', 'json']))
    .action(run(auditExport))

  audit
    .command('verify')
    .description('Check that no record was changed or removed; exits with 1 if one was')
    .action(run(auditVerify))
}

const withFilter = (command: Command): Command =>
  command
    .option('--tenant <id>', 'only calls of this tenant')
    .option('--tool <name>', 'only calls of this tool')
    .option('--caller <id>', 'only calls with this key')
    .option('--run <id>', 'only calls of this run')
    .addOption(new Option('--outcome <outcome>', 'only this outcome').choices(['success', 'failure', 'unknown']))
    .addOption(new Option('--error-code <code>', 'only this error code').choices(Object.keys(TOOL_ERRORS)))
    .option('--from <time>', 'start time, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--to <time>', 'end time, exclusive')

interface AuditOptions extends GlobalOptions {
  readonly tenant?: string
  readonly tool?: string
  readonly caller?: string
  readonly run?: string
  readonly outcome?: AuditRow['outcome']
  readonly errorCode?: string
  readonly from?: string
  readonly to?: string
}

export interface AuditListOptions extends AuditOptions {
  readonly limit?: string
  readonly cursor?: string
}

interface AuditExportOptions extends AuditOptions {
  readonly format?: 'csv' | 'json'
}

const HEAD = ['TIME', 'TENANT', 'CALLER', 'SOURCE', 'TOOL', 'OUTCOME', 'MS']
const NO_ROWS: AuditPage = { rows: [] }
const EMPTY_REPORT: AuditReport = { chains: 0, rows: 0, expired: 0, seals: 0, unsealed: 0, faults: [] }
const EXPORT_PAGE_SIZE = 1_000

/** `toolyard audit list`: calls, newest first. */
export async function auditList(terminal: Terminal, options: AuditListOptions): Promise<number> {
  const limit = readInteger('--limit', options.limit ?? '50', 1, 1_000)
  const filter = { ...auditFilter(options), limit, cursor: options.cursor || undefined }
  const page = await readStore(terminal, options, ({ ledger }) => ledger.audit(filter), NO_ROWS)
  if (terminal.json) terminal.document(page)
  else if (page.rows.length === 0) terminal.note('No matching calls.')
  else {
    showTable(terminal, [HEAD, ...page.rows.map(rowOf)])
    if (page.next !== undefined) terminal.note(`More calls: --cursor ${page.next}`)
  }
  return 0
}

const rowOf = ({ time, tenant, caller, source, tool, outcome, error_code, duration_ms }: AuditRow): string[] => [
  time,
  tenant,
  caller ?? '',
  source ?? '',
  tool,
  error_code === null ? outcome : `${error_code}${outcome === 'unknown' ? ' (unknown)' : ''}`,
  String(Math.round(duration_ms)),
]

/** `toolyard audit export`: all matching calls, newest first. */
async function auditExport(terminal: Terminal, options: AuditExportOptions): Promise<number> {
  const format = options.format ?? (terminal.json ? 'json' : 'csv')
  if (terminal.json && format === 'csv') {
    throw new UsageError('--json and --format csv contradict each other: remove one of them.')
  }
  const filter = { ...auditFilter(options), limit: EXPORT_PAGE_SIZE }
  const write = format === 'csv' ? auditCsv : auditJson
  const rows = (pageOf: Parameters<typeof write>[0]) =>
    // An export may be larger than the memory, so reading waits for the writing.
    pipeline(Readable.from(forReader(terminal, write(pageOf))), terminal.stdout, { end: false })
  const exported = hasStore(terminal)
    ? withStore(terminal, options, ({ ledger }) => rows((cursor) => ledger.audit({ ...filter, ...cursor })))
    : rows(async () => NO_ROWS)
  await exported.catch((error: NodeJS.ErrnoException) => {
    // The reader (`| head`) may close the pipe early.
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
  return 0
}

/** Makes the text printable on a terminal; files and pipes get it unchanged. */
async function* forReader(terminal: Terminal, parts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const part of parts) yield terminal.watched ? printable(part.replaceAll('\r\n', '\n')) : part
}

/** `toolyard audit verify`: checks every chain; 1 if one is broken. */
export async function auditVerify(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const report = await readStore(terminal, options, ({ ledger }) => ledger.verify(), EMPTY_REPORT)
  const { chains, rows, seals, unsealed, expired, faults } = report
  if (terminal.json) terminal.document({ ok: faults.length === 0, ...report })
  else {
    for (const { chain, at, problem } of faults) {
      terminal.result(terminal.style('red', printableLine(`${chain}, row ${at}: ${problem}`)))
    }
    const counts = `${counted(rows, 'row')} in ${counted(chains, 'chain')}, ${counted(seals, 'seal')}`
    terminal.note(`Checked ${counts}; ${unsealed} not sealed yet, ${expired} expired.`)
    if (faults.length === 0) terminal.result('The audit log is intact.')
    else terminal.note(`The audit log is not intact: ${counted(faults.length, 'fault')}.`)
  }
  return faults.length === 0 ? 0 : 1
}

/** Without a tenant the filter matches calls of all tenants. */
function auditFilter(options: AuditOptions): Omit<AuditFilter, 'limit'> {
  const { tenant, tool, caller, run, outcome, errorCode, from, to } = options
  const times = { from: readTime('--from', from), to: readTime('--to', to) }
  return { tenant, tool, caller, runId: run, outcome, errorCode, ...times }
}

function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (!Number.isNaN(time)) return time
  throw new UsageError(
    `${option} takes a time such as 2026-01-31 or 2026-01-31T12:00:00Z, not '${printableLine(text)}'.`,
  )
}
