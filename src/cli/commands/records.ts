import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { writeWhole } from '../../config/write-whole.ts'
import { parseJson, RefusedJsonError } from '../../core/json/json-depth.ts'
import { counted } from '../../core/schema/problem-words.ts'
import {
  type AuditFilter,
  type AuditPage,
  type AuditReport,
  type AuditRow,
  type ChainHead,
  faultText,
} from '../../core/storage/ledger.ts'
import type { GateDecision, ListedRun, RunPage, RunStep, StoredRun } from '../../core/storage/run-store.ts'
import { TOOL_ERRORS } from '../../core/tool-result.ts'
import { auditCsv, auditJson } from '../../server/routes/audit-export.ts'
import { HeadCheck, readHeads } from '../../storage/ledger/chain-heads.ts'
import {
  type Cassette,
  CassetteError,
  cassetteCase,
  readCassette,
  runCassette,
} from '../../validation/cassettes/cassette.ts'
import { replayCassette } from '../../validation/cassettes/replay-cassette.ts'
import { readableJson } from '../common/call.ts'
import { hasStore, readStore, withStore } from '../common/open.ts'
import { readInteger, readTime, TENANT_OPTION, type TenantOptions, tenantOf } from '../common/params.ts'
import {
  actions,
  type Done,
  fitted,
  type GlobalOptions,
  printable,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const RUNS_HELP = `
A run is one question to a model, with all its turns and tool calls. A cassette is a run in a file: you can replay it
without the model and the tools, or turn it into a test case for other models.

Examples:
  $ toolyard runs list --limit 5
  $ toolyard runs save 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --out weather.cassette.json
  $ toolyard runs replay weather.cassette.json
  $ toolyard runs save 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --as-case >> cases.jsonl
  $ toolyard validate --suite cases.jsonl`

export function defineRuns(runs: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  runs.addHelpText('after', RUNS_HELP)

  runs
    .command('list')
    .description('List runs, newest first')
    .option(...TENANT_OPTION)
    .option('--model <id>', 'only runs of this model, as provider:model')
    .option('--stop-reason <reason>', 'only runs with this stop reason, such as error')
    .option('--limit <n>', 'maximum number of runs, 1 to 200 (default 50)')
    .option('--cursor <text>', 'continue after an earlier list')
    .action(run(runsList))

  runs
    .command('show')
    .description('Show a run with every step')
    .argument('<id>', 'the id that "runs list" shows')
    .option(...TENANT_OPTION)
    .action(run(runsShow))

  runs
    .command('save')
    .description('Print a run as a cassette, or as a test case')
    .argument('<id>', 'the id that "runs list" shows')
    .option(...TENANT_OPTION)
    .option('--out <file>', 'write to a file instead')
    .option('--as-case', 'as a test case: the same question, with the calls of the run as the expected ones')
    .action(run(runsSave))

  runs
    .command('replay')
    .description('Replay a cassette without its model and tools; exits with 1 if the replay differs')
    .argument('<file>', 'a cassette')
    .option('--loose', 'calls may come in any order, and messages may differ')
    .action(run(runsReplay))
}

interface RunsListOptions extends TenantOptions {
  readonly model?: string
  readonly stopReason?: string
  readonly limit?: string
  readonly cursor?: string
}

export interface RunsSaveOptions extends TenantOptions {
  readonly out?: string
  readonly asCase?: boolean
}

interface RunsReplayOptions extends GlobalOptions {
  readonly loose?: boolean
}

const NO_RUNS: RunPage = { runs: [] }
const MAX_QUESTION_LENGTH = 60
const RUNS_HEAD = ['ID', 'TIME', 'MODEL', 'END', 'CALLS', 'MS', 'QUESTION']

/** `toolyard runs list`: runs, newest first. */
export async function runsList(terminal: Terminal, options: RunsListOptions): Promise<number> {
  const { model, stopReason, cursor } = options
  const filter = {
    tenant: tenantOf(options),
    limit: readInteger('--limit', options.limit ?? '50', 1, 200),
    model,
    stopReason,
    cursor,
  }
  const page = await readStore(terminal, options, ({ runs }) => runs.list(filter), NO_RUNS)
  if (terminal.json) terminal.document(page)
  else if (page.runs.length === 0) terminal.note('No matching runs.')
  else {
    showTable(terminal, [RUNS_HEAD, ...page.runs.map(runRow)])
    if (page.next !== undefined) terminal.note(`More runs: --cursor ${page.next}`)
  }
  return 0
}

const runRow = ({ id, started_at, model, stop_reason, tool_calls, duration_ms, question }: ListedRun): string[] => [
  id,
  started_at,
  model,
  stop_reason,
  String(tool_calls),
  String(Math.round(duration_ms)),
  fitted(question, MAX_QUESTION_LENGTH),
]

/** `toolyard runs show`: a run with every step. */
export async function runsShow(terminal: Terminal, id: string, options: TenantOptions): Promise<number> {
  const { recording: _, ...run } = await storedRun(terminal, id, options)
  if (terminal.json) terminal.document(run)
  else for (const line of linesOf(run)) terminal.result(line)
  return 0
}

async function storedRun(terminal: Terminal, id: string, options: TenantOptions): Promise<StoredRun> {
  const tenant = tenantOf(options)
  const run = await readStore(terminal, options, ({ runs }) => runs.get(tenant, id), undefined)
  if (run !== undefined) return run
  throw new UsageError(`Tenant '${tenant}' has no run '${printableLine(id)}': see "toolyard runs list".`)
}

function* linesOf(run: StoredRun): Generator<string> {
  const { model, started_at, duration_ms, stop_reason, question, answer, error, gate = [], steps } = run
  yield printableLine(`${model}, ${started_at}, ${Math.round(duration_ms)} ms, ended by ${stop_reason}`)
  yield `Question: ${printable(question)}`
  for (const decision of gate) yield printableLine(gateLine(decision))
  for (const step of steps) yield printable(step.type === 'model' ? turnLine(step) : callLine(step))
  yield `Answer: ${printable(answer)}`
  if (error !== null) yield `Error: ${printable(error)}`
}

function gateLine({ tool, decision, trials, successes, threshold }: GateDecision): string {
  const what = decision === 'hide' ? 'Not offered' : 'Warning'
  return `${what}: ${tool}, which this model used correctly in ${successes} of ${trials} trials (threshold ${threshold})`
}

const turnLine = ({ iteration, duration_ms, finish_reason, text = '', tool_calls = 0 }: RunStep): string =>
  `${iteration}. model, ${duration_ms.toFixed(1)} ms, ${finish_reason}, ${counted(tool_calls, 'call')}${text === '' ? '' : `: ${text}`}`

const callLine = ({ iteration, duration_ms, tool, params, result, recovered }: RunStep): string =>
  `${iteration}. ${tool} ${readableJson(params)}, ${recovered ? 'recovered from text, ' : ''}${duration_ms.toFixed(1)} ms: ${readableJson(result)}`

/** `toolyard runs save`: a run as a cassette or as a test case. */
export async function runsSave(terminal: Terminal, id: string, options: RunsSaveOptions): Promise<number> {
  const { out, asCase } = options
  const run = await storedRun(terminal, id, options)
  const cassette = asUsageError(() => runCassette(run))
  if (!cassette.complete) terminal.note(`The cassette is incomplete: ${cassette.incomplete.join(' ')}`)
  const saved = asCase ? asUsageError(() => cassetteCase(cassette)) : cassette
  if (out !== undefined) {
    await writeWhole(terminal.path(out), asCase ? caseFile(out, saved) : `${JSON.stringify(saved, undefined, 2)}\n`)
    if (terminal.json) terminal.document({ id, file: out, complete: cassette.complete })
    else terminal.note(`Wrote ${out}.`)
  } else if (asCase || terminal.json) terminal.result(JSON.stringify(saved))
  else terminal.result(JSON.stringify(saved, undefined, 2))
  return 0
}

/** One line for a file with one case per line, else a suite with one case. */
const caseFile = (file: string, one: unknown): string =>
  /\.(?:jsonl|ndjson)$/i.test(file) ? `${JSON.stringify(one)}\n` : `${JSON.stringify({ cases: [one] }, undefined, 2)}\n`

function asUsageError<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof CassetteError) throw new UsageError(`${error.message}.`, { cause: error })
    throw error
  }
}

