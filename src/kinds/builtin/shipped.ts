import type { ToolHandlers } from '../tool-handlers.ts'
import { datetimeHandler } from './datetime.ts'
import { echo } from './echo.ts'
import { mathEvalHandler } from './math-eval-handler.ts'
import { string } from './string.ts'

/** Puts the shipped builtins under their names, where the host application has not put its own. All of them only read. */
export function addShippedBuiltins(handlers: ToolHandlers): void {
  const shipped = { math_eval: mathEvalHandler, echo, datetime: datetimeHandler(Date.now), string }
  for (const [name, handler] of Object.entries(shipped)) {
    if (handlers.get(name) === undefined) handlers.register(name, handler, { effect: 'read' })
  }
}
