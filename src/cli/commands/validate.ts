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
import { awaitServers, SHORT_WAIT_MS, tellMissing } from '../await-servers.ts'
import { Interrupt } from '../interrupt.ts'
import { openManager, SWITCHED_OFF, withoutServers } from '../open-manager.ts'
import { printableLine } from '../printable.ts'
import { type OpenManager, startManager } from '../start-manager.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { chooseModels, EMBEDDED } from '../validate/choose-models.ts'
import { generateFile } from '../validate/generate-file.ts'
import { runWithProgress } from '../validate/run-with-progress.ts'
import { showReport } from '../validate/show-report.ts'
import { figure, usd } from '../validate/tell-estimate.ts'
import { type ValidateOptions, validateSettings } from '../validate/validate-settings.ts'
import { withRecorder } from '../validate/with-recorder.ts'
import { writeWhole } from '../write-whole.ts'

/**
 * `toolyard validate`: puts suites of cases to models, and says which can use which tool; 0 where every trial was
 * judged and the gate was reached, 1 where not.
 */
export async function validate(
  terminal: Terminal,
  options: ValidateOptions,
  open: typeof openManager = openManager,
): Promise<number> {
  const settings = validateSettings(options)
  let configuredIt = false
  const opened = await open(
    options,
    (config) => {
      configuredIt = Object.hasOwn(config.providers ?? {}, EMBEDDED_PROVIDER)
      return settings.suites.every(isYardstick) && !options.generate ? withoutServers(config) : config
    },
    startManager,
  )
  const { manager } = opened
  const interrupt = new Interrupt()
  try {
    await awaitServers(manager, { ms: SHORT_WAIT_MS, signal: interrupt.signal })
    tellMissing(terminal, opened)
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
    for (const file of settings.reports) await writeWhole(file, reportFormat(file)?.(report) ?? '')
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
