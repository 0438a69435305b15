import { escapeMarkup } from './escape-markup.ts'
import { textOf } from './text-of.ts'
import type { ReportedTrial, ValidationReport } from './validation-report.ts'

/** Every trial that was not passed, with what was expected beside what came, and the means to choose among them. */
export function failureList({ trials }: ValidationReport): string {
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
<summary><span class="kind">${kind}</span> ${escapeMarkup(id)}${repeated} <code>${escapeMarkup(model)}</code> ${escapeMarkup(message ?? 'It was not run.')}</summary>
<dl>${body.join('')}</dl>
</details>`
}

const shown = (value: unknown): string => escapeMarkup(textOf(value, 2))
