import { ToolMessage } from '@langchain/core/messages'
import { DynamicStructuredTool, type StructuredTool, type ToolRunnableConfig } from '@langchain/core/tools'
import { asText } from '../core/json/json-depth.ts'
import { splitMedia, type ToolFailure } from '../core/tool-result.ts'
import { failureOf, type HandedOut } from './adapter.ts'

type Invoke = StructuredTool['invoke']

/** LangGraph adds the writer. */
type Config = ToolRunnableConfig & { readonly writer?: (chunk: unknown) => void }

/** A Toolyard tool as a LangChain tool: text and images of the result are the content, the envelope is the artifact. */
export class ExecutedTool extends DynamicStructuredTool {
  constructor({ definition: { name, description, parameters }, call }: HandedOut) {
    super({
      name,
      description,
      // A copy, because LangChain modifies schemas.
      schema: structuredClone(parameters),
      responseFormat: 'content_and_artifact',
      async func(params, run, { signal, toolCall, writer }: Config = {}) {
        const report = (progress: unknown) => {
          writer?.(progress)
          // Rejects if a callback does: that must not end the program.
          run?.handleToolEvent(progress).catch(() => {})
        }
        const result = await call(params, { id: toolCall?.id, signal, report })
        return result.success ? [contentOf(result.result), result] : failed(result, toolCall?.id)
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

/** Images are blocks of the form that all providers of LangChain read in results of tools; other media are short texts. */
function contentOf(result: unknown) {
  const { value, media } = splitMedia(result)
  const images = media.filter(({ type }) => type === 'image')
  if (images.length === 0) return asText(value)
  const blocks = images.map(({ media_type, data, url }) => ({
    type: 'image_url',
    image_url: { url: url ?? `data:${media_type};base64,${data}` },
  }))
  return [{ type: 'text', text: asText(value) }, ...blocks]
}

/**
 * Reports a failure to the model as a message: a thrown error would end an agent with middleware around its tools.
 * Callers without a model, and cancelled calls, get the error.
 */
function failed(result: ToolFailure, callId: string | undefined) {
  const error = failureOf(result)
  if (callId === undefined || error.code === 'CANCELLED') throw error
  const message = { status: 'error', content: error.message, artifact: result } as const
  return [new ToolMessage({ ...message, tool_call_id: callId, name: result.tool_name }), undefined]
}
