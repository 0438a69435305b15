import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { EMBEDDED_MODEL, EMBEDDED_PROVIDER, withUsualProviders } from '../../../config/model-settings.ts'
import { writeWhole } from '../../../config/write-whole.ts'
import { systemClock } from '../../../core/clock.ts'
import { LOCAL_TENANT } from '../../../core/execution/call.ts'
import type { ToolRegistry } from '../../../core/execution/tool-registry.ts'
import { silentLog } from '../../../core/log.ts'
import { counted } from '../../../core/schema/problem-words.ts'
import type { ToolDefinition } from '../../../core/tool.ts'
import type { ModelCatalogue } from '../../../models/model-catalogue.ts'
import { UnknownModelError } from '../../../models/model-error.ts'
import type { ModelPrices } from '../../../models/model-info.ts'
import { loadSuites } from '../../../validation/load-suite.ts'
import { ModelValidationTracker } from '../../../validation/model-validation.ts'
import {
  buildReport,
  type Count,
  type ReportedTrial,
  type ValidationReport,
} from '../../../validation/reports/build-report.ts'
import { reportFormat } from '../../../validation/reports/report-format.ts'
import { cellText, matrixRows, textOf } from '../../../validation/reports/report-text.ts'
import { type RanSuites, type TrialRecorder, trialRecorder } from '../../../validation/running/run-suites.ts'
import { type HashedSuite, hashSuite, type TriedModel } from '../../../validation/running/trial.ts'
import { generateSuite } from '../../../validation/suites/generate-suite.ts'
import { type Suite, SuiteError } from '../../../validation/suites/suite.ts'
import { ToolUseTracker } from '../../../validation/tool-use/tool-use-tracker.ts'
import {
  awaitServers,
  hasStore,
  type OpenManager,
  openManager,
  SHORT_WAIT_MS,
  SWITCHED_OFF,
  warnMissing,
  withoutServers,
  withStore,
} from '../../common/open.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  Interrupt,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../../common/terminal.ts'
import { figure, money, runWithProgress } from './validate-progress.ts'
import { type ValidateOptions, type ValidateSettings, validateSettings } from './validate-settings.ts'

const HELP = `
A suite is bfcl:CATEGORY (the Berkeley Function-Calling Leaderboard), a file of cases, or "generated", which is created
from your tools. All tools are mocks here: no real call is made. An interrupted run continues where it stopped.
Exit code 0: every trial was judged, and every model passed the gate. 1: otherwise.

Examples:
  $ toolyard validate                                                  your tools with the configured models
  $ toolyard validate --models openai:gpt-4o,ollama:llama3.2:3b --repeat 3 --gate 0.8 --report junit.xml
  $ toolyard validate --suite bfcl:simple --limit 50 --report report.html
  $ toolyard validate --generate --out cases.json                      write the cases to a file, to edit them`

export function defineValidate(command: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  command
    .option('--models <ids>', 'provider:model, separated by commas (default: the configured models)')
    .option('--suite <names...>', 'generated, bfcl:CATEGORY, or a file of cases (default generated)')
    .option('--limit <n>', 'only the first n cases of each suite')
    .option('--repeat <n>', 'how often each case runs (default 1)')
    .option('--concurrency <n>', 'parallel trials per model (default 4)')
    .option('--budget <amount>', 'maximum cost of all models together, in costs.currency (default 1)')
    .option('--budget-tokens <n>', 'maximum number of tokens of all models together')
    .option('--gate <rate>', 'from 0 to 1: exit with 1 if a model passes less of a suite')
    .option('--report <files...>', 'write a report: .html, .json, or .xml for JUnit')
    .option('--out <file>', 'file for the trials (default: in the data folder)')
    .option('--fresh', 'start over instead of continuing an interrupted run')
    .option('--generate', 'print the cases generated from your tools, or write them to --out, without running them')
    .addHelpText('after', HELP)
    .action(run(validate))
}

