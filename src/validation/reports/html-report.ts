import { hash } from 'node:crypto'
import { escapeMarkup } from './escape-markup.ts'
import { failureList } from './html-failures.ts'
import { matrixTables } from './html-matrix.ts'
import { PAGE_SCRIPT, PAGE_STYLE } from './html-page.ts'
import type { ReportedModel, ValidationReport } from './validation-report.ts'

const allowed = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

/** Only our own style and script work: whatever a model wrote, it can neither run nor fetch anything. */
const POLICY = [
  "default-src 'none'",
  `style-src ${allowed(PAGE_STYLE)}`,
  `script-src ${allowed(PAGE_SCRIPT)}`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** The report as one page that needs nothing else: the matrix, and every trial that was not passed. */
export function htmlReport(report: ValidationReport): string {
  const title = `Which model can use which tool: ${report.suites.map(({ name }) => name).join(', ')}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeMarkup(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>Which model can use which tool</h1>
<p>${summary(report)}</p>
${gate(report)}
${remarks(report)}
<p>Each field: the rate of trials passed, how many of how many, and what the true rate is at least (with 95 % certainty).</p>
${matrixTables(report)}
<h2>Models</h2>
<ul>${report.models.map((model) => `<li>${modelLine(model)}</li>`).join('')}</ul>
${failureList(report)}
</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`
}

function summary({ created_at, trials, suites, models, repetitions, complete }: ValidationReport): string {
  const passed = trials.filter(({ outcome }) => outcome === 'passed').length
  const unfinished = complete ? '' : ' <strong>Not every trial was judged.</strong>'
  return (
    `${passed} of ${trials.length} trials passed: ${count(suites.length, 'suite')}, ${count(models.length, 'model')}, ` +
    `${count(repetitions, 'repetition')}, <time datetime="${escapeMarkup(created_at)}">${escapeMarkup(created_at)}</time>.${unfinished}`
  )
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`

function gate({ gate: result }: ValidationReport): string {
  if (result === undefined) return ''
  const missed = result.missed.map(({ suite, model, rate }) => `${model} in ${suite} (${rate ?? 'not judged'})`)
  const words = result.met ? 'reached by all' : `missed by ${missed.join(', ')}`
  return `<p class="${result.met ? 'good' : 'bad'}" id="gate">Gate ${result.threshold}: ${escapeMarkup(words)}.</p>`
}

const remarks = ({ suites }: ValidationReport): string =>
  suites
    .filter(({ remark }) => remark !== undefined)
    .map(
      ({ name, remark = '' }) =>
        `<p class="remark"><strong>${escapeMarkup(name)}</strong>: ${escapeMarkup(remark)}</p>`,
    )
    .join('\n')

function modelLine({ id, tokens, cost, stopped }: ReportedModel): string {
  const spent = `${tokens} tokens, ${cost === null ? 'price not known' : `${cost.toFixed(4)} USD`}`
  const why = stopped === undefined ? '' : ` <span class="bad">${escapeMarkup(stopped.message)}</span>`
  return `<code>${escapeMarkup(id)}</code>: ${spent}.${why}`
}
