import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
} from '@ai-sdk/provider'
import { parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import type { ModelEvent, ToolCall } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { WireRequest, WireTool } from '../provider.ts'
import { type KeptPart, keepParts, type PartOptions } from './kept-part.ts'
import { readFinish, type StreamPart } from './read-finish.ts'
import { type Telling, toModelError } from './to-model-error.ts'
import { type Manner, toPrompt } from './to-prompt.ts'

type FinishPart = Extract<StreamPart, { type: 'finish' }>
type CallPart = Extract<StreamPart, { type: 'tool-call' }>
type Block = { type: 'reasoning'; text: string; options?: PartOptions } | OpenText
type OpenText = { type: 'text'; length: number; options?: PartOptions }

/** Turns the parts of one stream of the AI SDK into our events. */
export class AnswerReader {
  readonly #kept: KeptPart[] = []
  /** The blocks of text and reasoning that are being written, by id. */
  readonly #open = new Map<string, Block>()
  /** The calls that have started, and whether any of their arguments came. */
  readonly #started = new Map<string, boolean>()
  /** Calls of which only the finish says whether they were complete, and those behind them. */
  readonly #held: { call: ToolCall; certain: boolean }[] = []
  #calls = 0
  #finish: FinishPart | undefined;

  /** The events of one part. An error in the stream is the caller's to throw. */
  *read(part: StreamPart): Generator<ModelEvent> {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#block(part, true)
        break
      case 'text-delta':
      case 'reasoning-delta': {
        const block = this.#block(part)
        if (block.type === 'reasoning') block.text += part.delta
        else {
          block.length += part.delta.length
          if (part.delta !== '') yield { type: 'text-delta', text: part.delta }
        }
        break
      }
      case 'text-end':
      case 'reasoning-end':
        this.#block(part)
        this.#open.delete(part.id)
        break
      case 'tool-input-start':
        if (part.providerExecuted) break
        this.#started.set(part.id, false)
        yield { type: 'tool-call-start', id: part.id, name: part.toolName }
        break
      case 'tool-input-delta':
        if (part.delta === '' || !this.#started.has(part.id)) break
        this.#started.set(part.id, true)
        yield { type: 'tool-call-delta', id: part.id, text: part.delta }
        break
      case 'tool-call':
        if (!part.providerExecuted) yield* this.#readCall(part)
        break
      case 'finish':
        // Some streams hold several, of which the last is right.
        this.#finish = part
    }
  }

  /** What is left to say when the stream has ended. */
  *end(): Generator<ModelEvent> {
    const finish = this.#finish && readFinish(this.#finish)
    if (finish === undefined || finish.brokenOff) {
      throw new ModelError('The answer broke off before it was finished. Try again.', { retryable: true })
    }
    // The last call is the one in which the tokens ran out.
    if (finish.reason === 'length' && this.#held.at(-1)?.certain === false) this.#held.pop()
    for (const { call } of this.#held) yield this.#endCall(call)
    const metadata = keepParts(this.#kept)
    yield {
      type: 'finish',
      reason: this.#calls > 0 ? 'tool_calls' : finish.reason,
      ...(finish.usage && { usage: finish.usage }),
      ...(metadata && { metadata }),
    }
  }

  *#readCall(part: CallPart): Generator<ModelEvent> {
    const { toolCallId: id, toolName: name, providerMetadata: metadata } = part
    const text = part.input.trim() === '' ? '{}' : part.input
    const streamed = this.#started.get(id)
    if (streamed === undefined) {
      yield { type: 'tool-call-start', id, name }
      yield { type: 'tool-call-delta', id, text }
    }
    this.#kept.push({ type: 'call', id })
    const call: ToolCall = { id, type: 'function', function: { name, arguments: text }, ...(metadata && { metadata }) }
    // Arguments of which nothing came may be none, or the tokens may have run out before them.
    const certain = streamed !== false && isJson(text)
    if (certain && this.#held.length === 0) yield this.#endCall(call)
    else this.#held.push({ call, certain })
  }

  #endCall(call: ToolCall): ModelEvent {
    this.#calls++
    return { type: 'tool-call-end', call }
  }

  #block(part: { type: string; id: string; providerMetadata?: PartOptions }, fresh = false): Block {
    let block = this.#open.get(part.id)
    if (fresh || block === undefined) {
      block = part.type.startsWith('text') ? { type: 'text', length: 0 } : { type: 'reasoning', text: '' }
      this.#open.set(part.id, block)
      this.#kept.push(block)
    }
    // The later says more: a signature comes with the end.
    if (part.providerMetadata !== undefined) block.options = part.providerMetadata
    return block
  }
}

function isJson(text: string): boolean {
  try {
    parseJson(text, LIMITS.bodyDepth)
    return true
  } catch {
    return false
  }
}

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