/** `toolyard runs replay`: replays a cassette; 1 if the replay differs from the run. */
export async function runsReplay(terminal: Terminal, file: string, options: RunsReplayOptions): Promise<number> {
  const cassette = await readCassetteFile(terminal.path(file))
  const mode = options.loose ? 'loose' : 'strict'
  try {
    const { answer, unused } = await replayCassette(cassette, { mode })
    if (terminal.json) terminal.document({ file, mode, same: true, unused, answer })
    else {
      terminal.result(printable(answer.content))
      const counts = `turns: ${cassette.turns.length}, calls: ${answer.tool_calls.length}, unused: ${unused}`
      terminal.note(`Replayed in ${mode} mode (${counts}).`)
    }
    return 0
  } catch (error) {
    if (!(error instanceof CassetteError)) throw error
    if (terminal.json) terminal.document({ file, mode, same: false, error: error.message })
    else terminal.note(terminal.styleNote('red', printable(error.message)))
    return 1
  }
}

async function readCassetteFile(file: string): Promise<Cassette> {
  try {
    return readCassette(parseJson(await readFile(file, 'utf8')))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason =
      error instanceof RefusedJsonError
        ? `It ${error.message}`
        : error instanceof SyntaxError
          ? 'It is not JSON'
          : code === 'ENOENT'
            ? 'There is no such file'
            : undefined
    const message = reason ?? (error instanceof Error ? error.message : String(error))
    throw new UsageError(`${printableLine(file)}: ${message}.`, { cause: error })
  }
}

