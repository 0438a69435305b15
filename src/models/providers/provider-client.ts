import { pause } from '../../core/cancellation.ts'
import { ABOVE_ZERO, COUNT, checkNumber } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import type { LangchainTool } from '../../core/execution/tool-view.ts'
import type { Log } from '../../core/log.ts'
import { AbortableStream } from '../abortable-stream.ts'
import { checkSampling } from '../check-numbers.ts'
import { acceptedMedia, fittingMessage } from '../content.ts'
import { type CompiledTools, compileResponse, compileTools, enforcesResponse } from '../dialects/compile-tools.ts'
import { offeredTools } from '../langchain/offered-tools.ts'
import type {
  AcceptedMedia,
  FinishReason,
  Message,
  Model,
  ModelEvent,
  ModelRequest,
  OfferedTool,
  ToolCall,
  Usage,
} from '../model.ts'
import { ModelError, withModelId } from '../model-error.ts'
import type { ModelInfo, PrintedCalls } from '../model-info.ts'
import type { ModelScores } from '../model-scores.ts'
import { type Recovery, recoverCalls } from '../printed-calls/recover-calls.ts'
import type { ListedModel, ProviderContext, ProviderSettings, Wire, WireRequest } from '../provider.ts'
import { TurnBounds } from '../turn-bounds.ts'

const DEFAULT_TIMEOUT_MS = 300_000
const DEFAULT_TEMPERATURE = 0.7
/** Why a printed call stays text. */
const PROBLEMS = {
  'not allowed': 'Its effect is not "read". Set printed_calls of the model to "all" to run such calls',
  repeated: 'An earlier message contains the same call, so the model only quotes it',
} as const

/** Adds to a wire what all providers need: names, schemas, timeout, retries and printed calls. */
export class ProviderClient {
  readonly name: string
  readonly local: boolean
  readonly #timeoutMs: number
  readonly #wire: Wire
  readonly #around: ProviderContext
  readonly #warned = new Set<string>()

