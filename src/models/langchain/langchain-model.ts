import { randomUUID } from 'node:crypto'
import { systemClock } from '../../core/clock.ts'
import { refusalError, type Telling, toModelError } from '../ai-sdk/to-model-error.ts'
import { textMessage } from '../content.ts'
import type {
  AssistantMessage,
  FinishReason,
  Message,
  Metadata,
  Model,
  ModelEvent,
  ModelRequest,
  ToolCall,
  Usage,
} from '../model.ts'
import { ModelError, withModelId } from '../model-error.ts'
import { readJson, readObject } from '../read-json.ts'

/** The fields we read of `AIMessageChunk`, or of the `AIMessage` of a model without streaming. */
interface MessagePart {
  readonly id?: string | undefined
  readonly content: unknown
  readonly tool_call_chunks?: readonly CallPiece[] | undefined
  readonly tool_calls?: readonly { id?: string | undefined; name: string; args: object }[] | undefined
  readonly invalid_tool_calls?: readonly CallPiece[] | undefined
  readonly additional_kwargs?: Readonly<Record<string, unknown>> | undefined
  readonly response_metadata?: Readonly<Record<string, unknown>> | undefined
  readonly usage_metadata?:
    | {
        input_tokens: number
        output_tokens: number
        total_tokens: number
        input_token_details?: { cache_read?: number }
      }
    | undefined
  concat?(next: never): MessagePart
}

interface CallPiece {
  readonly index?: number | string | undefined
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly args?: string | undefined
}

interface OpenCall {
  readonly key: number | string | undefined
  readonly id: string
  readonly name: string
  text: string
}

/** Finish reasons of the providers behind LangChain, in lower case. */
const REASONS: Readonly<Record<FinishReason, readonly string[]>> = {
  stop: ['stop', 'end_turn', 'stop_sequence', 'eos', 'complete', 'completed', 'finish'],
  tool_calls: ['tool_calls', 'tool_use', 'function_call', 'tool_call'],
  length: ['length', 'max_tokens', 'model_length', 'max_output_tokens', 'model_context_window_exceeded'],
  content_filter: ['content_filter', 'safety', 'refusal', 'recitation', 'blocklist', 'prohibited_content', 'spii'],
  error: [],
}

const REASON_KEYS = ['finish_reason', 'stop_reason', 'done_reason', 'finishReason', 'stopReason']

/** Converts the chunks of one LangChain response into events. */
export class LangchainReader {
  readonly #parts: MessagePart[] = []
  readonly #calls: OpenCall[] = []
  readonly #ids = new Set<string>()
  #reason: string | undefined;

  *read(part: MessagePart): Generator<ModelEvent> {
    this.#parts.push(part)
    this.#reason = reasonIn(part) ?? this.#reason
    const text = textOf(part.content)
    if (text !== '') yield { type: 'text-delta', text }
    const pieces = part.tool_call_chunks ?? []
    for (const piece of pieces) yield* this.#readPiece(piece)
    // `tool_calls` repeats the chunks if there are any.
    if (pieces.length > 0) return
    for (const { id, name, args } of part.tool_calls ?? []) yield* this.#start({ id, name, args: JSON.stringify(args) })
    for (const { id, name, args } of part.invalid_tool_calls ?? []) yield* this.#start({ id, name, args })
  }

