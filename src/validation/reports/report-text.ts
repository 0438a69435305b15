import type { Cell, Count, ValidationReport } from './validation-report.ts'

/** More tools than this say more together than one by one. */
const MOST_TOOLS = 60

export interface MatrixRow {
  readonly title: string
  readonly tool: string | null
  /** In the order of the models. */
  readonly cells: readonly (Cell | undefined)[]
}

/** Its tools are its own, nearly every case has another, and nobody has them. */
const isYardstick = (suite: string): boolean => suite.startsWith('bfcl:')

/** The matrix of a suite: its tools by name where they matter and are not too many, then cases without a call, then all together. */
export function matrixRows({ matrix, models }: ValidationReport, suite: string): MatrixRow[] {
  const own = matrix.filter((cell) => cell.suite === suite)
  const names = [...new Set(own.map(({ tool }) => tool))]
  const tools = names.filter((tool) => tool !== null && tool !== '').sort()
  const shown =
    isYardstick(suite) || tools.length > MOST_TOOLS
      ? []
      : [...tools, ...(tools.length > 0 && names.includes('') ? [''] : [])]
  return [...shown, null].map((tool) => ({
    title: tool === null ? 'all' : tool === '' ? '(no call is right)' : tool,
    tool,
    cells: models.map(({ id }) => own.find((cell) => cell.model === id && cell.tool === tool)),
  }))
}

/** `75% (3/4) ≥30%`, and what was not judged beside it. */
export function cellText({ passed, failed, not_answered, not_run, rate, lower_bound }: Count): string {
  const judged =
    rate === null ? 'none judged' : `${percent(rate)} (${passed}/${passed + failed}) ≥${percent(lower_bound ?? 0)}`
  const rest = [
    ...(not_answered > 0 ? [`${not_answered} not answered`] : []),
    ...(not_run > 0 ? [`${not_run} not run`] : []),
  ]
  return [judged, ...rest].join(', ')
}

/** Never rounded up to all, nor down to nothing. */
export function percent(rate: number): string {
  const whole = Math.round(rate * 100)
  if (whole === 100 && rate < 1) return '99%'
  if (whole === 0 && rate > 0) return '1%'
  return `${whole}%`
}

const LONGEST = 10_000

/** A value as people read it, on several lines where `indent` is given, and never endless. */
export function textOf(value: unknown, indent?: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, undefined, indent) ?? 'nothing')
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text
}

/** What neither XML nor HTML can hold: control characters, halves of characters, and two that are none. */
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

/** Any text as text, in XML and HTML, between tags and in attributes; what cannot be there is written as `\u0000`. */
export const escapeMarkup = (text: string): string =>
  text
    .replace(IMPOSSIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(SPECIAL, (character) => ENTITIES[character] as string)

/** The same for an attribute of XML, in which a line break would be read as a space. */
export const escapeAttribute = (text: string): string =>
  escapeMarkup(text).replaceAll('\n', '&#10;').replaceAll('\t', '&#9;')
