import { ToolMessage } from '@langchain/core/messages'
import { DynamicStructuredTool, type StructuredTool, type ToolRunnableConfig } from '@langchain/core/tools'
import { asText } from '../core/as-text.ts'
import type { CallContext } from '../core/call-context.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { ToolFailure } from '../core/tool-result.ts'

type Invoke = StructuredTool['invoke']

/** A tool of ours as a tool of LangChain: the text of the result is its content, the whole envelope its artifact. */
export class ExecutedTool extends DynamicStructuredTool {
  constructor({ name, description, parameters }: ToolDefinition, executor: ToolExecutor, caller: CallContext) {
    super({
      name,
      description,
      // A copy: LangChain writes into schemas.
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
   * LangChain would hold the parameters against the schema first, with another validator, before names are brought into
   * form and defaults filled in, and without saying what is wrong. That is the executor's work, so here nothing is checked.
   */
  override invoke(...call: Parameters<Invoke>): ReturnType<Invoke> {
    return super.invoke.apply(Object.create(this, { schema: { value: {} } }), call)
  }
}

/**
 * A model must hear what went wrong, in the envelope's words: it gets a message. An error that is thrown ends an agent
 * that has middleware around its tools, and reaches the model of any other as its own mistake. Who calls the tool
 * without a model, or has gone away, gets the error.
 */
function failed(result: ToolFailure, callId: string | undefined) {
  const { error, error_code, tool_name } = result
  if (callId === undefined || error_code === 'CANCELLED') throw new ToolExecutionError(error_code, error)
  const message = { status: 'error', content: error, artifact: result, tool_call_id: callId, name: tool_name } as const
  return [new ToolMessage(message), undefined]
}