  *end(): Generator<ModelEvent> {
    const reason = finishReason(this.#reason)
    // The tokens ran out during the last call.
    if (reason === 'length' && this.#calls.length > 0 && readJson(this.#calls.at(-1)?.text ?? '') === undefined)
      this.#calls.pop()
    for (const { id, name, text } of this.#calls) {
      const call: ToolCall = { id, type: 'function', function: { name, arguments: text.trim() === '' ? '{}' : text } }
      yield { type: 'tool-call-end', call }
    }
    const whole = joined(this.#parts)
    const usage = usageOf(whole?.usage_metadata)
    const metadata = whole && storedOf(whole)
    yield {
      type: 'finish',
      reason: this.#calls.length > 0 ? 'tool_calls' : reason,
      ...(reason === 'error' && this.#reason !== undefined && { raw_reason: this.#reason }),
      ...(usage && { usage }),
      ...(metadata && { metadata }),
    }
  }

  *#readPiece(piece: CallPiece): Generator<ModelEvent> {
    const open = this.#calls.findLast(({ key }) => key === piece.index)
    const continues = open !== undefined && (piece.index !== undefined || !piece.name)
    if (!continues) yield* this.#start(piece)
    else if (piece.args) {
      open.text += piece.args
      yield { type: 'tool-call-delta', id: open.id, text: piece.args }
    }
  }

  *#start({ index, id: given, name = '', args = '' }: CallPiece): Generator<ModelEvent> {
    const id = given && !this.#ids.has(given) ? given : `call_${randomUUID()}`
    this.#ids.add(id)
    this.#calls.push({ key: index, id, name, text: args })
    yield { type: 'tool-call-start', id, name }
    if (args !== '') yield { type: 'tool-call-delta', id, text: args }
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((block) => (block?.type === 'text' && typeof block.text === 'string' ? block.text : '')).join('')
}

function reasonIn({ response_metadata, additional_kwargs }: MessagePart): string | undefined {
  for (const fields of [response_metadata, additional_kwargs]) {
    for (const key of REASON_KEYS) {
      const reason = fields?.[key]
      if (typeof reason === 'string' && reason !== '') return reason
    }
  }
  return undefined
}

/** Not every chat model has a reason, and a broken stream throws. */
function finishReason(named: string | undefined): FinishReason {
  if (named === undefined) return 'stop'
  const known = Object.entries(REASONS).find(([, names]) => names.includes(named.toLowerCase()))
  return (known?.[0] as FinishReason | undefined) ?? 'error'
}

const joined = (parts: readonly MessagePart[]): MessagePart | undefined =>
  parts.length < 2 ? parts[0] : parts.reduce((whole, next) => whole.concat?.(next as never) ?? next)

function usageOf(usage: MessagePart['usage_metadata']): Usage | undefined {
  if (usage === undefined) return undefined
  const { input_tokens: prompt, output_tokens: completion, total_tokens: total, input_token_details: details } = usage
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: Math.max(total, prompt + completion),
    ...(details?.cache_read && { cached_tokens: details.cache_read }),
  }
}

function storedOf({ id, content, additional_kwargs = {}, response_metadata = {} }: MessagePart): Metadata | undefined {
  // The message already has the calls.
  const { tool_calls: _, function_call: __, ...kwargs } = additional_kwargs
  const stored: StoredMessage = {
    ...(Array.isArray(content) && { content }),
    ...(Object.keys(kwargs).length > 0 && { additional_kwargs: kwargs }),
    ...(Object.keys(response_metadata).length > 0 && { response_metadata }),
  }
  return Object.keys(stored).length > 0 ? { langchain: { ...(id && { id }), ...stored } } : undefined
}

/** The used part of a LangChain chat model. Independent of LangChain's types, so that any version works. */
export interface LangchainChatModel extends Streaming {
  bindTools?(tools: never, options?: never): Streaming
  getName?(): string
}

interface Streaming {
  stream(messages: never, options?: never): Promise<AsyncIterable<unknown>>
}

/** Wraps a LangChain chat model. `id` is `langchain:<class or model>` by default. */
export function langchainModel(chatModel: LangchainChatModel, id = `langchain:${nameOf(chatModel)}`): Model {
  return { id, stream: (request) => streamOf(chatModel, id, request) }
}

async function* streamOf(chatModel: LangchainChatModel, id: string, request: ModelRequest): AsyncGenerator<ModelEvent> {
  const { messages, signal, max_tokens, temperature } = request
  signal?.throwIfAborted()
  const reader = new LangchainReader()
  try {
    const options = {
      ...(signal !== undefined && { signal }),
      ...(max_tokens !== undefined && { max_tokens }),
      ...(temperature !== undefined && { temperature }),
    }
    const asked = langchainMessages(messages)
    const parts = await withTools(chatModel, request).stream(asked as never, options as never)
    for await (const part of parts) yield* reader.read(part as MessagePart)
    signal?.throwIfAborted()
    yield* reader.end()
  } catch (error) {
    signal?.throwIfAborted()
    throw modelError(id, error)
  }
}

function withTools(chatModel: LangchainChatModel, { tools, tool_choice }: ModelRequest): Streaming {
  if (tools.length === 0) return chatModel
  if (chatModel.bindTools === undefined) {
    throw new ModelError(
      'This chat model does not support tools (it has no bindTools). Offer none, or use another model.',
    )
  }
  const bound = tools.map(({ name, description, parameters }) => ({ name, description, schema: parameters }))
  return tool_choice === undefined
    ? chatModel.bindTools(bound as never)
    : chatModel.bindTools(bound as never, { tool_choice: 'any' } as never)
}

function nameOf(chatModel: LangchainChatModel): string {
  const named: unknown = Reflect.get(chatModel, 'model') ?? Reflect.get(chatModel, 'modelName')
  return typeof named === 'string' ? named : (chatModel.getName?.() ?? chatModel.constructor.name)
}

/** The clients behind LangChain put the status on the error or on its `response`. */
function modelError(id: string, error: unknown): ModelError {
  const telling: Telling = { clock: systemClock, secrets: [] }
  const { status, headers, message = '' } = refusalIn(error)
  const told =
    status !== undefined && status >= 400
      ? refusalError({ status, headers: { ...headers }, said: message, body: undefined }, telling)
      : toModelError(error, telling)
  return withModelId(id, told, error)
}

function refusalIn(error: unknown): { status?: number; headers?: Record<string, string>; message?: string } {
  if (!(error instanceof Error) || error instanceof ModelError) return {}
  const response: unknown = Reflect.get(error, 'response')
  for (const one of [error, response]) {
    if (typeof one !== 'object' || one === null) continue
    const status: unknown = Reflect.get(one, 'status')
    const headers: unknown = Reflect.get(one, 'headers')
    if (typeof status !== 'number') continue
    const plain =
      headers instanceof Headers ? Object.fromEntries(headers) : (headers as Record<string, string> | undefined)
    return { status, message: error.message, ...(plain && { headers: plain }) }
  }
  return {}
}

/** A message as a plain object: our classes could be those of another copy of LangChain. */
interface LangchainMessage {
  role: string
  content: string | object[]
  [field: string]: unknown
}

/** The parts of a LangChain message to send back with the next request. */
interface StoredMessage {
  readonly id?: string
  /** If it is more than text, such as thinking with a signature. */
  readonly content?: readonly object[]
  readonly additional_kwargs?: Readonly<Record<string, unknown>>
  readonly response_metadata?: Readonly<Record<string, unknown>>
}

export function langchainMessages(messages: readonly Message[]): LangchainMessage[] {
  return messages.map(textMessage).map((message) => {
    if (message.role === 'assistant') return assistantMessage(message)
    return { ...message }
  })
}

function assistantMessage({ content, tool_calls = [], metadata }: AssistantMessage): LangchainMessage {
  const stored = (metadata?.langchain ?? {}) as StoredMessage
  return {
    ...stored,
    role: 'assistant',
    content: stored.content === undefined ? (content ?? '') : [...stored.content],
    tool_calls: tool_calls.map(langchainCall),
  }
}

/** LangChain drops a call whose arguments aren't an object, and its result would then answer nothing. */
const langchainCall = ({ id, function: { name, arguments: text } }: ToolCall) => ({
  id,
  name,
  args: readObject(text) ?? {},
  type: 'tool_call',
})
