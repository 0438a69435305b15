import { randomUUID } from 'node:crypto'
import type { FinishReason, ModelEvent } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { WireRequest } from '../provider.ts'
import { chatHistory } from './chat-history.ts'
import type { Chat, Context, Engine, EngineModel, Llama, Sequence } from './engine.ts'
import { schemaGrammar } from './schema-grammar.ts'
import { ANSWER_HEAD, CALL_HEAD, toolGrammar } from './tool-grammar.ts'

/** Reads a reply that the grammar holds to its form, piece by piece, as the events that it means. */
export class ReplyReader {
  readonly #id = `call_${randomUUID()}`
  /** What has come and not been given out. */
  #rest = ''
  #name: string | undefined
  #arguments = ''
  #answering = false

  /** Takes a piece; gives what can be told by now. */
  read(piece: string): ModelEvent[] {
    this.#rest += piece
    const begun = this.#readHead()
    if (this.#answering) return this.#readAnswer()
    return this.#name === undefined ? [] : [...begun, ...this.#readArguments()]
  }

  /** The end of the reply: gives the call, where it came whole. */
  end(): ModelEvent[] {
    if (this.#name === undefined || this.#rest !== '}' || !isJson(this.#arguments)) return []
    const call = { name: this.#name, arguments: this.#arguments }
    return [{ type: 'tool-call-end', call: { id: this.#id, type: 'function', function: call } }]
  }

  #readHead(): ModelEvent[] {
    if (this.#answering || this.#name !== undefined) return []
    const head = CALL_HEAD.exec(this.#rest)
    if (head !== null) {
      const name: string = JSON.parse(head[1] as string)
      this.#name = name
      this.#rest = this.#rest.slice(head[0].length)
      return [{ type: 'tool-call-start', id: this.#id, name }]
    }
    this.#answering = this.#rest.startsWith(ANSWER_HEAD)
    if (this.#answering) this.#rest = this.#rest.slice(ANSWER_HEAD.length)
    return []
  }

  /** A bracket that came last may be the one after the arguments. */
  #readArguments(): ModelEvent[] {
    const text = this.#rest.endsWith('}') ? this.#rest.slice(0, -1) : this.#rest
    if (text === '') return []
    this.#rest = this.#rest.slice(text.length)
    this.#arguments += text
    return [{ type: 'tool-call-delta', id: this.#id, text }]
  }

  /** Whole characters of a JSON string, up to its quote. */
  #readAnswer(): ModelEvent[] {
    const whole = /^(?:[^"\\]|\\.)*/s.exec(this.#rest)?.[0] ?? ''
    if (whole === '') return []
    this.#rest = this.#rest.slice(whole.length)
    return [{ type: 'text-delta', text: JSON.parse(`"${whole}"`) }]
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Hands on what is pushed into it to the one that reads it; a failure overtakes what was not read yet. */
class Channel<T> {
  #waiting: T[] = []
  #ended = false
  #failure: { readonly reason: unknown } | undefined
  #wake = (): void => {}

  push(value: T): void {
    this.#waiting.push(value)
    this.#wake()
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  fail(reason: unknown): void {
    this.#failure ??= { reason }
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.reason
      const next = this.#waiting.shift()
      if (next !== undefined) yield next
      else if (this.#ended) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}

/** A model in memory: one conversation is worked on at a time, the others wait. */
export interface LoadedModel {
  readonly id: string
  readonly engine: Engine
  readonly llama: Llama
  readonly model: EngineModel
  readonly context: Context
  readonly sequence: Sequence
  readonly chat: Chat
  /** Whether calls are held to the schemas of their tools, and answers to the one that is asked for. */
  readonly grammar: boolean
  /** Ends when the work asked for before has ended. */
  idle: Promise<unknown>
}

/** Asks a model in memory. An abort is thrown at once; the engine stops at its next token or batch. */
export async function* askLoaded(loaded: LoadedModel, request: WireRequest): AsyncGenerator<ModelEvent> {
  const { signal } = request
  signal?.throwIfAborted()
  const channel = new Channel<ModelEvent>()
  const stop = new AbortController()
  const abort = (): void => {
    stop.abort()
    channel.fail(signal?.reason)
  }
  signal?.addEventListener('abort', abort, { once: true })
  const work = loaded.idle.then(() => {
    if (!stop.signal.aborted) return generate(loaded, request, stop.signal, (event) => channel.push(event))
  })
  loaded.idle = work.catch(() => {})
  work.then(
    () => channel.end(),
    (error: unknown) => channel.fail(error instanceof ModelError ? error : broken(loaded.id, error)),
  )
  try {
    yield* channel
  } finally {
    signal?.removeEventListener('abort', abort)
    stop.abort()
  }
}

async function generate(
  loaded: LoadedModel,
  { messages, tools, max_tokens, temperature, response_schema }: WireRequest,
  signal: AbortSignal,
  emit: (event: ModelEvent) => void,
): Promise<void> {
  const { engine, llama, model, context, sequence, chat } = loaded
  const history = chatHistory(messages, tools, loaded.grammar)
  const prompt = chat.chatWrapper.generateContextState({ chatHistory: history }).contextText
  const prompt_tokens = prompt.tokenize(model.tokenizer).length
  // Beyond its context the engine would quietly forget the beginning.
  const room = context.contextSize - prompt_tokens - 1
  if (room < 1) throw new ModelError(tooLong(loaded.id, prompt_tokens, context.contextSize, tools.length))
  const held = loaded.grammar && tools.length > 0
  const shaped = loaded.grammar && response_schema !== undefined ? schemaGrammar(response_schema) : undefined
  const grammar = held ? toolGrammar(tools) : shaped
  const reader = held ? new ReplyReader() : undefined
  let called = false
  const emitAll = (events: Iterable<ModelEvent>): void => {
    for (const event of events) {
      if (event.type === 'tool-call-end') called = true
      emit(event)
    }
  }
  const before = sequence.tokenMeter.getState().usedOutputTokens
  const { metadata } = await chat.generateResponse(history, {
    signal,
    maxTokens: Math.min(max_tokens ?? room, room),
    ...(temperature !== undefined && { temperature }),
    ...(grammar !== undefined && { grammar: new engine.LlamaGrammar(llama, { grammar }) }),
    onTextChunk: (text) => emitAll(reader === undefined ? [{ type: 'text-delta', text }] : reader.read(text)),
  })
  if (reader !== undefined) emitAll(reader.end())
  const completion_tokens = sequence.tokenMeter.getState().usedOutputTokens - before
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
  const reason: FinishReason = called ? 'tool_calls' : metadata.stopReason === 'maxTokens' ? 'length' : 'stop'
  emit({ type: 'finish', reason, usage })
}

const broken = (id: string, cause: unknown): ModelError =>
  new ModelError(
    `The engine failed while ${id} was answering. Ask again; if it fails again, take another model file.`,
    {
      cause,
    },
  )

const tooLong = (id: string, tokens: number, room: number, tools: number): string =>
  `The conversation does not fit into ${id}: with ${tools} tools it has ${tokens} tokens, and the model takes ${room}. ` +
  'Offer fewer tools, shorten the conversation, or take a model with a larger context.'
