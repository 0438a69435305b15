import { cellText, matrixRows, textOf } from '../../validation/reports/report-text.ts'
import type { Count, ReportedTrial, ValidationReport } from '../../validation/reports/validation-report.ts'
import { printableLine } from '../printable.ts'
import { showTable } from '../show-table.ts'
import type { Terminal } from '../terminal.ts'

/** More are in the reports. */
const SHOWN_FAILURES = 10
const LONGEST_VALUE = 200

/** Writes a report for people: the matrix of each suite, the failures by kind, and the first of them. */
export function showReport(terminal: Terminal, report: ValidationReport): void {
  const models = report.models.map(({ id }) => id)
  const whole: string[][] = []
  for (const { name, cases } of report.suites) {
    const rows = matrixRows(report, name).map(({ title, cells }) => [title, ...cells.map(shownCell)])
    const times = report.repetitions === 1 ? '' : `, ${report.repetitions} times each`
    const title = `${name} (${cases} ${cases === 1 ? 'case' : 'cases'}${times})`
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
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text
}
