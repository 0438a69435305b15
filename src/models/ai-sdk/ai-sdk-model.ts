import type {
  JSONValue,
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { systemClock } from '../../core/clock.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { LIMITS } from '../../core/snapshot.ts'
import { AbortableStream } from '../abortable-stream.ts'
import type { AssistantMessage, FinishReason, Message, Metadata, Model, ModelEvent, ToolCall, Usage } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { WireRequest, WireTool } from '../provider.ts'
import { readJson, readObject } from '../read-json.ts'
import { type Telling, toModelError } from './to-model-error.ts'

type FinishPart = Extract<StreamPart, { type: 'finish' }>
type CallPart = Extract<StreamPart, { type: 'tool-call' }>
type Block = { type: 'reasoning'; text: string; options?: PartOptions } | OpenText
type OpenText = { type: 'text'; length: number; options?: PartOptions }

/** Converts the stream parts of the AI SDK into events. */
export class AnswerReader {
  readonly #parts: StoredPart[] = []
  /** Open blocks of text and reasoning, by id. */
  readonly #open = new Map<string, Block>()
  /** Started calls, and whether any arguments arrived. */
  readonly #started = new Map<string, boolean>()
  /** Calls that may be incomplete, and all calls after them: the finish reason decides. */
  readonly #held: { call: ToolCall; certain: boolean }[] = []
  #calls = 0
  #finish: FinishPart | undefined;

  /** The caller throws errors of the stream. */
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
        // Some streams have several; the last one counts.
        this.#finish = part
    }
  }

  *end(): Generator<ModelEvent> {
    const finish = this.#finish && readFinish(this.#finish)
    if (finish === undefined || finish.brokenOff) {
      throw new ModelError('The response ended early. Try again.', { retryable: true })
    }
    // The tokens ran out during the last call.
    if (finish.reason === 'length' && this.#held.at(-1)?.certain === false) this.#held.pop()
    for (const { call } of this.#held) yield this.#endCall(call)
    const metadata = partsMetadata(this.#parts)
    yield {
      type: 'finish',
      reason: this.#calls > 0 ? 'tool_calls' : finish.reason,
      ...(finish.reason === 'error' && finish.raw !== undefined && { raw_reason: finish.raw }),
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
    this.#parts.push({ type: 'call', id })
    const call: ToolCall = { id, type: 'function', function: { name, arguments: text }, ...(metadata && { metadata }) }
    // Empty arguments may mean none, or that the tokens ran out before them.
    const certain = streamed !== false && readJson(text) !== undefined
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
      this.#parts.push(block)
    }
    // A signature comes with the end.
    if (part.providerMetadata !== undefined) block.options = part.providerMetadata
    return block
  }
}

export type AiSdkLanguageModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4

export interface AskingManner extends Manner, Telling {
  /** Declares the tools of earlier calls even if no tools are offered. */
  readonly declaresUsedTools?: boolean
  readonly providerOptions?: LanguageModelV4CallOptions['providerOptions']
}

/** Sends one request, without the retries of the package `ai`. */
export async function* askAiSdk(
  model: AiSdkLanguageModel,
  request: WireRequest,
  manner: AskingManner,
): AsyncGenerator<ModelEvent> {
  const { signal } = request
  signal?.throwIfAborted()
  let reader: ReadableStreamDefaultReader<StreamPart> | undefined
  const leave = (): void => void reader?.cancel().catch(() => {})
  signal?.addEventListener('abort', leave, { once: true })
  try {
    reader = (await streamOf(model, callOptions(request, manner))).stream.getReader()
    const answer = new AnswerReader()
    for (;;) {
      signal?.throwIfAborted()
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
    leave()
  }
}

/** The versions differ only in parts that we don't send, and in the finish. */
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

/** Wraps a language model of the AI SDK (specification v2, v3 or v4). `id` is `provider:model` by default. */
export function aiSdkModel(model: AiSdkLanguageModel, id = `${model.provider.split('.')[0]}:${model.modelId}`): Model {
  const openai = model.provider.startsWith('openai')
  const manner: AskingManner = {
    marksFailures: !openai,
    systemAnywhere: openai,
    declaresUsedTools: usesAnthropic(model),
    clock: systemClock,
    secrets: [],
  }
  return {
    id,
    stream(request) {
      const events = askAiSdk(model, request, manner)
      return request.signal ? new AbortableStream(events, request.signal) : events
    },
  }
}

const usesAnthropic = ({ provider, modelId }: AiSdkLanguageModel): boolean =>
  /anthropic|claude/i.test(provider + modelId)

type StreamPart = LanguageModelV2StreamPart | LanguageModelV3StreamPart | LanguageModelV4StreamPart

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  'tool-calls': 'stop',
  length: 'length',
  'content-filter': 'content_filter',
}

function readFinish({ finishReason, usage }: FinishPart): {
  readonly reason: FinishReason
  /** The provider's own word. */
  readonly raw: string | undefined
  readonly brokenOff: boolean
  readonly usage: Usage | undefined
} {
  const { unified, raw } =
    typeof finishReason === 'string' ? { unified: finishReason, raw: finishReason } : finishReason
  return { reason: REASONS[unified] ?? 'error', raw, brokenOff: unified === 'interrupted', usage: readUsage(usage) }
}

function readUsage({ inputTokens, outputTokens, ...rest }: FinishPart['usage']): Usage | undefined {
  const prompt = count(inputTokens)
  const completion = count(outputTokens)
  if (prompt === undefined && completion === undefined) return undefined
  const sum = (prompt ?? 0) + (completion ?? 0)
  // Version 2 has a total of its own, which may be larger than the sum.
  const total = 'totalTokens' in rest ? (rest.totalTokens ?? sum) : sum
  return { prompt_tokens: prompt ?? 0, completion_tokens: completion ?? 0, total_tokens: Math.max(sum, total) }
}

const count = (tokens: number | { total: number | undefined } | undefined): number | undefined =>
  typeof tokens === 'object' ? tokens.total : tokens

/** Provider metadata to send back with a part, such as signatures. */
type PartOptions = SharedV4ProviderOptions

/**
 * A part of a response, in order: providers sign parts and expect the signatures at the same place. The text is in the
 * message, so only its length is stored.
 */
type StoredPart =
  | { readonly type: 'reasoning'; readonly text: string; readonly options?: PartOptions }
  | { readonly type: 'text'; readonly length: number; readonly options?: PartOptions }
  | { readonly type: 'call'; readonly id: string }

/** The metadata of a message with these parts; undefined if the message alone is enough. */
function partsMetadata(parts: readonly StoredPart[]): Metadata | undefined {
  const worthIt = parts.some((part) => part.type === 'reasoning' || (part.type === 'text' && part.options))
  return worthIt ? { parts } : undefined
}

/** Reads the parts of a message, which may come from a store or another model. */
function storedParts(metadata: Metadata | undefined): StoredPart[] {
  const parts = metadata?.parts
  return Array.isArray(parts) ? parts.filter(isStoredPart) : []
}

/** Provider metadata of a call, without our own (`recovered`). */
function promptCallOptions(metadata: Metadata | undefined): PartOptions | undefined {
  const stored = Object.entries(metadata ?? {}).filter(([, value]) => isObject(value))
  return stored.length > 0 ? (Object.fromEntries(stored) as PartOptions) : undefined
}

function isStoredPart(part: unknown): part is StoredPart {
  if (!isObject(part) || !(part.options === undefined || isObject(part.options))) return false
  if (part.type === 'reasoning') return typeof part.text === 'string'
  return part.type === 'text' ? typeof part.length === 'number' : part.type === 'call' && typeof part.id === 'string'
}

/** Differences between providers. */
interface Manner {
  /** Whether failed results are marked as errors. */
  readonly marksFailures: boolean
  /** Whether system messages may follow others; otherwise they are sent as user messages. */
  readonly systemAnywhere: boolean
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ToolPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]
type ResultMessage = Extract<Message, { role: 'tool' }>

/** Converts messages to a prompt, merging consecutive messages of one side. */
export function toPrompt(messages: readonly Message[], manner: Manner): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = []
  for (const message of messages) {
    const last = prompt.at(-1)
    if (message.role === 'assistant') {
      const content = assistantParts(message)
      // Most providers reject a turn that has only reasoning.
      if (content.some(({ type }) => type !== 'reasoning')) prompt.push({ role: 'assistant', content })
    } else if (message.role === 'tool') {
      const part = resultPart(message, manner)
      if (last?.role === 'tool') last.content.push(part)
      else prompt.push({ role: 'tool', content: [part] })
    } else if (message.role === 'system' && (manner.systemAnywhere || (last?.role ?? 'system') === 'system')) {
      prompt.push({ role: 'system', content: message.content })
    } else {
      const part = { type: 'text' as const, text: message.content }
      if (last?.role === 'user') last.content.push(part)
      else prompt.push({ role: 'user', content: [part] })
    }
  }
  return prompt
}

function assistantParts({ content, tool_calls: calls = [], metadata }: AssistantMessage): AssistantPart[] {
  const parts: AssistantPart[] = []
  const stored = storedParts(metadata)
  const text = content ?? ''
  const asItCame = stored.reduce((sum, part) => sum + lengthOf(part), 0) === text.length
  if (!asItCame && text !== '') parts.push({ type: 'text', text })
  const left = new Map(calls.map((call) => [call.id, call]))
  let at = 0
  for (const part of stored) {
    const call = part.type === 'call' ? left.get(part.id) : undefined
    if (call !== undefined && left.delete(call.id)) parts.push(callPart(call))
    else if (part.type === 'reasoning') parts.push({ type: 'reasoning', text: part.text, ...optionsOf(part) })
    else if (part.type === 'text' && asItCame && (part.length > 0 || part.options)) {
      parts.push({ type: 'text', text: text.slice(at, at + part.length), ...optionsOf(part) })
    }
    at += lengthOf(part)
  }
  parts.push(...[...left.values()].map(callPart))
  return parts
}

const lengthOf = (part: StoredPart): number => (part.type === 'text' ? part.length : 0)

const optionsOf = ({ options }: Exclude<StoredPart, { type: 'call' }>) => options && { providerOptions: options }

function callPart({ id, function: { name, arguments: text }, metadata }: ToolCall): AssistantPart {
  const options = promptCallOptions(metadata)
  return {
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    // Providers only accept objects. The model still sees its own text.
    input: readObject(text, LIMITS.answerDepth) ?? { raw_arguments: text },
    ...(options && { providerOptions: options }),
  }
}

function resultPart({ tool_call_id, name, content }: ResultMessage, { marksFailures }: Manner): ToolPart {
  const envelope = readObject(content, LIMITS.answerDepth) as Record<string, JSONValue> | undefined
  const failed = marksFailures && envelope?.success === false
  return {
    type: 'tool-result',
    toolCallId: tool_call_id,
    toolName: name,
    output:
      envelope === undefined
        ? { type: 'text', value: content }
        : { type: failed ? 'error-json' : 'json', value: envelope },
  }
}
