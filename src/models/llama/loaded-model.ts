import type { FinishReason, ModelEvent } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { WireRequest } from '../provider.ts'
import { Channel } from './channel.ts'
import { chatHistory } from './chat-history.ts'
import type { Chat, Context, Engine, EngineModel, Llama, Sequence } from './engine.ts'
import { ReplyReader } from './reply-reader.ts'
import { schemaGrammar } from './schema-grammar.ts'
import { toolGrammar } from './tool-grammar.ts'

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
