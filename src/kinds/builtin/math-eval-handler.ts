import { extname } from 'node:path'
import type { IsolatedHandler } from '../../core/handler.ts'

/** Where `math_eval` is: mathjs is loaded by the process that runs it, never by ours. */
export const mathEvalHandler: IsolatedHandler = {
  module: new URL(`./math-eval${extname(import.meta.filename)}`, import.meta.url).href,
  export: 'mathEval',
}
