import { asText } from '../../core/as-text.ts'
import type { Params } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { LangchainTool } from '../../core/tool-view.ts'

/** Runs a LangChain tool with the parameters as they are. */
export async function invokeTool(tool: LangchainTool, params: Params, signal: AbortSignal): Promise<unknown> {
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
