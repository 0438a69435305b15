import type { Kind } from '../../core/kind.ts'
import { type Log, silentLog } from '../../core/log.ts'
import type { Effect } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { isAdapted, type LangchainTool, sourceOf } from '../../core/tool-view.ts'
import { logRenamed } from '../log-renamed.ts'
import { serverNames } from '../parameter-names.ts'
import { invokeTool } from './invoke-tool.ts'

const NOT_IN_CODE = 'LangChain tools are registered in code: pass the tool itself to ToolRegistry.register'

/** Tools of LangChain, run by their own `invoke`. */
export const langchainKind = (log: Log = silentLog): Kind => ({
  effect: (tool) => annotatedEffect(sourceOf(tool)),
  warning: (tool) => (sourceOf(tool) === undefined ? NOT_IN_CODE : undefined),
  rename(tool, params) {
    const source = sourceOf(tool)
    if (source === undefined || !isAdapted(source)) return params
    return logRenamed(tool.name, params, serverNames(ownName(tool.name), params, tool.parameters), log)
  },
  bind(tool) {
    const source = sourceOf(tool)
    return () => {
      if (source === undefined) throw new ToolExecutionError('EXECUTION_ERROR', NOT_IN_CODE)
      return (params, { signal }) => invokeTool(source, params, signal)
    }
  },
})

/** What an MCP server says of its tool; all others may write. */
function annotatedEffect(tool: LangchainTool | undefined): Effect {
  if (tool === undefined || !isAdapted(tool)) return 'write'
  const { annotations } = Object(tool.metadata) as { annotations?: unknown }
  const { readOnlyHint, idempotentHint } = Object(annotations) as Record<string, unknown>
  if (readOnlyHint === true) return 'read'
  return idempotentHint === true ? 'idempotent' : 'write'
}

/** The name on the server: the adapters may put `mcp__` and the server's name before it. */
const ownName = (name: string): string => name.split('__').at(-1) ?? name
