import { extname } from 'node:path'
import type { Handler, IsolatedHandler } from '../../core/handler.ts'
import type { Effect } from '../../core/tool.ts'
import type { ToolHandlers } from '../tool-handlers.ts'
import { datetimeHandler } from './datetime.ts'
import { echo } from './echo.ts'
import { simulatedLightHandler } from './simulated-light.ts'
import { string } from './string.ts'

/** The handler of `math_eval`: only the process that runs it loads mathjs. */
export const mathEvalHandler: IsolatedHandler = {
  module: new URL(`./math-eval${extname(import.meta.filename)}`, import.meta.url).href,
  export: 'mathEval',
}

/** Registers the shipped builtins, except those that the host application registered itself. */
export function addShippedBuiltins(handlers: ToolHandlers): void {
  const shipped: readonly (readonly [string, Handler | IsolatedHandler, Effect])[] = [
    ['math_eval', mathEvalHandler, 'read'],
    ['echo', echo, 'read'],
    ['datetime', datetimeHandler(Date.now), 'read'],
    ['string', string, 'read'],
    ['simulated_light', simulatedLightHandler(), 'idempotent'],
  ]
  for (const [name, handler, effect] of shipped) {
    if (handlers.get(name) === undefined) handlers.register(name, handler, { effect })
  }
}
