import { AbortableStream } from './abortable-stream.ts'
import type { ModelInfo, PrintedCalls } from './catalogue/model-info.ts'
import { type CompiledTools, compileTools } from './dialects/compile-tools.ts'
import { type ChatOptions, type ChatReply, generateChat } from './generate-chat.ts'
import type { Message, Model, ModelEvent, ModelRequest, ToolCall } from './model.ts'
import { ModelError } from './model-error.ts'
import type { ModelScores } from './model-scores.ts'
import { type Recovery, recoverCalls } from './printed-calls/recover-calls.ts'
import type { ListedModel, ProviderSettings, ProviderSurroundings, Wire, WireRequest } from './provider.ts'
import { retrying } from './retrying.ts'

const DEFAULT_TIMEOUT_MS = 300_000
const DEFAULT_TEMPERATURE = 0.7
/** Why a call that the model printed as text stays text. */
const PROBLEMS = {
  'not allowed': 'Its effect is not "read". Set printed_calls of the model to "all" to make such calls',
  repeated: 'An earlier message holds the same call, so the model quotes it',
} as const

/** One provider as configured: what stands in front of its wire, the same for all. */
export class ProviderClient {
  readonly name: string
  readonly #timeoutMs: number
  readonly #wire: Wire
  readonly #around: ProviderSurroundings
  readonly #warned = new Set<string>()

  constructor({ name, timeout_ms }: ProviderSettings, wire: Wire, around: ProviderSurroundings) {
    this.name = name
    this.#timeoutMs = timeout_ms ?? DEFAULT_TIMEOUT_MS
    this.#wire = wire
    this.#around = around
  }

  /** One of its models, by the name the provider knows it by. */
  model(name: string, { printed_calls = 'read' }: Pick<ModelInfo, 'printed_calls'> = {}): Model {
    const id = `${this.name}:${name}`
    return { id, stream: (request) => this.#stream(name, id, request, printed_calls) }
  }

  /** Asks one of its models and gives the whole answer. A failure rejects with a `ModelError`. */
  generateChat(messages: readonly Message[], model: string, options: ChatOptions = {}): Promise<ChatReply> {
    return generateChat(this.model(model), messages, options)
  }

  /** What the provider really has. */
  async list(signal: AbortSignal): Promise<ListedModel[]> {
    if (this.#wire.list === undefined) return []
    try {
      return await this.#wire.list(signal)
    } catch (error) {
      throw signal.aborted ? error : named(this.name, error)
    }
  }

  /** What one of its models was measured to do, where that comes with it. */
  async scores(model: string): Promise<ModelScores | undefined> {
    return this.#wire.scores?.(model)
  }

  /** Lets go of what the wire holds. */
  async close(): Promise<void> {
    await this.#wire.close?.()
  }

  async *#stream(
    name: string,
    id: string,
    request: ModelRequest,
    printedCalls: PrintedCalls,
  ): AsyncGenerator<ModelEvent, void, undefined> {
    const { clock, log } = this.#around
    const compiled = compileTools(request.tools, this.#wire.dialect)
    this.#warnOfOmitted(compiled)
    const deadline = new AbortController()
    const late = new ModelError(
      `No whole answer within ${this.#timeoutMs} ms. Ask for less, or raise providers.${this.name}.timeout_ms`,
    )
    const callOff = clock.after(this.#timeoutMs, () => deadline.abort(late))
    const signal = request.signal ? AbortSignal.any([request.signal, deadline.signal]) : deadline.signal
    const { effectOf: _, ...question } = request
    const asked: WireRequest = {
      ...question,
      messages: renameMessages(request.messages, compiled.wireName),
      tools: compiled.tools,
      temperature: request.temperature ?? DEFAULT_TEMPERATURE,
      signal,
    }
    const attempt = () => settled(new AbortableStream(this.#wire.stream(name, asked), signal))
    const events = retrying(attempt, { clock, log, budgetMs: this.#timeoutMs, signal })
    const printed = this.#wire.printsCalls === true && compiled.tools.length > 0 && printedCalls !== 'off'
    try {
      yield* renameEvents(
        printed ? recoverCalls(events, this.#recovery(id, request, compiled, printedCalls)) : events,
        compiled.toolName,
      )
    } catch (error) {
      throw request.signal?.aborted ? request.signal.reason : named(id, error)
    } finally {
      callOff()
    }
  }

  /** A printed call is held against the name that the model knows, and the schema as it was registered. */
  #recovery(id: string, request: ModelRequest, { wireName, toolName }: CompiledTools, allowed: PrintedCalls): Recovery {
    const { tools, messages, effectOf } = request
    const told = new Set<string>()
    return {
      tools: tools.map((tool) => ({ ...tool, name: wireName(tool.name) })),
      messages,
      isAllowed: (name) => allowed === 'all' || effectOf?.(toolName(name)) === 'read',
      onRefused: (name, reason) => {
        const tool = toolName(name)
        if (told.has(tool)) return
        told.add(tool)
        this.#around.log.warn({ model: id, tool, problem: PROBLEMS[reason] }, 'Printed call not made')
      },
    }
  }

  #warnOfOmitted({ omitted }: CompiledTools): void {
    for (const { tool, reason } of omitted) {
      if (this.#warned.has(tool)) continue
      this.#warned.add(tool)
      this.#around.log.warn({ provider: this.name, tool, reason }, 'Tool left out: the provider cannot take it')
    }
  }
}

/** Says which provider and model it was. */
function named(id: string, error: unknown): ModelError {
  if (!(error instanceof ModelError)) return new ModelError(`${id}: the provider failed unexpectedly`, { cause: error })
  const { message, status, retryable, retryAfterMs } = error
  return new ModelError(`${id}: ${message}`, {
    cause: error,
    retryable,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/**
 * Holds a stream to its promise: exactly one finish, and it is the last; any call means `tool_calls`; a stream that
 * ends without a finish is a failure.
 */
async function* settled(events: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent, void, undefined> {
  let calls = 0
  for await (const event of events) {
    if (event.type === 'tool-call-end') calls++
    if (event.type === 'finish') {
      yield calls > 0 && event.reason !== 'tool_calls' ? { ...event, reason: 'tool_calls' } : event
      return
    }
    yield event
  }
  throw new ModelError('The answer broke off: the stream ended without a finish. Try again', { retryable: true })
}

type Rename = (name: string) => string

/** The conversation with the names that the provider knows the tools by. */
function renameMessages(messages: readonly Message[], rename: Rename): readonly Message[] {
  return messages.map((message) => {
    if (message.role === 'tool') return { ...message, name: rename(message.name) }
    if (message.role !== 'assistant' || message.tool_calls === undefined) return message
    return { ...message, tool_calls: message.tool_calls.map((call) => renameCall(call, rename)) }
  })
}

/** What the provider says, with the names that the tools were registered by. */
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