/** `toolyard validate`: runs suites with models; 1 if a trial was not judged, or a model missed the gate. */
export async function validate(terminal: Terminal, options: ValidateOptions): Promise<number> {
  const asked = validateSettings(options)
  let [configuredIt, listedIt] = [false, false]
  let currency: string | undefined
  const opened = await openManager(terminal, options, {
    change: (config) => {
      currency = config.costs?.currency
      configuredIt = Object.hasOwn(config.providers ?? {}, EMBEDDED_PROVIDER)
      listedIt = config.models?.some(({ id }) => id === EMBEDDED) ?? false
      const needed = asked.suites.every(isBfcl) && !options.generate ? withoutServers(config) : config
      return withUsualProviders(needed, asked.models)
    },
    record: false,
  })
  const settings = { ...asked, budget: { ...asked.budget, currency } }
  const { manager } = opened
  const interrupt = new Interrupt()
  try {
    await awaitServers(manager, { ms: SHORT_WAIT_MS, signal: interrupt.signal, terminal })
    warnMissing(terminal, opened)
    const tools = toolsOf(opened)
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    if (options.generate) return await generateFile(terminal, tools, settings.out)
    const suites = (await suitesOf(settings.suites, tools)).map((suite) => hashed(suite, settings.limit))
    const models = await chooseModels(terminal, await manager.getModels(), settings, { configuredIt, listedIt })
    const ran = await withRecorder(terminal, options, manager.getRegistry(), (recorder) =>
      runWithProgress(terminal, { suites, models, settings, signal: interrupt.signal, recorder }),
    )
    const report = buildReport(ran.run, {
      suites,
      repetitions: settings.repeat,
      createdAt: new Date(systemClock.wall()).toISOString(),
      gate: settings.gate,
      currency,
    })
    if (terminal.json) terminal.document(report)
    else showReport(terminal, report)
    for (const file of settings.reports) await writeWhole(terminal.path(file), reportFormat(file)?.(report) ?? '')
    conclude(terminal, report, ran, settings)
    return interrupt.exitCode ?? (report.complete && report.gate?.met !== false ? 0 : 1)
  } finally {
    interrupt.stop()
    await opened.close()
  }
}

/** BFCL suites have their own tools. */
const isBfcl = (suite: string): boolean => suite.startsWith('bfcl:')

/** The tools that work. */
function toolsOf({ manager }: OpenManager) {
  const registry = manager.getRegistry()
  return registry.definitions().filter(({ name }) => registry.invalidReason(name) === undefined)
}

/** Reports suites that can't be loaded as usage errors. */
const suitesOf = (names: readonly string[], definitions: readonly ToolDefinition[]): Promise<Suite[]> =>
  loadSuites(names, { definitions }).catch((error: unknown) => {
    throw error instanceof SuiteError ? new UsageError(error.message, { cause: error }) : error
  })

function hashed(suite: Suite, limit: number | undefined): HashedSuite {
  if (suite.cases.length === 0) {
    throw new UsageError(`The suite ${printableLine(suite.name)} has no cases.`)
  }
  return hashSuite({ ...suite, cases: suite.cases.slice(0, limit) })
}

function conclude(
  terminal: Terminal,
  report: ValidationReport,
  { run, file, spent }: RanSuites,
  { reports, budget: { currency } }: ValidateSettings,
): void {
  const { models, gate, complete } = report
  const { tokens, cost = 0 } = spent
  terminal.note(`Used ${figure(tokens)} tokens${cost === 0 ? '' : ` for ${money(cost, currency)}`}.`)
  for (const name of reports) terminal.note(printableLine(`Written: ${name}`))
  if (!complete) {
    const judged = report.trials.filter(({ outcome }) => outcome === 'passed' || outcome === 'failed').length
    const left = `${judged} of ${run.planned.length} trials were judged and are stored in ${file}.`
    terminal.note(printableLine(`${left} Run the same command again to continue.`))
  }
  if (gate !== undefined) tellGate(terminal, gate)
  if (models.length === 1 && models[0]?.id === EMBEDDED) {
    terminal.note(
      `${EMBEDDED} is the small model that ships with Toolyard. To test others, set "models" and "providers" in the configuration, or use --models openai:gpt-4o.`,
    )
  }
}

