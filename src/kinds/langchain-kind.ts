import { asText } from '../core/as-text.ts'
import type { Kind } from '../core/kind.ts'
import { type Log, silentLog } from '../core/log.ts'
import type { Effect, Params } from '../core/tool.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import { isAdapted, type LangchainTool, sourceOf } from '../core/tool-view.ts'
import { logRenamed, serverNames } from './parameter-names.ts'

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

/** Runs a LangChain tool with the parameters as they are. */
async function invokeTool(tool: LangchainTool, params: Params, signal: AbortSignal): Promise<unknown> {
  // LangChain would take these for a call of its own, and run the tool with what stands in `args`, unseen by anybody.
  if (params.type === 'tool_call') {
    const problem = 'type must not be "tool_call", which LangChain takes for a call of its own'
    throw new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)
  }
  try {
    return plainResult(await tool.invoke(params as never, { signal } as never))
  } catch (error) {
    throw isRefusal(error, params) ? refused(error) : error
  }
}

/** What a message says; everything else is a value like that of any tool. */
function plainResult(result: unknown): unknown {
  if (!isMessage(result)) return result
  if (result.status === 'error') throw new ToolExecutionError('EXECUTION_ERROR', asText(result.content))
  return result.content
}

interface ReturnedMessage {
  readonly content: unknown
  readonly status?: unknown
}

const isMessage = (value: unknown): value is ReturnedMessage =>
  typeof value === 'object' && value !== null && 'lc_serializable' in value && 'content' in value

/**
 * Whether it is the tool's own check of its parameters that failed: Zod has rules that JSON Schema has no words for.
 * The error of LangChain names what it was given, so that one of a tool inside of the tool is not taken for it.
 */
const isRefusal = (error: unknown, params: Params): error is Error =>
  error instanceof Error &&
  error.constructor.name === 'ToolInputParsingException' &&
  Reflect.get(error, 'output') === JSON.stringify(params)

const refused = (error: Error): ToolExecutionError =>
  new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${error.message}`, {}, { cause: error })
