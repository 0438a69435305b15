import { ToolExecutionError } from '../../core/tool-execution-error.ts'

/** Throws where a text has nothing in it to embed: providers refuse it, or make a vector of nothing. */
export function requireTexts(texts: readonly string[]): void {
  const blank = texts.findIndex((text) => text.trim() === '')
  if (blank === -1) return
  throw new ToolExecutionError('INVALID_PARAMETERS', `Text ${blank + 1} of ${texts.length} is empty: leave it out.`)
}