function tellGate(terminal: Terminal, { threshold, met, missed }: NonNullable<ValidationReport['gate']>): void {
  if (met) terminal.note(terminal.styleNote('green', `Every model passed the gate of ${threshold}.`))
  for (const { model, suite, rate } of missed) {
    const reached = rate === null ? 'was not judged' : `reached ${rate}`
    terminal.note(
      terminal.styleNote(
        'red',
        printableLine(`The gate of ${threshold} was not met: ${model} ${reached} in ${suite}.`),
      ),
    )
  }
}

/** Writes the suite generated from the tools to a new file, or to stdout if none is given. */
async function generateFile(
  terminal: Terminal,
  definitions: readonly ToolDefinition[],
  file: string | undefined,
): Promise<number> {
  const suite = generateSuite(definitions)
  if (suite.cases.length === 0) throw new UsageError('No suite can be generated: there are no tools. Register one.')
  if (file === undefined) {
    if (terminal.json) terminal.document(suite)
    else terminal.result(JSON.stringify(suite, undefined, 2))
    return 0
  }
  const path = terminal.path(file)
  await writeNew(path, `${JSON.stringify(suite, undefined, 2)}\n`)
  if (terminal.json) terminal.document({ file: path, cases: suite.cases.length })
  terminal.note(
    printableLine(`Wrote ${suite.cases.length} cases. Edit them, then run: toolyard validate --suite ${file}`),
  )
  return 0
}

/** Writes a new file. An existing one may have been edited, so it is never overwritten. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text, { flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new UsageError(`${file} already exists: remove it, or name another file.`)
    throw new Error(`${file} could not be written: ${code}.`, { cause: error })
  }
}

/** The model that needs no configuration. */
const EMBEDDED = `${EMBEDDED_PROVIDER}:${EMBEDDED_MODEL}`
const FREE: ModelPrices = { input: 0, output: 0 }

/** The named models, else the configured ones, else the one that needs no configuration. */
async function chooseModels(
  terminal: Terminal,
  catalogue: ModelCatalogue,
  { models: named, gate }: ValidateSettings,
  { configuredIt, listedIt }: { readonly configuredIt: boolean; readonly listedIt: boolean },
): Promise<TriedModel[]> {
  const configured = catalogue.list().map(({ id }) => id)
  const real = configured.filter((id) => configuredIt || listedIt || id !== EMBEDDED)
  let ids = named ?? (real.length > 0 ? real : configured)
  // A gate must not be passed because a model is missing.
  if (named === undefined && gate === undefined && ids.length > 1) ids = await available(terminal, catalogue, ids)
  try {
    return ids.map((id) => {
      const prices = id === EMBEDDED && !configuredIt ? FREE : catalogue.info(id).prices
      return { model: catalogue.get(id), prices }
    })
  } catch (error) {
    if (!(error instanceof UnknownModelError)) throw error
    throw new UsageError(`${error.message}. "toolyard models" lists the models.`, { cause: error })
  }
}

/** The models whose provider works, and a note about each of the others. All of them if none works: then the trials say why. */
async function available(terminal: Terminal, catalogue: ModelCatalogue, ids: readonly string[]) {
  await catalogue.checkLocal()
  const reasons = new Map(ids.map((id) => [id, catalogue.availability(id).reason]))
  const working = ids.filter((id) => reasons.get(id) === undefined)
  if (working.length === 0) return ids
  for (const [id, reason] of reasons) {
    if (reason !== undefined) terminal.note(printableLine(`${id} is not tested: ${reason}`))
  }
  return working
}

