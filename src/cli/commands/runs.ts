import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { counted } from '../../core/schema/problem-words.ts'
import type { GateDecision, ListedRun, RunPage, RunStep, StoredRun } from '../../core/storage/run-store.ts'
import {
  type Cassette,
  CassetteError,
  cassetteCase,
  readCassette,
  runCassette,
} from '../../validation/cassettes/cassette.ts'
import { replayCassette } from '../../validation/cassettes/replay-cassette.ts'
import { readableJson } from '../common/call.ts'
import { readStore } from '../common/open.ts'
import { readInteger, TENANT_OPTION, type TenantOptions, tenantOf } from '../common/params.ts'
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
import { writeWhole } from '../common/write-whole.ts'

const HELP = `
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
  runs.addHelpText('after', HELP)

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

export interface RunsListOptions extends TenantOptions {
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
const HEAD = ['ID', 'TIME', 'MODEL', 'END', 'CALLS', 'MS', 'QUESTION']

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
    showTable(terminal, [HEAD, ...page.runs.map(rowOf)])
    if (page.next !== undefined) terminal.note(`More runs: --cursor ${page.next}`)
  }
  return 0
}

const rowOf = ({ id, started_at, model, stop_reason, tool_calls, duration_ms, question }: ListedRun): string[] => [
  id,
  started_at,
  model,
  stop_reason,
  String(tool_calls),
  String(Math.round(duration_ms)),
  question.length > MAX_QUESTION_LENGTH ? `${question.slice(0, MAX_QUESTION_LENGTH)}…` : question,
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
    return readCassette(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason =
      error instanceof SyntaxError ? 'It is not JSON' : code === 'ENOENT' ? 'There is no such file' : undefined
    const message = reason ?? (error instanceof Error ? error.message : String(error))
    throw new UsageError(`${printableLine(file)}: ${message}.`, { cause: error })
  }
}
