import type {
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { systemClock } from '../../core/clock.ts'
import { ownValue } from '../../core/json/json-type.ts'
import { AbortableStream } from '../abortable-stream.ts'
import { acceptedMedia, fittingMessage } from '../content.ts'
import { compileResponse, enforcesResponse } from '../dialects/compile-tools.ts'
import type { FinishReason, Model, ModelEvent, ToolCall, Usage } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { WireRequest, WireTool } from '../provider.ts'
import { readJson } from '../read-json.ts'
import {
  type Manner,
  type PartOptions,
  PROVIDER_MEDIA,
  type ProviderMedia,
  partsMetadata,
  type StoredPart,
  toPrompt,
} from './prompt.ts'
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
  /** How the provider is told what to cache: by a key (OpenAI), or by marks in the request (Anthropic). */
  readonly caching?: 'key' | 'marks'
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
  const { messages, tools, max_tokens, temperature, response_schema: schema, tool_choice, cache, signal } = request
  const isMarked = cache !== undefined && manner.caching === 'marks'
  const prompt = toPrompt(messages, manner)
  const used = manner.declaresUsedTools && tools.length === 0 ? usedTools(request) : []
  return {
    prompt: isMarked ? prompt.map(markedMessage) : prompt,
    ...(tools.length > 0 && {
      tools: isMarked ? tools.map(functionTool).map(markedTool) : tools.map(functionTool),
      toolChoice: { type: tool_choice ?? 'auto' },
    }),
    ...(used.length > 0 && { tools: used, toolChoice: { type: 'none' } }),
    ...(max_tokens !== undefined && { maxOutputTokens: max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(schema !== undefined && { responseFormat: { type: 'json', schema } }),
    ...(signal && { abortSignal: signal }),
    ...providerOptions(request, manner),
  }
}

function providerOptions({ response_schema, response_strict, cache }: WireRequest, manner: AskingManner) {
  const { openai: given, ...others } = manner.providerOptions ?? {}
  const openai = {
    ...given,
    ...(response_schema !== undefined && response_strict === false && { strictJsonSchema: false }),
    ...(cache !== undefined && manner.caching === 'key' && { promptCacheKey: cache.key }),
  }
  const all = { ...others, ...(Object.keys(openai).length > 0 && { openai }) }
  return Object.keys(all).length === 0 ? {} : { providerOptions: all }
}

const MARK = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** Everything up to the last tool is cached, and everything up to the last system message. */
const markedTool = (tool: LanguageModelV4FunctionTool, index: number, all: readonly object[]) =>
  index === all.length - 1 ? { ...tool, providerOptions: MARK } : tool

const markedMessage = (message: LanguageModelV4Message, index: number, all: readonly LanguageModelV4Message[]) =>
  message.role === 'system' && all[index + 1]?.role !== 'system' ? { ...message, providerOptions: MARK } : message

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

/**
 * Wraps a language model of the AI SDK (specification v2, v3 or v4). `id` is `provider:model` by default. `capabilities`
 * such as `image-input` say which media it takes.
 */
export function aiSdkModel(
  model: AiSdkLanguageModel,
  id = `${model.provider.split('.')[0]}:${model.modelId}`,
  capabilities: readonly string[] = [],
): Model {
  // The other versions have other formats for media.
  const media = model.specificationVersion === 'v4' ? mediaOf(model.provider) : undefined
  const accepts = acceptedMedia(media, capabilities)
  const openai = model.provider.startsWith('openai')
  const anthropic = usesAnthropic(model)
  const shapes = openai ? 'any' : anthropic ? 'strict' : undefined
  const manner: AskingManner = {
    marksFailures: !openai,
    systemAnywhere: openai,
    declaresUsedTools: anthropic,
    ...(anthropic && { caching: 'marks' }),
    media,
    clock: systemClock,
    secrets: [],
  }
  return {
    id,
    ...(accepts && { accepts }),
    enforces: (schema, hasTools) => enforcesResponse(shapes, schema, hasTools),
    stream({ response_schema: schema, ...request }) {
      const messages = request.messages.map((message) => fittingMessage(message, accepts))
      const hasTools = request.tools.length > 0
      // A provider that isn't known may enforce it. Beside tools, many refuse it.
      const isSent = schema !== undefined && (!hasTools || enforcesResponse(shapes, schema, hasTools))
      const shape = isSent ? compileResponse(schema, openai ? 'openai' : 'plain') : undefined
      const shaped = shape && { response_schema: shape.parameters, response_strict: shape.strict === true }
      const events = askAiSdk(model, { ...request, messages, ...shaped }, manner)
      return request.signal ? new AbortableStream(events, request.signal) : events
    },
  }
}

const mediaOf = (provider: string): ProviderMedia | undefined =>
  Object.entries(PROVIDER_MEDIA).find(([start]) => provider.startsWith(start))?.[1]

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
  return {
    reason: ownValue(REASONS, unified) ?? 'error',
    raw,
    brokenOff: unified === 'interrupted',
    usage: readUsage(usage),
  }
}

function readUsage({ inputTokens, outputTokens, ...rest }: FinishPart['usage']): Usage | undefined {
  const inVersion2 = 'cachedInputTokens' in rest ? rest.cachedInputTokens : undefined
  const cached = typeof inputTokens === 'object' ? inputTokens.cacheRead : inVersion2
  const prompt = count(inputTokens)
  const completion = count(outputTokens)
  if (prompt === undefined && completion === undefined) return undefined
  const sum = (prompt ?? 0) + (completion ?? 0)
  // Version 2 has a total of its own, which may be larger than the sum.
  const total = 'totalTokens' in rest ? (rest.totalTokens ?? sum) : sum
  return {
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion ?? 0,
    total_tokens: Math.max(sum, total),
    ...(cached && { cached_tokens: cached }),
  }
}

const count = (tokens: number | { total: number | undefined } | undefined): number | undefined =>
  typeof tokens === 'object' ? tokens.total : tokens
