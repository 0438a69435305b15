import type { Cell, ValidationReport } from './validation-report.ts'

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
