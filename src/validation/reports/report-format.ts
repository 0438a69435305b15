import { extname } from 'node:path'
import { htmlReport } from './html-report.ts'
import { escapeAttribute, escapeMarkup, textOf } from './report-text.ts'
import type { ReportedModel, ReportedSuite, ReportedTrial, ValidationReport } from './validation-report.ts'

/** Report writers by file extension. */
export const REPORT_FORMATS: ReadonlyMap<string, (report: ValidationReport) => string> = new Map([
  ['.json', (report: ValidationReport) => `${JSON.stringify(report, undefined, 2)}\n`],
  ['.xml', junitReport],
  ['.html', htmlReport],
])

/** The writer for a file; undefined if its extension is unknown. */
export const reportFormat = (file: string): ((report: ValidationReport) => string) | undefined =>
  REPORT_FORMATS.get(extname(file).toLowerCase())

/** Writes JUnit XML for CI systems: a test suite per suite and model, a test case per trial. */
function junitReport({ suites, models, trials }: ValidationReport): string {
  const parts = suites.flatMap((suite) => models.map((model) => testSuite(suite, model, trials)))
  const body = parts.join('')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="toolyard validate"${totals(trials)}>\n${body}</testsuites>\n`
}

function testSuite({ name, remark }: ReportedSuite, { id }: ReportedModel, all: readonly ReportedTrial[]): string {
  const trials = all.filter(({ suite, model }) => suite === name && model === id)
  const title = escapeAttribute(`${name} ${id}`)
  const timestamp = trials.find(({ at }) => at !== undefined)?.at
  const at = timestamp === undefined ? '' : ` timestamp="${escapeAttribute(timestamp)}"`
  const cases = trials.map((trial) => testCase(trial, `${name}.${id}`)).join('')
  const note = remark === undefined ? '' : `    <system-out>${escapeMarkup(remark)}</system-out>\n`
  return `  <testsuite name="${title}"${totals(trials)}${at}>\n${cases}${note}  </testsuite>\n`
}

function totals(trials: readonly ReportedTrial[]): string {
  const count = (wanted: string): number => trials.filter(({ outcome }) => outcome === wanted).length
  const ms = trials.reduce((sum, { duration_ms = 0 }) => sum + duration_ms, 0)
  return (
    ` tests="${trials.length}" failures="${count('failed')}" errors="${count('not_answered')}"` +
    ` skipped="${count('not_run')}" time="${(ms / 1_000).toFixed(3)}"`
  )
}

function testCase(trial: ReportedTrial, classname: string): string {
  const { case: id, repetition, duration_ms = 0, outcome } = trial
  const name = repetition === 1 ? id : `${id} (${repetition})`
  const head =
    `    <testcase name="${escapeAttribute(name)}" classname="${escapeAttribute(classname)}"` +
    ` time="${(duration_ms / 1_000).toFixed(3)}"`
  if (outcome === 'passed') return `${head}/>\n`
  return `${head}>\n      ${problem(trial)}\n    </testcase>\n`
}

function problem({ outcome, kind, message = '', query, expected, actual, turns }: ReportedTrial): string {
  if (outcome === 'not_run') return '<skipped message="Not run"/>'
  const tag = outcome === 'failed' ? 'failure' : 'error'
  const details = [
    `Query: ${query}`,
    ...(expected === undefined ? [] : [`Expected: ${textOf(expected)}`]),
    ...(actual === undefined ? [] : [`Actual: ${textOf(actual)}`]),
    ...(turns === undefined ? [] : [`The model did: ${textOf(turns)}`]),
  ]
  const attributes = `type="${escapeAttribute(kind ?? outcome)}" message="${escapeAttribute(message)}"`
  return `<${tag} ${attributes}>${escapeMarkup(details.join('\n'))}</${tag}>`
}
