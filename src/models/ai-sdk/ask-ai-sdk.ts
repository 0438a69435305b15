import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
} from '@ai-sdk/provider'
import type { ModelEvent } from '../model.ts'
import type { WireRequest, WireTool } from '../provider.ts'
import { AnswerReader } from './answer-reader.ts'
import type { StreamPart } from './read-finish.ts'
import { type Telling, toModelError } from './to-model-error.ts'
import { type Manner, toPrompt } from './to-prompt.ts'

/** Any language model of the AI SDK. */
export type AiSdkLanguageModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4

export interface AskingManner extends Manner, Telling {
  /** The tools of earlier calls have to be declared even where none may be called. */
  readonly declaresUsedTools?: boolean
  readonly providerOptions?: LanguageModelV4CallOptions['providerOptions']
}

/** Asks a model of the AI SDK once, without the retries that the package `ai` would add. */
export async function* askAiSdk(
  model: AiSdkLanguageModel,
  request: WireRequest,
  manner: AskingManner,
): AsyncGenerator<ModelEvent> {
  const { signal } = request
  signal?.throwIfAborted()
  let reader: ReadableStreamDefaultReader<StreamPart> | undefined
  let leave = (): void => {}
  // A model that does not listen to the signal must not hold up the asker.
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => {
      reject(signal?.reason)
      reader?.cancel().catch(() => {})
    }
  })
  left.catch(() => {})
  signal?.addEventListener('abort', leave, { once: true })
  try {
    const asking = Promise.resolve(streamOf(model, callOptions(request, manner)))
    asking.then(({ stream }) => (signal?.aborted ? stream.cancel() : undefined)).catch(() => {})
    reader = (await Promise.race([asking, left])).stream.getReader()
    const answer = new AnswerReader()
    for (;;) {
      const { done, value } = await reader.read()
      signal?.throwIfAborted()
      if (done) break
      if (value.type === 'error') throw value.error
      yield* answer.read(value)
    }
    yield* answer.end()
  } catch (error) {
    signal?.throwIfAborted()
    throw toModelError(error, manner)
  } finally {
    signal?.removeEventListener('abort', leave)
    reader?.cancel().catch(() => {})
  }
}

/** The versions differ in files, sources and approvals, none of which is sent, and in the finish, which `readFinish` reads. */
const streamOf = (
  model: AiSdkLanguageModel,
  options: LanguageModelV4CallOptions,
): PromiseLike<{ stream: ReadableStream<StreamPart> }> => (model as LanguageModelV4).doStream(options)

function callOptions(request: WireRequest, manner: AskingManner): LanguageModelV4CallOptions {
  const { messages, tools, max_tokens, temperature, response_schema: schema, signal } = request
  const used = manner.declaresUsedTools && tools.length === 0 ? usedTools(request) : []
  return {
    prompt: toPrompt(messages, manner),
    ...(tools.length > 0 && { tools: tools.map(functionTool), toolChoice: { type: 'auto' } }),
    ...(used.length > 0 && { tools: used, toolChoice: { type: 'none' } }),
    ...(max_tokens !== undefined && { maxOutputTokens: max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(schema !== undefined && { responseFormat: { type: 'json', schema } }),
    ...(signal && { abortSignal: signal }),
    ...(manner.providerOptions && { providerOptions: manner.providerOptions }),
  }
}

const functionTool = ({ name, description, parameters, strict }: WireTool): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  description,
  inputSchema: parameters,
  ...(strict !== undefined && { strict }),
})

function usedTools({ messages }: WireRequest): LanguageModelV4FunctionTool[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  const names = new Set(calls.map((call) => call.function.name))
  return [...names].map((name) => ({ type: 'function', name, inputSchema: { type: 'object' } }))
}