const AUDIT_HELP = `
Examples:
  $ toolyard audit list --tenant acme --outcome failure --from 2026-01-31
  $ toolyard audit list --type event
  $ toolyard audit export --format csv > audit.csv
  $ toolyard audit verify`

export function defineAudit(audit: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  audit.addHelpText('after', AUDIT_HELP)

  withFilter(audit.command('list').description('List calls and events, newest first'))
    .option('--limit <n>', 'maximum number of rows, 1 to 1000 (default 50)')
    .option('--cursor <text>', 'continue after an earlier list')
    .action(run(auditList))

  withFilter(audit.command('export').description('Print all matching rows as CSV or JSON'))
    .addOption(new Option('--format <format>', 'output format (default csv)').choices(['csv', 'json']))
    .action(run(auditExport))

  audit
    .command('verify')
    .description('Check that no record was changed or removed; exits with 1 if one was')
    .option('--heads <file>', 'also compare with the ends of sections in this file: of TOOLYARD_AUDIT_HEADS, or a log')
    .action(run(auditVerify))
}

const withFilter = (command: Command): Command =>
  command
    .addOption(new Option('--type <type>', 'only calls, or only events').choices(['call', 'event']))
    .option('--tenant <id>', 'only rows of this tenant')
    .option('--tool <name>', 'only calls of this tool')
    .option('--caller <id>', 'only rows of this key')
    .option('--run <id>', 'only calls of this run')
    .addOption(new Option('--outcome <outcome>', 'only this outcome').choices(['success', 'failure', 'unknown']))
    .addOption(new Option('--error-code <code>', 'only this error code').choices(Object.keys(TOOL_ERRORS)))
    .option('--from <time>', 'start time, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--to <time>', 'end time, exclusive')