  constructor({ name, timeout_ms }: ProviderSettings, wire: Wire, around: ProviderContext) {
    this.name = name
    this.local = wire.local === true
    this.#timeoutMs = timeout_ms ?? DEFAULT_TIMEOUT_MS
    checkNumber(`providers.${this.name}`, 'timeout_ms', this.#timeoutMs, ABOVE_ZERO)
    if (around.attempts !== undefined) checkNumber(`providers.${this.name}`, 'attempts', around.attempts, COUNT)
    this.#wire = wire
    this.#around = around
  }

  model(name: string, { printed_calls = 'read', capabilities }: Partial<ModelInfo> = {}): Model {
    const id = `${this.name}:${name}`
    const accepts = acceptedMedia(this.#wire.media, capabilities)
    const stream: Model['stream'] = (request) => this.#stream(name, id, request, printed_calls, accepts)
    const enforces: Model['enforces'] = (schema, hasTools) => enforcesResponse(this.#wire.shapes, schema, hasTools)
    return { id, ...(accepts && { accepts }), enforces, stream }
  }

  /** Sends one request and returns the whole response. Rejects with a `ModelError`. */
  generateChat(messages: readonly Message[], model: string, options: ChatOptions = {}): Promise<ChatReply> {
    return generateChat(this.model(model), messages, options)
  }

  async list(signal: AbortSignal): Promise<ListedModel[]> {
    if (this.#wire.list === undefined) return []
    try {
      return await this.#wire.list(signal)
    } catch (error) {
      throw signal.aborted ? error : withModelId(this.name, error)
    }
  }

  async scores(model: string): Promise<ModelScores | undefined> {
    return this.#wire.scores?.(model)
  }

  async embed(texts: readonly string[], signal: AbortSignal, tenant?: string): Promise<number[][] | undefined> {
    return this.#wire.embed?.(texts, signal, tenant)
  }

  async close(): Promise<void> {
    await this.#wire.close?.()
  }

  async *#stream(
    name: string,
    id: string,
    request: ModelRequest,
    printedCalls: PrintedCalls,
    accepts: AcceptedMedia | undefined,
  ): AsyncGenerator<ModelEvent, void, undefined> {
    const { clock, log, attempts } = this.#around
    const compiled = compileTools(request.tools, this.#wire.dialect)
    this.#warnOfOmitted(compiled)
    const deadline = new AbortController()
    const late = new ModelError(
      `No complete response within ${this.#timeoutMs} ms. Request less, or raise providers.${this.name}.timeout_ms`,
      { status: 504 },
    )
    const cancel = clock.after(this.#timeoutMs, () => deadline.abort(late))
    const signal = request.signal ? AbortSignal.any([request.signal, deadline.signal]) : deadline.signal
    const { effectOf: _, response_schema: schema, ...question } = request
    const { dialect, shapes } = this.#wire
    const isShaped = schema !== undefined && enforcesResponse(shapes, schema, compiled.tools.length > 0)
    const shape = isShaped ? compileResponse(schema, dialect) : undefined
    const asked: WireRequest = {
      ...question,
      messages: renameMessages(request.messages, compiled.wireName).map((message) => fittingMessage(message, accepts)),
      tools: compiled.tools,
      ...(shape && { response_schema: shape.parameters, response_strict: shape.strict === true }),
      temperature: request.temperature ?? DEFAULT_TEMPERATURE,
      signal,
    }
    const attempt = () => settled(new AbortableStream(this.#wire.stream(name, asked), signal))
    const events = retrying(attempt, { clock, log, attempts, budgetMs: this.#timeoutMs, signal })
    const printed = this.#wire.printsCalls === true && compiled.tools.length > 0 && printedCalls !== 'off'
    try {
      yield* renameEvents(
        printed ? recoverCalls(events, this.#recovery(id, request, compiled, printedCalls)) : events,
        compiled.toolName,
      )
    } catch (error) {
      throw request.signal?.aborted ? request.signal.reason : withModelId(id, error)
    } finally {
      cancel()
    }
  }

  /** Printed calls use wire names, and are checked against the registered schema. */
  #recovery(id: string, request: ModelRequest, { wireName, toolName }: CompiledTools, allowed: PrintedCalls): Recovery {
    const { tools, messages, effectOf } = request
    const told = new Set<string>()
    return {
      tools: tools.map((tool) => ({ ...tool, name: wireName(tool.name) })),
      messages,
      isAllowed: (name) => {
        const effect = effectOf?.(toolName(name))
        return effect !== 'never' && (allowed === 'all' || effect === 'read')
      },
      onRefused: (name, reason) => {
        const tool = toolName(name)
        if (told.has(tool)) return
        told.add(tool)
        this.#around.log.warn({ model: id, tool, problem: PROBLEMS[reason] }, 'Printed call ignored')
      },
    }
  }

  #warnOfOmitted({ omitted }: CompiledTools): void {
    for (const { tool, reason } of omitted) {
      if (this.#warned.has(tool)) continue
      this.#warned.add(tool)
      this.#around.log.warn({ provider: this.name, tool, reason }, 'Tool left out: the provider cannot use it')
    }
  }
}

/**
 * Limits the response and ensures exactly one finish at the end, with the reason `tool_calls` if there are calls. A stream without a finish
 * fails.
 */
async function* settled(events: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent, void, undefined> {
  let calls = 0
  const bounds = new TurnBounds()
  for await (const event of events) {
    bounds.check(event)
    if (event.type === 'tool-call-end') calls++
    if (event.type === 'finish') {
      yield calls > 0 && event.reason !== 'tool_calls' ? { ...event, reason: 'tool_calls' } : event
      return
    }
    yield event
  }
  throw new ModelError('The response ended without a finish event. Try again', { retryable: true })
}

type Rename = (name: string) => string

/** A message without a role is the user's. */
function renameMessages(messages: readonly Message[], rename: Rename): readonly Message[] {
  return messages.map((message) => {
    if (message.role === undefined) return { ...(message as object), role: 'user' } as Message
    if (message.role === 'tool') return { ...message, name: rename(message.name) }
    if (message.role !== 'assistant' || message.tool_calls === undefined) return message
    return { ...message, tool_calls: message.tool_calls.map((call) => renameCall(call, rename)) }
  })
}

async function* renameEvents(
  events: AsyncIterable<ModelEvent>,
  rename: Rename,
): AsyncGenerator<ModelEvent, void, undefined> {
  for await (const event of events) {
    if (event.type === 'tool-call-start') yield { ...event, name: rename(event.name) }
    else if (event.type === 'tool-call-end') yield { ...event, call: renameCall(event.call, rename) }
    else yield event
  }
}

function renameCall(call: ToolCall, rename: Rename): ToolCall {
  return { ...call, function: { ...call.function, name: rename(call.function.name) } }
}

const MODEL_ATTEMPTS = 4
const MODEL_BACKOFF_MS = 500
const MAX_BACKOFF_MS = 30_000

interface RetryOptions {
  readonly clock: Clock
  readonly log: Log
  readonly attempts?: number | undefined
  /** Limits all attempts and pauses together. */
  readonly budgetMs: number
  readonly signal: AbortSignal
  /** Jitter from 0 to 1, so that callers don't retry at the same moment. */
  readonly random?: () => number
}

/**
 * Retries with growing pauses after errors that are retryable, but never after the first event: the caller has already
 * seen it.
 */
export async function* retrying(
  attempt: () => AsyncIterable<ModelEvent>,
  { clock, log, attempts = MODEL_ATTEMPTS, budgetMs, signal, random = Math.random }: RetryOptions,
): AsyncGenerator<ModelEvent, void, undefined> {
  const endMs = clock.now() + budgetMs
  for (let made = 1; ; made++) {
    let begun = false
    try {
      for await (const event of attempt()) {
        begun = true
        yield event
      }
      return
    } catch (error) {
      if (begun || signal.aborted || made >= attempts || !(error instanceof ModelError) || !error.retryable) throw error
      const waitMs = error.retryAfterMs ?? backoff(made, random())
      if (clock.now() + waitMs >= endMs) throw error
      log.warn(
        { attempt: made, wait_ms: Math.round(waitMs), status: error.status, reason: error.message },
        'Retrying the model request',
      )
      await pause(waitMs, clock, signal)
    }
  }
}

/** Doubles each time, with jitter. */
function backoff(made: number, random: number): number {
  return Math.min(MAX_BACKOFF_MS, MODEL_BACKOFF_MS * 2 ** (made - 1)) * (0.5 + random / 2)
}

export interface ChatOptions extends Omit<ModelRequest, 'messages' | 'tools'> {
  readonly tools?: readonly (OfferedTool | LangchainTool)[]
}

export interface ChatReply {
  /** Null if the model only calls tools. */
  readonly content: string | null
  readonly finish_reason: FinishReason
  readonly tool_calls?: readonly ToolCall[]
  readonly usage?: Usage
}

/** Sends one request and returns the whole response. Tools are offered, but not run. */
export async function generateChat(
  model: Model,
  messages: readonly Message[],
  options: ChatOptions,
): Promise<ChatReply> {
  const { tools = [], ...rest } = options
  checkSampling('generateChat', rest)
  const request: ModelRequest = { messages, tools: offeredTools(tools), ...rest }
  let text = ''
  const calls: ToolCall[] = []
  for await (const event of model.stream(request)) {
    if (event.type === 'text-delta') text += event.text
    if (event.type === 'tool-call-end') calls.push(event.call)
    if (event.type !== 'finish') continue
    return {
      content: text === '' && calls.length > 0 ? null : text,
      finish_reason: event.reason,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(event.usage !== undefined && { usage: event.usage }),
    }
  }
  throw new ModelError(`The response of model ${model.id} ended early. Try again`)
}