/** Runs work with a recorder if there is a store. A store that cannot be opened does not fail the command. */
async function withRecorder<T>(
  terminal: Terminal,
  options: GlobalOptions,
  registry: ToolRegistry,
  work: (recorder: TrialRecorder | undefined) => Promise<T>,
): Promise<T> {
  if (!hasStore(terminal)) return work(undefined)
  let opened = false
  try {
    return await withStore(terminal, options, async (storage) => {
      opened = true
      const tests = new ModelValidationTracker({ store: storage.validations })
      const uses = new ToolUseTracker({ store: storage.toolUse, log: silentLog })
      return work(trialRecorder({ tests, uses, registry, tenant: LOCAL_TENANT })).finally(() => uses.close())
    })
  } catch (error) {
    if (opened) throw error
    const reason = error instanceof Error ? error.message : String(error)
    terminal.note(printableLine(`The trials are not recorded: ${reason}`))
    return work(undefined)
  }
}

/** Reports have all failures. */
const SHOWN_FAILURES = 10
const MAX_VALUE_LENGTH = 200

/** Prints the matrix of each suite, the failures by kind, and the first failures. */
function showReport(terminal: Terminal, report: ValidationReport): void {
  const models = report.models.map(({ id }) => id)
  const whole: string[][] = []
  for (const { name, cases } of report.suites) {
    const rows = matrixRows(report, name).map(({ title, cells }) => [title, ...cells.map(shownCell)])
    const times = report.repetitions === 1 ? '' : `, ${report.repetitions} times each`
    const title = `${name} (${counted(cases, 'case')}${times})`
    if (rows.length === 1) whole.push([title, ...(rows[0]?.slice(1) ?? [])])
    else {
      terminal.result(terminal.style('bold', printableLine(title)))
      showTable(terminal, [['tool', ...models], ...rows])
      terminal.result('')
    }
  }
  if (whole.length > 0) {
    showTable(terminal, [['suite', ...models], ...whole])
    terminal.result('')
  }
  showRemarks(terminal, report)
  showKinds(terminal, report)
  showFailures(terminal, report)
}

const shownCell = (cell: Count | undefined): string => (cell === undefined ? '' : cellText(cell))

function showRemarks(terminal: Terminal, { suites }: ValidationReport): void {
  const remarked = suites.filter(({ remark }) => remark !== undefined)
  for (const { name, remark } of remarked) terminal.result(`Note on ${printableLine(`${name}: ${remark}`)}`)
  if (remarked.length > 0) terminal.result('')
}

function showKinds(terminal: Terminal, { failures, suites, models }: ValidationReport): void {
  for (const { name } of suites) {
    for (const { id } of models) {
      const own = failures.filter(({ suite, model }) => suite === name && model === id)
      const kinds = own.map(({ kind, count }) => `${count} ${kind}`).join(', ')
      if (own.length > 0) terminal.result(printableLine(`Failures of ${id} in ${name}: ${kinds}`))
    }
  }
}

function showFailures(terminal: Terminal, { trials }: ValidationReport): void {
  const failures = trials.filter(({ kind }) => kind !== undefined)
  if (failures.length === 0) return
  terminal.result('')
  for (const failure of failures.slice(0, SHOWN_FAILURES)) showFailure(terminal, failure)
  const more = failures.length - SHOWN_FAILURES
  if (more > 0) terminal.result(`… and ${more} more: --report FILE.html shows all of them.`)
}

function showFailure(terminal: Terminal, trial: ReportedTrial): void {
  const { model, case: id, repetition, message = '', query, expected, actual } = trial
  const name = `${id}${repetition > 1 ? ` (${repetition})` : ''}, ${model}`
  terminal.result(`${terminal.style('red', '✗')} ${terminal.style('bold', printableLine(name))}: ${line(message)}`)
  terminal.result(`    asked     ${line(query)}`)
  if (expected !== undefined) terminal.result(`    expected  ${line(expected)}`)
  if (actual !== undefined) terminal.result(`    actual    ${line(actual)}`)
}

function line(value: unknown): string {
  const text = printableLine(textOf(value))
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text
}
