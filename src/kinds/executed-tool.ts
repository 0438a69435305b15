import { ToolMessage } from '@langchain/core/messages'
import { DynamicStructuredTool, type StructuredTool, type ToolRunnableConfig } from '@langchain/core/tools'
import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/execution/tool-executor.ts'
import { asText } from '../core/json-depth.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { ToolExecutionError, type ToolFailure } from '../core/tool-result.ts'

type Invoke = StructuredTool['invoke']

/** A Toolyard tool as a LangChain tool: the result's text is the content, the envelope the artifact. */
export class ExecutedTool extends DynamicStructuredTool {
  constructor({ name, description, parameters }: ToolDefinition, executor: ToolExecutor, caller: CallContext) {
    super({
      name,
      description,
      // A copy, because LangChain modifies schemas.
      schema: structuredClone(parameters),
      responseFormat: 'content_and_artifact',
      async func(params, _, config: ToolRunnableConfig = {}) {
        const { signal, toolCall } = config
        const result = await executor.execute(name, params, { ...caller, ...(signal && { signal }) })
        return result.success ? [asText(result.result), result] : failed(result, toolCall?.id)
      },
    })
  }

  /**
   * Skips LangChain's validation, which uses another validator, runs before names are converted and defaults filled in,
   * and doesn't say what is wrong. The executor validates.
   */
  override invoke(...call: Parameters<Invoke>): ReturnType<Invoke> {
    return super.invoke.apply(Object.create(this, { schema: { value: {} } }), call)
  }
}

/**
 * Reports a failure to the model as a message: a thrown error would end an agent with middleware around its tools.
 * Callers without a model, and cancelled calls, get the error.
 */
function failed(result: ToolFailure, callId: string | undefined) {
  const { error, error_code, tool_name } = result
  if (callId === undefined || error_code === 'CANCELLED') throw new ToolExecutionError(error_code, error)
  const message = { status: 'error', content: error, artifact: result, tool_call_id: callId, name: tool_name } as const
  return [new ToolMessage(message), undefined]
}
