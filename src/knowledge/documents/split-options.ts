import { ToolExecutionError } from '../../core/tool-execution-error.ts'

export interface SplitOptions {
  /** Characters that a piece has at most. */
  readonly chunkSize?: number
  /** Characters that a piece may repeat of the one before it where running text had to be cut: a tenth by default. */
  readonly overlap?: number
}

/**
 * About 190 tokens of English, 260 of text with much code in it: small models that make vectors of texts take 256, and
 * leave out the rest unasked.
 */
export const DEFAULT_CHUNK_SIZE = 800
export const LEAST_CHUNK_SIZE = 50
export const MOST_CHUNK_SIZE = 32_000

/** The options as they hold, or an error that says which are allowed. */
export function splitOptions({ chunkSize = DEFAULT_CHUNK_SIZE, overlap }: SplitOptions = {}): Required<SplitOptions> {
  if (!Number.isInteger(chunkSize) || chunkSize < LEAST_CHUNK_SIZE || chunkSize > MOST_CHUNK_SIZE) {
    throw invalid('chunk_size', chunkSize, LEAST_CHUNK_SIZE, MOST_CHUNK_SIZE)
  }
  const most = Math.floor(chunkSize / 4)
  const repeated = overlap ?? Math.floor(chunkSize / 10)
  if (!Number.isInteger(repeated) || repeated < 0 || repeated > most) throw invalid('overlap', repeated, 0, most)
  return { chunkSize, overlap: repeated }
}

function invalid(name: string, value: number, least: number, most: number): ToolExecutionError {
  const message = `Invalid parameters: ${name} must be an integer from ${least} to ${most} characters, not ${value}`
  return new ToolExecutionError('INVALID_PARAMETERS', message)
}
