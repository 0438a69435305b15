import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { systemClock } from '../../core/clock.ts'
import { objectives, reportRange } from '../../operations/objectives.ts'
import { integritySentence, REPORT_FORMATS, type ReportFormat } from '../../server/routes/report-export.ts'
import { commandUser, hasStore, withStoreHost } from '../common/open.ts'
import { readTime } from '../common/params.ts'
import { actions, type Done, type GlobalOptions, printable, type Terminal, UsageError } from '../common/terminal.ts'

const REPORT_HELP = `
The report says who used what and when, and lists denied calls, approvals, changes of keys and flags, cost and objectives.
It verifies the whole audit log while it reads it. Exit code 1 if the audit log is not intact.

Examples:
  $ toolyard report --from 2026-01-01 --to 2026-02-01 --out january.html
  $ toolyard report --from 2026-01-01 --tenant acme --format csv > acme.csv`

export function defineReport(report: Command, terminal: Terminal, done: Done): void {
  report
    .option('--from <time>', 'start time, such as 2026-01-31 (default: 30 days before the end)')
    .option('--to <time>', 'end time, exclusive (default: now)')
    .option('--tenant <id>', 'only calls and events of this tenant')
    .addOption(new Option('--format <format>', 'output format (default html)').choices(Object.keys(REPORT_FORMATS)))
    .option('--out <file>', 'write to a file instead')
    .addHelpText('after', REPORT_HELP)
    .action(actions(terminal, done)(writeReport))
}

interface ReportOptions extends GlobalOptions {
  readonly from?: string
  readonly to?: string
  readonly tenant?: string
  readonly format?: ReportFormat
  readonly out?: string
}

function rangeOf({ from, to }: ReportOptions): ReturnType<typeof reportRange> {
  const range = { from: readTime('--from', from), to: readTime('--to', to) }
  try {
    return reportRange(range, systemClock.wall())
  } catch (error) {
    throw new UsageError('--from must be earlier than --to.', { cause: error })
  }
}

/** `toolyard report`. */
async function writeReport(terminal: Terminal, options: ReportOptions): Promise<number> {
  const { tenant, out, format = terminal.json ? 'json' : 'html' } = options
  if (terminal.json && format !== 'json') {
    throw new UsageError(`--json and --format ${format} contradict each other: remove one of them.`)
  }
  const range = rangeOf(options)
  if (!hasStore(terminal)) throw new UsageError('There is no store yet: "toolyard serve" creates one.')
  const call = { caller: undefined, by: commandUser(), face: 'cli', tenant } as const
  const report = await withStoreHost(terminal, options, async (host) =>
    objectives.operations.report.run(host, range, call),
  )
  const parts = REPORT_FORMATS[format].write(report)
  if (out !== undefined) await pipeline(Readable.from(parts), createWriteStream(terminal.path(out)))
  else for (const part of parts) terminal.stdout.write(terminal.watched ? printable(part) : part)
  if (report.notice !== null) terminal.note(`${report.notice}.`)
  terminal.note(integritySentence(report))
  return report.integrity.faults.length === 0 ? 0 : 1
}
