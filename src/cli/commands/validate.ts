import type { Command } from 'commander'
import { EMBEDDED_PROVIDER } from '../../config/provider-types.ts'
import { systemClock } from '../../core/clock.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { loadSuites } from '../../validation/load-suite.ts'
import { buildReport } from '../../validation/reports/build-report.ts'
import { reportFormat } from '../../validation/reports/report-format.ts'
import type { ValidationReport } from '../../validation/reports/validation-report.ts'
import type { RanSuites } from '../../validation/running/run-suites.ts'
import { type HashedSuite, hashSuite } from '../../validation/running/trial.ts'
import { type Suite, SuiteError } from '../../validation/suites/suite.ts'
import { Interrupt } from '../interrupt.ts'
import {
  awaitServers,
  type OpenManager,
  openManager,
  SHORT_WAIT_MS,
  SWITCHED_OFF,
  warnMissing,
  withoutServers,
} from '../open.ts'
import { printableLine } from '../printable.ts'
import type { Done, Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { chooseModels, EMBEDDED } from '../validate/choose-models.ts'
import { generateFile } from '../validate/generate-file.ts'
import { runWithProgress } from '../validate/run-with-progress.ts'
import { showReport } from '../validate/show-report.ts'
import { figure, usd } from '../validate/tell-estimate.ts'
import { type ValidateOptions, validateSettings } from '../validate/validate-settings.ts'
import { withRecorder } from '../validate/with-recorder.ts'
import { writeWhole } from '../write-whole.ts'

const HELP = `
A suite is bfcl:CATEGORY (the Berkeley Function-Calling Leaderboard), a file of cases, or "generated", which is created
from your tools. All tools are mocks here: no real call is made. An interrupted run continues where it stopped.
Exit code 0: every trial was judged, and every model passed the gate. 1: otherwise.

Examples:
  $ toolyard validate                                                  your tools with the configured models
  $ toolyard validate --models openai:gpt-4o,ollama:llama3.2:3b --repeat 3 --gate 0.8 --report junit.xml
  $ toolyard validate --suite bfcl:simple --limit 50 --report report.html
  $ toolyard validate --generate --out cases.json                      write the cases to a file, to edit them`

/** Defines `toolyard validate`. */
export function defineValidate(command: Command, terminal: Terminal, done: Done): void {
  command
    .option('--models <ids>', 'provider:model, separated by commas (default: the configured models)')
    .option('--suite <names...>', 'generated, bfcl:CATEGORY, or a file of cases (default generated)')
    .option('--limit <n>', 'only the first n cases of each suite')
    .option('--repeat <n>', 'how often each case runs (default 1)')
    .option('--concurrency <n>', 'parallel trials per model (default 4)')
    .option('--budget <usd>', 'maximum cost of all models together (default 1)')
    .option('--budget-tokens <n>', 'maximum number of tokens of all models together')
    .option('--gate <rate>', 'from 0 to 1: exit with 1 if a model passes less of a suite')
    .option('--report <files...>', 'write a report: .html, .json, or .xml for JUnit')
    .option('--out <file>', 'file for the trials (default: in the data folder)')
    .option('--fresh', 'start over instead of continuing an interrupted run')
    .option('--generate', 'print the cases generated from your tools, or write them to --out, without running them')
    .addHelpText('after', HELP)
    .action(async (_, command: Command) => done(await validate(terminal, command.optsWithGlobals())))
}

/** `toolyard validate`: runs suites with models; 1 if a trial was not judged, or a model missed the gate. */
export async function validate(terminal: Terminal, options: ValidateOptions): Promise<number> {
  const settings = validateSettings(options)
  let configuredIt = false
  const opened = await openManager(terminal, options, {
    change: (config) => {
      configuredIt = Object.hasOwn(config.providers ?? {}, EMBEDDED_PROVIDER)
      return settings.suites.every(isYardstick) && !options.generate ? withoutServers(config) : config
    },
    record: false,
  })
  const { manager } = opened
  const interrupt = new Interrupt()
  try {
    await awaitServers(manager, { ms: SHORT_WAIT_MS, signal: interrupt.signal })
    warnMissing(terminal, opened)
    const tools = toolsOf(opened)
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    if (options.generate) return await generateFile(terminal, tools, settings.out)
    const suites = (await suitesOf(settings.suites, tools)).map((suite) => hashed(suite, settings.limit))
    const models = chooseModels(await manager.getModels(), settings.models, configuredIt)
    const ran = await withRecorder(terminal, options, manager.getRegistry(), (recorder) =>
      runWithProgress(terminal, { suites, models, settings, signal: interrupt.signal, recorder }),
    )
    const report = buildReport(ran.run, {
      suites,
      repetitions: settings.repeat,
      createdAt: new Date(systemClock.wall()).toISOString(),
      ...(settings.gate !== undefined && { gate: settings.gate }),
    })
    if (terminal.json) terminal.document(report)
    else showReport(terminal, report)
    for (const file of settings.reports) await writeWhole(terminal.path(file), reportFormat(file)?.(report) ?? '')
    conclude(terminal, report, ran, settings.reports)
    return interrupt.exitCode ?? (report.complete && report.gate?.met !== false ? 0 : 1)
  } finally {
    interrupt.stop()
    await opened.close()
  }
}

/** It brings its own tools. */
const isYardstick = (suite: string): boolean => suite.startsWith('bfcl:')

/** Those that can be offered. */
function toolsOf({ manager }: OpenManager) {
  const registry = manager.getRegistry()
  return registry.definitions().filter(({ name }) => registry.brokenReason(name) === undefined)
}

/** Reports suites that can't be loaded as usage errors. */
const suitesOf = (names: readonly string[], definitions: readonly ToolDefinition[]): Promise<Suite[]> =>
  loadSuites(names, { definitions }).catch((error: unknown) => {
    throw error instanceof SuiteError ? new UsageError(error.message, { cause: error }) : error
  })

function hashed(suite: Suite, limit: number | undefined): HashedSuite {
  if (suite.cases.length === 0) {
    throw new UsageError(`The suite ${printableLine(suite.name)} has no cases: there is nothing to ask.`)
  }
  return hashSuite({ ...suite, cases: suite.cases.slice(0, limit) })
}

function conclude(
  terminal: Terminal,
  report: ValidationReport,
  { run, file, spent }: RanSuites,
  reports: readonly string[],
): void {
  const { models, gate, complete } = report
  const { tokens, cost = 0 } = spent
  terminal.note(`Used ${figure(tokens)} tokens${cost === 0 ? '' : ` for ${usd(cost)}`}.`)
  for (const name of reports) terminal.note(printableLine(`Written: ${name}`))
  if (!complete) {
    const judged = report.trials.filter(({ outcome }) => outcome === 'passed' || outcome === 'failed').length
    const left = `${judged} of ${run.planned.length} trials were judged and are kept in ${file}.`
    terminal.note(printableLine(`${left} The same command goes on with the others.`))
  }
  if (gate !== undefined) tellGate(terminal, gate)
  if (models.length === 1 && models[0]?.id === EMBEDDED) {
    terminal.note(
      `${EMBEDDED} is the small model that comes with Toolyard. To try others: "models" and "providers" in the configuration, or --models openai:gpt-4o.`,
    )
  }
}

function tellGate(terminal: Terminal, { threshold, met, missed }: NonNullable<ValidationReport['gate']>): void {
  if (met) terminal.note(terminal.styleNote('green', `The gate of ${threshold} was reached.`))
  for (const { model, suite, rate } of missed) {
    const reached = rate === null ? 'was not judged' : `reached ${rate}`
    terminal.note(
      terminal.styleNote('red', printableLine(`The gate of ${threshold} was missed: ${model} ${reached} in ${suite}.`)),
    )
  }
}
