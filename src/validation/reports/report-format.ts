import { hash } from 'node:crypto'
import { extname } from 'node:path'
import type { Cell, ReportedModel, ReportedSuite, ReportedTrial, ValidationReport } from './build-report.ts'
import { cellText, escapeAttribute, escapeMarkup, matrixRows, textOf } from './report-text.ts'

/** Report writers by file extension. */
export const REPORT_FORMATS: ReadonlyMap<string, (report: ValidationReport) => string> = new Map([
  ['.json', (report: ValidationReport) => `${JSON.stringify(report, undefined, 2)}\n`],
  ['.xml', junitReport],
  ['.html', htmlReport],
])

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

const PAGE_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d0d7de, #3d444d); --soft: light-dark(#f6f8fa, #161b22);
  --good: light-dark(#d8f5dd, #12361e); --fair: light-dark(#fff3c4, #3d3000); --bad: light-dark(#ffdcd9, #4a1512); }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff, #0d1117); color: light-dark(#1f2328, #e6edf3); }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; } caption { text-align: left; padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; white-space: nowrap; }
td button { all: unset; cursor: pointer; text-decoration: underline dotted; }
:focus-visible, td button:focus-visible { outline: 2px solid light-dark(#0969da, #4493f8); outline-offset: 2px; }
.good { background: var(--good); } .fair { background: var(--fair); } .bad { background: var(--bad); }
.remark { border-left: 4px solid var(--line); padding-left: .8rem; }
form { display: flex; flex-wrap: wrap; gap: .8rem; align-items: end; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; } .kind { font-weight: 600; }
pre { background: var(--soft); padding: .5rem; margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.expected { border-left: 4px solid #2da44e; } .actual { border-left: 4px solid #cf222e; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
`

/** Filters the failures by the form; a click on a matrix cell fills in the form. */
const PAGE_SCRIPT = `
const form = document.querySelector('#filters')
if (form) {
  const all = [...document.querySelectorAll('#list details')].map((element) => ({
    element, text: element.textContent.toLowerCase(), tools: JSON.parse(element.dataset.tool) }))
  const fits = (wanted, value) => wanted === '*' || wanted === value
  const choose = () => {
    const { suite, model, tool, kind, text } = Object.fromEntries(new FormData(form))
    let shown = 0
    for (const { element, text: own, tools } of all) {
      const data = element.dataset
      element.hidden = !(fits(suite, data.suite) && fits(model, data.model) && fits(kind, data.kind) &&
        (tool === '*' || tools.includes(tool)) && own.includes(text.toLowerCase()))
      if (!element.hidden) shown++
    }
    document.querySelector('#shown').textContent = shown + ' of ' + all.length + ' shown'
  }
  form.addEventListener('input', choose)
  form.addEventListener('submit', (event) => event.preventDefault())
  form.addEventListener('reset', () => setTimeout(choose))
  for (const button of document.querySelectorAll('td button')) button.addEventListener('click', () => {
    form.reset()
    for (const name of ['suite', 'model', 'tool']) form.elements[name].value = button.dataset[name]
    choose()
    document.querySelector('#failures').focus()
  })
}
`

const sourceHash = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

/** Allows only our own style and script, so that model output can't run or fetch anything. */
const POLICY = [
  "default-src 'none'",
  `style-src ${sourceHash(PAGE_STYLE)}`,
  `script-src ${sourceHash(PAGE_SCRIPT)}`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** Writes a self-contained HTML page with the matrix and all failures. */
function htmlReport(report: ValidationReport): string {
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
<p>Each cell shows the pass rate, passed and judged trials, and the lower end of the 95 % confidence interval.</p>
${matrixTables(report)}
<h2>Models</h2>
<ul>${report.models.map((model) => `<li>${modelLine(model, report.currency)}</li>`).join('')}</ul>
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

function modelLine({ id, tokens, cost, stopped }: ReportedModel, currency = 'USD'): string {
  const spent = `${tokens} tokens, ${cost === null ? 'unknown price' : `${cost.toFixed(4)} ${escapeMarkup(currency)}`}`
  const why = stopped === undefined ? '' : ` <span class="bad">${escapeMarkup(stopped.message)}</span>`
  return `<code>${escapeMarkup(id)}</code>: ${spent}.${why}`
}

const matrixTables = (report: ValidationReport): string => report.suites.map((suite) => table(suite, report)).join('\n')

function table({ name, cases }: ReportedSuite, report: ValidationReport): string {
  const rows = matrixRows(report, name).map(
    ({ title, tool, cells }) =>
      `<tr><th scope="row">${escapeMarkup(title)}</th>${cells.map((cell) => tableCell(cell, name, tool)).join('')}</tr>`,
  )
  return `<section class="wide" tabindex="0" aria-label="${escapeMarkup(`Matrix of ${name}`)}"><table class="matrix">
<caption>${escapeMarkup(name)} (${cases} ${cases === 1 ? 'case' : 'cases'})</caption>
<thead><tr><th scope="col">tool</th>${report.models.map(({ id }) => `<th scope="col">${escapeMarkup(id)}</th>`).join('')}</tr></thead>
<tbody>${rows.join('')}</tbody>
</table></section>`
}

/** A cell with failures is a button that filters the list below. */
function tableCell(cell: Cell | undefined, suite: string, tool: string | null): string {
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

/** The trials that didn't pass, with expected and actual values, and a filter form. */
function failureList({ trials }: ValidationReport): string {
  const failures = trials.filter(({ outcome }) => outcome !== 'passed')
  if (failures.length === 0) return '<h2 id="failures">Failures</h2>\n<p>None.</p>'
  return `<h2 id="failures" tabindex="-1">Failures</h2>
<form id="filters">
${select(
  'suite',
  failures.map(({ suite }) => suite),
)}
${select(
  'model',
  failures.map(({ model }) => model),
)}
${select('tool', failures.flatMap(aboutOf))}
${select('kind', failures.map(kindOf))}
<label>text <input type="search" name="text" autocomplete="off"></label>
<button type="reset">show all</button>
</form>
<p id="shown" role="status">${failures.length} of ${failures.length} shown</p>
<div id="list">
${failures.map(failure).join('\n')}
</div>`
}

function select(name: string, values: readonly string[]): string {
  const options = [...new Set(values)].sort().map((value) => {
    const title = value === '' ? '(no call is right)' : value
    return `<option value="${escapeMarkup(value)}">${escapeMarkup(title)}</option>`
  })
  return `<label>${name} <select name="${name}"><option value="*">all</option>${options.join('')}</select></label>`
}

const kindOf = ({ kind, outcome }: ReportedTrial): string => kind ?? outcome

const aboutOf = ({ about }: ReportedTrial): readonly string[] => (about.length === 0 ? [''] : about)

function failure(trial: ReportedTrial): string {
  const { suite, model, case: id, repetition, query, message, expected, actual, turns = [] } = trial
  const tools = escapeMarkup(JSON.stringify(aboutOf(trial)))
  const kind = escapeMarkup(kindOf(trial))
  const repeated = repetition > 1 ? ` (${repetition})` : ''
  const body = [
    `<dt>asked</dt><dd><pre>${escapeMarkup(textOf(query))}</pre></dd>`,
    ...(expected === undefined ? [] : [`<dt>expected</dt><dd><pre class="expected">${shown(expected)}</pre></dd>`]),
    ...(actual === undefined ? [] : [`<dt>actual</dt><dd><pre class="actual">${shown(actual)}</pre></dd>`]),
    ...turns.map(
      ({ calls, answer }, index) =>
        `<dt>the model did${turns.length > 1 ? ` in turn ${index + 1}` : ''}</dt>` +
        `<dd><pre>${calls.length === 0 ? 'no call' : shown(calls)}</pre>${answer === '' ? '' : `<pre>${shown(answer)}</pre>`}</dd>`,
    ),
  ]
  return `<details data-suite="${escapeMarkup(suite)}" data-model="${escapeMarkup(model)}" data-kind="${kind}" data-tool="${tools}">
<summary><span class="kind">${kind}</span> ${escapeMarkup(id)}${repeated} <code>${escapeMarkup(model)}</code> ${escapeMarkup(message ?? 'Not run.')}</summary>
<dl>${body.join('')}</dl>
</details>`
}

const shown = (value: unknown): string => escapeMarkup(textOf(value, 2))
