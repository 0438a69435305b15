import { cellText } from './cell-text.ts'
import { escapeMarkup } from './escape-markup.ts'
import { matrixRows } from './matrix-rows.ts'
import type { Cell, ReportedSuite, ValidationReport } from './validation-report.ts'

/** A table for each suite: a row for each tool, a column for each model. */
export const matrixTables = (report: ValidationReport): string =>
  report.suites.map((suite) => table(suite, report)).join('\n')

function table({ name, cases }: ReportedSuite, report: ValidationReport): string {
  const rows = matrixRows(report, name).map(
    ({ title, tool, cells }) =>
      `<tr><th scope="row">${escapeMarkup(title)}</th>${cells.map((cell) => field(cell, name, tool)).join('')}</tr>`,
  )
  return `<section class="wide" tabindex="0" aria-label="${escapeMarkup(`Matrix of ${name}`)}"><table class="matrix">
<caption>${escapeMarkup(name)} (${cases} ${cases === 1 ? 'case' : 'cases'})</caption>
<thead><tr><th scope="col">tool</th>${report.models.map(({ id }) => `<th scope="col">${escapeMarkup(id)}</th>`).join('')}</tr></thead>
<tbody>${rows.join('')}</tbody>
</table></section>`
}

/** A button, which shows the failures that it counts. */
function field(cell: Cell | undefined, suite: string, tool: string | null): string {
  if (cell === undefined) return '<td></td>'
  const text = escapeMarkup(cellText(cell))
  if (cell.failed + cell.not_answered + cell.not_run === 0) return `<td class="${grade(cell)}">${text}</td>`
  const shows = `data-suite="${escapeMarkup(suite)}" data-model="${escapeMarkup(cell.model)}" data-tool="${escapeMarkup(tool ?? '*')}"`
  return `<td class="${grade(cell)}"><button type="button" ${shows}>${text}</button></td>`
}

function grade({ rate }: Cell): string {
  if (rate === null) return 'none'
  return rate >= 0.8 ? 'good' : rate >= 0.5 ? 'fair' : 'bad'
}