interface AuditOptions extends GlobalOptions {
  readonly type?: 'call' | 'event'
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

const AUDIT_HEAD = ['TIME', 'TENANT', 'CALLER', 'SOURCE', 'TOOL', 'OUTCOME', 'MS']
const EVENT_HEAD = ['TIME', 'TENANT', 'CALLER', 'SOURCE', 'EVENT', 'SUBJECT', 'TIMES', 'DETAIL']
const NO_ROWS: AuditPage = { rows: [] }
const EMPTY_REPORT: AuditReport = { chains: 0, rows: 0, expired: 0, seals: 0, unsealed: 0, faults: [] }
const EXPORT_PAGE_SIZE = 1_000

/** `toolyard audit list`: calls and events, newest first. */
export async function auditList(terminal: Terminal, options: AuditListOptions): Promise<number> {
  const limit = readInteger('--limit', options.limit ?? '50', 1, 1_000)
  const filter = { ...auditFilter(options), limit, cursor: options.cursor || undefined }
  const page = await readStore(terminal, options, ({ ledger }) => ledger.audit(filter), NO_ROWS)
  if (terminal.json) terminal.document(page)
  else if (page.rows.length === 0) terminal.note('No matching rows.')
  else {
    if (options.type === 'event') showTable(terminal, [EVENT_HEAD, ...page.rows.map(eventRow)])
    else showTable(terminal, [AUDIT_HEAD, ...page.rows.map(auditRow)])
    if (page.next !== undefined) terminal.note(`More rows: --cursor ${page.next}`)
  }
  return 0
}

/** In a list of both, an event stands where the tool of a call does. */
const auditRow = (row: AuditRow): string[] => [
  ...whoAndWhen(row),
  row.event === null ? row.tool : `(${row.event})`,
  row.error_code === null ? row.outcome : `${row.error_code}${row.outcome === 'unknown' ? ' (unknown)' : ''}`,
  row.event === null ? String(Math.round(row.duration_ms)) : '',
]

const eventRow = (row: AuditRow): string[] => [
  ...whoAndWhen(row),
  row.event ?? '',
  row.subject ?? '',
  String(row.attempts),
  row.detail ?? '',
]

const whoAndWhen = ({ time, tenant, caller, source }: AuditRow): string[] => [time, tenant, caller ?? '', source ?? '']

/** `toolyard audit export`: all matching rows, newest first. */
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

interface AuditVerifyOptions extends GlobalOptions {
  readonly heads?: string
}

async function headsIn(file: string): Promise<ChainHead[]> {
  const text = await readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new UsageError(`--heads: '${printableLine(file)}' cannot be read (${code}).`)
  })
  const heads = readHeads(text)
  if (heads.length === 0) throw new UsageError(`--heads: '${printableLine(file)}' has no end of a section.`)
  return heads
}

/** `toolyard audit verify`: checks every chain; 1 if one is broken. */
export async function auditVerify(terminal: Terminal, options: AuditVerifyOptions): Promise<number> {
  const heads = options.heads === undefined ? [] : await headsIn(options.heads)
  // Without a store, all rows are gone.
  const none = { ...EMPTY_REPORT, faults: new HeadCheck(heads).faults }
  const report = await readStore(terminal, options, ({ ledger }) => ledger.verify(heads), none)
  const { chains, rows, seals, unsealed, expired, faults, overdue = [] } = report
  if (terminal.json) terminal.document({ ok: faults.length === 0, ...report })
  else {
    for (const fault of faults) terminal.result(terminal.style('red', printableLine(faultText(fault))))
    for (const rows of overdue) terminal.note(terminal.styleNote('yellow', printableLine(faultText(rows))))
    const counts = `${counted(rows, 'row')} in ${counted(chains, 'chain')}, ${counted(seals, 'seal')}`
    terminal.note(`Checked ${counts}; ${unsealed} not sealed yet, ${expired} expired.`)
    if (heads.length > 0) terminal.note(`Compared with ${counted(heads.length, 'end')} of sections.`)
    if (faults.length === 0 && overdue.length > 0) {
      terminal.result(
        'The audit log is intact, except for rows that should have been sealed: they may have been changed.',
      )
    } else if (faults.length === 0) terminal.result('The audit log is intact.')
    else terminal.note(`The audit log is not intact: ${counted(faults.length, 'fault')}.`)
  }
  return faults.length === 0 ? 0 : 1
}

/** Without a tenant the filter matches rows of all tenants. */
function auditFilter(options: AuditOptions): Omit<AuditFilter, 'limit'> {
  const { tenant, type, tool, caller, run, outcome, errorCode, from, to } = options
  const times = { from: readTime('--from', from), to: readTime('--to', to) }
  return { tenant, type, tool, caller, runId: run, outcome, errorCode, ...times }
}
