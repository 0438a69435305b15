import { hash } from 'node:crypto'
import type { ComplianceReport } from '../../app/service-levels/compliance-report.ts'
import type { ObjectiveReport } from '../../app/service-levels/objectives.ts'
import { counted } from '../../core/schema/problem-words.ts'
import type { SummarisedEvent } from '../../core/storage/ledger.ts'
import { escapeMarkup } from '../../validation/reports/report-text.ts'
import { csvCell } from './audit-export.ts'

type Cell = string | number | null

interface Table {
  readonly title: string
  /** Entries that a bounded list lacks. */
  readonly leftOut?: number
  readonly head: readonly string[]
  readonly rows: Iterable<readonly Cell[]>
}

const CALLS = ['Calls', 'Failed', 'Unknown', 'Denied', 'Cost', 'Calls of unknown cost']
const EVENT = ['Time', 'Tenant', 'By', 'Event', 'Subject', 'Outcome', 'Times', 'Detail']

/** The report as tables, for people. */
function* tables(report: ComplianceReport): Generator<Table> {
  const { days, usage, denied, objectives, integrity, left_out } = report
  const nameOf = (id: string | null): string =>
    id === null ? '' : Object.hasOwn(report.keys, id) ? (report.keys[id]?.name ?? id) : id
  const sums = (sum: ComplianceReport['totals']): Cell[] => [
    sum.calls,
    sum.failed,
    sum.unknown,
    sum.denied,
    sum.cost ?? (sum.unknown_costs === 0 ? 0 : 'unknown'),
    sum.unknown_costs,
  ]
  yield { title: 'Calls per day', head: ['Day', ...CALLS], rows: days.map((day) => [day.day, ...sums(day)]) }
  yield {
    title: 'Who used what',
    leftOut: left_out.usage,
    head: ['Tenant', 'Caller', 'Id', 'Tool', ...CALLS, 'First', 'Last'],
    rows: usage.map((row) => [
      ...[row.tenant, nameOf(row.caller), row.caller, row.tool],
      ...[...sums(row), row.first, row.last],
    ]),
  }
  yield {
    title: 'Denied calls',
    leftOut: left_out.denied,
    head: ['Tenant', 'Caller', 'Id', 'Tool', 'Reason', 'Calls', 'First', 'Last'],
    rows: denied.map((row) => [
      ...[row.tenant, nameOf(row.caller), row.caller, row.tool],
      ...[row.error_code, row.calls, row.first, row.last],
    ]),
  }
  yield {
    title: 'Cost of models',
    head: ['Model', 'Turns', 'Turns of unknown cost', 'Cost'],
    rows: report.models.map(({ model, turns, unknown, cost }) => [model, turns, unknown, cost ?? 'unknown']),
  }
  const events = (title: string, list: 'approvals' | 'changes' | 'access' | 'alerts'): Table => ({
    title,
    leftOut: left_out[list],
    head: EVENT,
    rows: report[list].map((event) => eventCells(event, nameOf)),
  })
  yield events('Approvals', 'approvals')
  yield events('Changes of keys, flags and configuration', 'changes')
  yield events('Sign-ins and refused access', 'access')
  yield {
    title: 'Objectives',
    head: ['Objective', 'Window', 'Calls', 'Bad', 'Result', 'Error budget left'],
    rows: objectives.map((one) => [
      one.id,
      one.window,
      one.calls,
      one.bad,
      resultOf(one),
      inPercent(one.error_budget_left),
    ]),
  }
  yield events('Alerts', 'alerts')
  yield {
    title: 'Integrity of the audit log',
    head: ['Chain', 'Row', 'Problem'],
    rows: integrity.faults.map(({ chain, at, problem }) => [chain, at, problem]),
  }
}

const eventCells = (event: SummarisedEvent, nameOf: (id: string | null) => string): Cell[] => [
  ...[event.time, event.tenant, nameOf(event.caller), event.event, event.subject],
  ...[event.outcome, event.attempts, event.detail],
]

/** The share of good calls. */
const resultOf = ({ calls, bad }: ObjectiveReport): string => (calls === 0 ? '' : inPercent(1 - bad / calls))

const inPercent = (share: number): string => `${(share * 100).toFixed(2)} %`

