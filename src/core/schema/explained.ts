import type { Problem } from '../tool-result.ts'

/** One fault in the parameters, with the words for it. */
export interface Explained extends Problem {
  readonly message: string
}
