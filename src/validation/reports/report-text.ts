import type { Cell, Count, ValidationReport } from './build-report.ts'

/** Suites with more tools get one row in total. */
const MAX_TOOL_ROWS = 60
const MAX_TEXT_CHARACTERS = 10_000

interface MatrixRow {
  readonly title: string
  readonly tool: string | null
  /** In the order of the models. */
  readonly cells: readonly (Cell | undefined)[]
}

/** BFCL brings its own tools, nearly one per case: rows per tool would say nothing. */
const isBfcl = (suite: string): boolean => suite.startsWith('bfcl:')

/** One row per tool, unless there are too many, then cases without a call, then the total. */
export function matrixRows({ matrix, models }: ValidationReport, suite: string): MatrixRow[] {
  const own = matrix.filter((cell) => cell.suite === suite)
  const names = [...new Set(own.map(({ tool }) => tool))]
  const tools = names.filter((tool) => tool !== null && tool !== '').sort()
  const shown =
    isBfcl(suite) || tools.length > MAX_TOOL_ROWS
      ? []
      : [...tools, ...(tools.length > 0 && names.includes('') ? [''] : [])]
  return [...shown, null].map((tool) => ({
    title: tool === null ? 'all' : tool === '' ? '(no call is right)' : tool,
    tool,
    cells: models.map(({ id }) => own.find((cell) => cell.model === id && cell.tool === tool)),
  }))
}

/** Formats a cell as `75% (3/4) ≥30%`, followed by the counts of trials that weren't judged. */
export function cellText({ passed, failed, not_answered, not_run, rate, lower_bound }: Count): string {
  const judged =
    rate === null ? 'none judged' : `${percent(rate)} (${passed}/${passed + failed}) ≥${percent(lower_bound ?? 0)}`
  const rest = [
    ...(not_answered > 0 ? [`${not_answered} not answered`] : []),
    ...(not_run > 0 ? [`${not_run} not run`] : []),
  ]
  return [judged, ...rest].join(', ')
}

/** Formats a rate; rounds to 100% or 0% only if it is exact. */
export function percent(rate: number): string {
  const whole = Math.round(rate * 100)
  if (whole === 100 && rate < 1) return '99%'
  if (whole === 0 && rate > 0) return '1%'
  return `${whole}%`
}

export function textOf(value: unknown, indent?: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, undefined, indent) ?? 'nothing')
  return text.length > MAX_TEXT_CHARACTERS ? `${text.slice(0, MAX_TEXT_CHARACTERS)}… (${text.length} characters)` : text
}

/** Characters that XML and HTML can't contain: control characters, lone surrogates and two noncharacters. */
const IMPOSSIBLE = /[^\P{Cc}\n\t\r]|\p{Cs}|[\ufffe\uffff]/gu
const SPECIAL = /[&<>"'\r]/g
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\r': '&#13;',
}

/** Escapes text for XML and HTML; impossible characters are written as `\u0000`. */
export const escapeMarkup = (text: string): string =>
  text
    .replace(IMPOSSIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(SPECIAL, (character) => ENTITIES[character] as string)

/** Also escapes line breaks and tabs, which XML parsers turn into spaces in attributes. */
export const escapeAttribute = (text: string): string =>
  escapeMarkup(text).replaceAll('\n', '&#10;').replaceAll('\t', '&#9;')