/** Whether the chains are whole, in one sentence. */
export function integritySentence({ integrity: { rows, chains, expired, faults } }: ComplianceReport): string {
  const checked = `${counted(rows, 'row')} in ${counted(chains, 'chain')} verified, ${expired} removed after their retention`
  return faults.length === 0
    ? `The audit log is intact: ${checked}.`
    : `The audit log is not intact (${counted(faults.length, 'fault')}): ${checked}.`
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#c8d0d8, #3d444d); }
body { margin: 0 auto; max-width: 80rem; padding: 1.5rem; font: 15px/1.45 system-ui, sans-serif;
  background: light-dark(#fff, #0d1117); color: light-dark(#1f2328, #e6edf3); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
section { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.notice { border-left: 4px solid #bf8700; padding-left: .8rem; } .bad { border-left-color: #cf222e; font-weight: 600; }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  :root { color-scheme: light; } body { max-width: none; padding: 0; font-size: 10pt; } section { overflow: visible; }
  thead { display: table-header-group; } tr { break-inside: avoid; } h2 { break-after: avoid; }
}
`

/** Nothing is loaded and nothing runs, whatever the values are. */
const POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'`

/** A page of its own that prints well, part by part. */
function* htmlReport(report: ComplianceReport): Generator<string> {
  const { from, to, tenant, generated_at, notice, totals } = report
  const scope = tenant === null ? 'all tenants' : `tenant ${tenant}`
  const cost = `cost ${totals.cost ?? 0}, and ${counted(totals.unknown_costs, 'call')} of unknown cost`
  const isIntact = report.integrity.faults.length === 0
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Compliance report ${escapeMarkup(`${from.slice(0, 10)} to ${to.slice(0, 10)}`)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Compliance report</h1>
<p>${escapeMarkup(`${from} to ${to}, ${scope}. Generated ${generated_at}.`)}</p>
${notice === null ? '' : `<p class="notice">${escapeMarkup(notice)}.</p>`}
<p>${totals.calls} calls: ${totals.failed} failed, ${totals.unknown} with an unknown outcome, ${totals.denied} denied, ${cost}.</p>
<p class="notice${isIntact ? '' : ' bad'}">${escapeMarkup(integritySentence(report))}</p>
`
  for (const { title, leftOut = 0, head, rows } of tables(report)) yield* htmlTable(title, leftOut, head, rows)
  yield '</main>\n</body>\n</html>\n'
}

function* htmlTable(title: string, leftOut: number, head: Table['head'], rows: Table['rows']): Generator<string> {
  const name = escapeMarkup(title)
  yield `<h2>${name}</h2>\n`
  let count = 0
  for (const row of rows) {
    if (count++ === 0) {
      const titles = head.map((text) => `<th scope="col">${escapeMarkup(text)}</th>`).join('')
      yield `<section tabindex="0" aria-label="${name}"><table>\n<thead><tr>${titles}</tr></thead>\n<tbody>\n`
    }
    yield `<tr>${row.map(htmlCell).join('')}</tr>\n`
  }
  yield count === 0 ? '<p>None.</p>\n' : '</tbody>\n</table></section>\n'
  if (leftOut > 0) yield `<p class="notice">${leftOut} more are left out: see "toolyard audit export".</p>\n`
}

const htmlCell = (cell: Cell): string =>
  typeof cell === 'number' ? `<td class="number">${cell}</td>` : `<td>${escapeMarkup(cell ?? '')}</td>`

/** Every table with its title in the first column, so that one file holds all. */
function* csvReport(report: ComplianceReport): Generator<string> {
  const line = (...cells: readonly Cell[]) => `${cells.map(csvCell).join(',')}\r\n`
  yield line('Report', 'From', 'To', 'Tenant', 'Generated', 'Notice', 'Integrity')
  const { from, to, tenant, generated_at, notice } = report
  yield line('Report', from, to, tenant, generated_at, notice, integritySentence(report))
  for (const { title, leftOut = 0, head, rows } of tables(report)) {
    yield `\r\n${line('Table', ...head)}`
    for (const row of rows) yield line(title, ...row)
    if (leftOut > 0) yield line(title, `${leftOut} more are left out`)
  }
}

function* jsonReport(report: ComplianceReport): Generator<string> {
  yield `${JSON.stringify(report, undefined, 2)}\n`
}

export const REPORT_FORMATS = {
  html: { type: 'text/html; charset=utf-8', write: htmlReport },
  json: { type: 'application/json; charset=utf-8', write: jsonReport },
  csv: { type: 'text/csv; charset=utf-8', write: csvReport },
} as const

export type ReportFormat = keyof typeof REPORT_FORMATS
