import type { Handler, IsolatedHandler } from '../core/handler.ts'
import type { Kind } from '../core/kind.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import type { ToolHandlers } from './tool-handlers.ts'

/** The kind of tools whose code is registered by name; `label` begins the sentence about a missing one. */
export function handlerKind(label: 'Builtin' | 'Internal', handlers: ToolHandlers): Kind {
  const missing = ({ implementation }: ToolDefinition) => `${label} handler '${implementation.handler}' not found`
  const slotOf = (tool: ToolDefinition) => handlers.slot(String(tool.implementation.handler))
  return {
    effect: (tool) => slotOf(tool).effect ?? 'write',
    warning: (tool) => (slotOf(tool).handler === undefined ? missing(tool) : undefined),
    bind(tool): () => Handler | IsolatedHandler {
      const slot = slotOf(tool)
      return () => {
        if (slot.handler === undefined) throw new ToolExecutionError('EXECUTION_ERROR', missing(tool))
        return slot.handler
      }
    },
  }
}
