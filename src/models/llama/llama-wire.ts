import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { dataFolder } from '../../core/environment.ts'
import { suggest } from '../../core/suggest.ts'
import { textMessage } from '../content.ts'
import type { FinishReason, Message, ModelEvent, OfferedTool } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { modelFile, modelNames } from '../model-files/model-folder.ts'
import type { ProviderContext, ProviderSettings, Wire, WireRequest } from '../provider.ts'
import { readJson } from '../read-json.ts'
import { ANSWER_HEAD, CALL_HEAD, schemaGrammar, toolGrammar, writtenCall } from './schema-grammar.ts'

/** Larger contexts take gigabytes, even if unused. */
const MAX_CONTEXT = 8_192
/** Prompt tokens per batch; an abort takes effect between batches. */
const BATCH = 128
/** Leaves one of two cores to the rest of the process. */
const THREADS = availableParallelism() <= 2 ? { threads: 1 } : {}

interface LlamaWire extends Wire {
  close(): Promise<void>
}

/** Runs GGUF files of the models folder in this process with `node-llama-cpp`. */
export function llamaWire(
  settings: ProviderSettings,
  { log }: ProviderContext,
  find: typeof findEngine = findEngine,
): LlamaWire {
  const { grammar = true } = settings
  const importEngine = find(settings.name)
  let started: Promise<{ engine: Engine; llama: Llama }> | undefined
  const loaded = new Map<string, Promise<LoadedModel>>()

  const start = async () => {
    const engine = await importEngine()
    const logger = (level: string, message: string): void =>
      log.debug({ provider: settings.name, level }, message.trim())
    try {
      const options = { gpu: 'auto', build: 'never', logLevel: 'error', logger } as const
      const llama = await engine.getLlama({ ...options, ...(THREADS.threads && { maxThreads: THREADS.threads }) })
      return { engine, llama }
    } catch (error) {
      throw error instanceof engine.NoBinaryFoundError ? noBinary(settings.name, error) : error
    }
  }

  const load = async (name: string): Promise<LoadedModel> => {
    const id = `${settings.name}:${name}`
    const modelPath = await findFile(id, name)
    started ??= start().catch((error: unknown) => {
      started = undefined
      throw error
    })
    const { engine, llama } = await started
    try {
      const model = await llama.loadModel({ modelPath })
      const context = await model.createContext({ contextSize: { max: MAX_CONTEXT }, batchSize: BATCH, ...THREADS })
      const sequence = context.getSequence()
      const template = model.fileInfo.metadata.tokenizer?.chat_template
      const { tokenizer } = model
      // Otherwise the engine tries all chat formats it knows, which blocks for a second or two.
      const chatWrapper = template
        ? new engine.JinjaTemplateChatWrapper({ template, tokenizer, functionCallMessageTemplate: 'noJinja' })
        : 'auto'
      const chat = new engine.LlamaChat({ contextSequence: sequence, chatWrapper })
      return { id, engine, llama, model, context, sequence, chat, grammar, idle: Promise.resolve() }
    } catch (error) {
      throw notLoaded(id, error, engine)
    }
  }

  const loadOnce = (name: string): Promise<LoadedModel> => {
    const known = loaded.get(name)
    if (known !== undefined) return known
    const loading = load(name)
    loaded.set(name, loading)
    loading.catch(() => loaded.delete(name))
    return loading
  }

  return {
    dialect: 'plain',
    ...(grammar && { shapes: 'alone' }),
    printsCalls: !grammar,
    async *stream(name, request) {
      request.signal?.throwIfAborted()
      yield* askLoaded(await loadOnce(name), request)
    },
    list: async () =>
      (await modelNames(dataFolder(process.env))).map((name) => ({ name, capabilities: ['function-calling'] })),
    async close() {
      const models = await Promise.allSettled(loaded.values())
      loaded.clear()
      await Promise.all(models.map((one) => one.status === 'fulfilled' && one.value.idle))
      const running = await started?.catch(() => undefined)
      started = undefined
      await running?.llama.dispose()
    },
  }
}

async function findFile(id: string, name: string): Promise<string> {
  const file = modelFile(dataFolder(process.env), name)
  if (file !== undefined && existsSync(file)) return file
  const names = await modelNames(dataFolder(process.env))
  const near = suggest(name, names)[0]
  const hint = near !== undefined ? `Did you mean '${near}'?` : `There are: ${names.join(', ') || 'none'}.`
  throw new ModelError(`There is no model file for ${id}. ${hint} "toolyard models add FILE|URL" adds one.`)
}

const SYSTEMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'mac', win32: 'win' }

function noBinary(provider: string, cause: unknown): ModelError {
  const system = `${SYSTEMS[process.platform] ?? process.platform}-${process.arch}`
  const name = `@node-llama-cpp/${system === 'mac-arm64' ? 'mac-arm64-metal' : system}`
  return new ModelError(
    `The provider ${provider} has node-llama-cpp, but not its binary for this machine: npm install ${name}`,
    { cause },
  )
}

function notLoaded(id: string, cause: unknown, engine: Engine): ModelError {
  const why =
    cause instanceof engine.InsufficientMemoryError
      ? 'it needs more memory than this machine has. Use a smaller or more quantized model.'
      : 'the file is damaged, or this version of node-llama-cpp does not support it. Add it again, or update the package.'
  return new ModelError(`The model ${id} could not be loaded: ${why}`, { cause })
}

/** Converts a reply in the format of the grammar into events. */
export class ReplyReader {
  readonly #id = `call_${randomUUID()}`
  #rest = ''
  #name: string | undefined
  #arguments = ''
  #answering = false

  read(piece: string): ModelEvent[] {
    this.#rest += piece
    const begun = this.#readHead()
    if (this.#answering) return this.#readAnswer()
    return this.#name === undefined ? [] : [...begun, ...this.#readArguments()]
  }

  /** Emits the call if it is complete. */
  end(): ModelEvent[] {
    if (this.#name === undefined || this.#rest !== '}' || readJson(this.#arguments) === undefined) return []
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

  /** The last bracket may close the reply instead of the arguments. */
  #readArguments(): ModelEvent[] {
    const text = this.#rest.endsWith('}') ? this.#rest.slice(0, -1) : this.#rest
    if (text === '') return []
    this.#rest = this.#rest.slice(text.length)
    this.#arguments += text
    return [{ type: 'tool-call-delta', id: this.#id, text }]
  }

  /** Complete characters of a JSON string, up to its quote. */
  #readAnswer(): ModelEvent[] {
    const whole = /^(?:[^"\\]|\\.)*/s.exec(this.#rest)?.[0] ?? ''
    if (whole === '') return []
    this.#rest = this.#rest.slice(whole.length)
    return [{ type: 'text-delta', text: JSON.parse(`"${whole}"`) }]
  }
}

/** A loaded model. It answers one request at a time. */
export interface LoadedModel {
  readonly id: string
  readonly engine: Engine
  readonly llama: Llama
  readonly model: EngineModel
  readonly context: Context
  readonly sequence: Sequence
  readonly chat: Chat
  /** Whether a grammar restricts calls and structured responses. */
  readonly grammar: boolean
  /** Resolves when the previous request has ended. */
  idle: Promise<unknown>
}

/** An abort throws at once; the engine stops at its next token or batch. */
export async function* askLoaded(loaded: LoadedModel, request: WireRequest): AsyncGenerator<ModelEvent> {
  const { signal } = request
  signal?.throwIfAborted()
  const stop = new AbortController()
  let abort = (): void => {}
  const events = new ReadableStream<ModelEvent>({
    start(channel) {
      abort = () => {
        stop.abort()
        channel.error(signal?.reason)
      }
      const emit = (event: ModelEvent): void => {
        if (!stop.signal.aborted) channel.enqueue(event)
      }
      const work = loaded.idle.then(() =>
        stop.signal.aborted ? undefined : generate(loaded, request, stop.signal, emit),
      )
      loaded.idle = work.catch(() => {})
      work
        .then(
          () => channel.close(),
          (error: unknown) => channel.error(error instanceof ModelError ? error : broken(loaded.id, error)),
        )
        // After an abort the stream is closed already.
        .catch(() => {})
    },
  })
  signal?.addEventListener('abort', abort, { once: true })
  try {
    yield* events
  } finally {
    signal?.removeEventListener('abort', abort)
    stop.abort()
  }
}

async function generate(
  loaded: LoadedModel,
  { messages, tools, max_tokens, temperature, response_schema, tool_choice }: WireRequest,
  signal: AbortSignal,
  emit: (event: ModelEvent) => void,
): Promise<void> {
  const { engine, llama, model, context, sequence, chat } = loaded
  const history = chatHistory(messages, tools, loaded.grammar)
  const prompt = chat.chatWrapper.generateContextState({ chatHistory: history }).contextText
  const prompt_tokens = prompt.tokenize(model.tokenizer).length
  // The engine would silently drop the beginning of a longer conversation.
  const room = context.contextSize - prompt_tokens - 1
  if (room < 1) throw new ModelError(tooLong(loaded.id, prompt_tokens, context.contextSize, tools.length))
  const held = loaded.grammar && tools.length > 0
  const shaped = loaded.grammar && response_schema !== undefined ? schemaGrammar(response_schema) : undefined
  const grammar = held ? toolGrammar(tools, tool_choice === 'required') : shaped
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
    `The engine failed while ${id} was responding. Try again; if it fails again, use another model file.`,
    {
      cause,
    },
  )

const tooLong = (id: string, tokens: number, room: number, tools: number): string =>
  `The conversation does not fit into ${id}: with ${tools} tools it has ${tokens} tokens, and the limit is ${room}. ` +
  'Offer fewer tools, shorten the conversation, or use a model with a larger context.'

/** The used part of `node-llama-cpp`, an optional package without types at build time. */
export interface Engine {
  getLlama(options: {
    readonly gpu: 'auto'
    readonly build: 'never'
    readonly maxThreads?: number
    readonly logLevel: 'error'
    readonly logger: (level: string, message: string) => void
  }): Promise<Llama>
  readonly LlamaChat: new (options: { contextSequence: Sequence; chatWrapper: ChatWrapper | 'auto' }) => Chat
  readonly LlamaGrammar: new (llama: Llama, options: { grammar: string }) => Grammar
  readonly JinjaTemplateChatWrapper: new (options: {
    template: string
    tokenizer: unknown
    functionCallMessageTemplate: 'noJinja'
  }) => ChatWrapper
  readonly NoBinaryFoundError: ErrorClass
  readonly InsufficientMemoryError: ErrorClass
}

type ErrorClass = new (...args: never[]) => Error

interface Llama {
  loadModel(options: { modelPath: string }): Promise<EngineModel>
  dispose(): Promise<void>
}

interface EngineModel {
  readonly tokenizer: unknown
  readonly fileInfo: { readonly metadata: { readonly tokenizer?: { readonly chat_template?: string } } }
  createContext(options: { contextSize: { max: number }; batchSize: number; threads?: number }): Promise<Context>
  dispose(): Promise<void>
}

interface Context {
  readonly contextSize: number
  getSequence(): Sequence
}

interface Sequence {
  readonly tokenMeter: { getState(): { readonly usedOutputTokens: number } }
}

interface ChatWrapper {
  generateContextState(options: { chatHistory: readonly ChatHistoryItem[] }): {
    readonly contextText: { tokenize(tokenizer: unknown): readonly unknown[] }
  }
}

interface Chat {
  readonly chatWrapper: ChatWrapper
  generateResponse(
    history: readonly ChatHistoryItem[],
    options: {
      readonly signal: AbortSignal
      readonly maxTokens: number
      readonly temperature?: number
      readonly grammar?: Grammar
      readonly onTextChunk: (text: string) => void
    },
  ): Promise<{ readonly metadata: { readonly stopReason: string } }>
}

type Grammar = object

const PACKAGE = 'node-llama-cpp'
/** With npx, the package may be in the project instead of beside Toolyard. */
const PLACES = (): string[] => [import.meta.url, pathToFileURL(join(process.cwd(), 'x.js')).href]

/** Finds the package without loading it, which takes half a second. Throws if it isn't installed. */
export function findEngine(provider: string, places: readonly string[] = PLACES()): () => Promise<Engine> {
  for (const place of places) {
    try {
      const entry = pathToFileURL(createRequire(place).resolve(PACKAGE)).href
      return () => import(entry)
    } catch {
      // Try the next place.
    }
  }
  throw new ModelError(
    `The provider ${provider} needs the package ${PACKAGE}, which is not installed: npm install ${PACKAGE}`,
  )
}

type ChatHistoryItem =
  | { readonly type: 'system' | 'user'; readonly text: string }
  | { readonly type: 'model'; readonly response: readonly string[] }

/** How tools, calls and results are written as text. */
interface Form {
  readonly tools: (tools: readonly OfferedTool[]) => string
  readonly call: (name: string, args: string) => string
  readonly result: (name: string, content: string) => string
}

const schemaOf = ({ name, description, parameters }: OfferedTool): string =>
  JSON.stringify({ name, description, parameters })

/** With a grammar: one JSON object per reply. */
const held: Form = {
  tools: (tools) =>
    'You can use these tools, each with a JSON Schema of its arguments:\n' +
    `${tools.map(schemaOf).join('\n')}\n` +
    'Reply with one JSON object and nothing else. To use a tool: {"name": "the tool", "arguments": {…}}. ' +
    'To answer the user, where no tool is needed or its result is known: {"answer": "your answer"}.',
  call: writtenCall,
  result: (name, content) => `The result of ${name}: ${content}`,
}

/** Without a grammar: the format of Hermes and Qwen, which most models understand. */
const free: Form = {
  tools: (tools) =>
    'You may call one or more functions to assist with the user query.\n' +
    `<tools>\n${tools.map(schemaOf).join('\n')}\n</tools>\n` +
    'For each function call, return a JSON object with function name and arguments within <tool_call></tool_call> tags:\n' +
    '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>',
  call: (name, args) => `<tool_call>\n${writtenCall(name, args)}\n</tool_call>`,
  result: (_, content) => `<tool_response>\n${content}\n</tool_response>`,
}

/** The conversation with its tools, ending with an empty reply to complete. */
export function chatHistory(
  messages: readonly Message[],
  tools: readonly OfferedTool[],
  grammar: boolean,
): ChatHistoryItem[] {
  const form = grammar ? held : free
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content ?? '')
  if (tools.length > 0) system.push(form.tools(tools))
  const history: ChatHistoryItem[] = system.length > 0 ? [{ type: 'system', text: system.join('\n\n') }] : []
  for (const message of messages.map(textMessage)) {
    if (message.role === 'system') continue
    if (message.role === 'assistant') {
      const calls = message.tool_calls?.map(({ function: call }) => form.call(call.name, call.arguments)) ?? []
      history.push({ type: 'model', response: [[message.content ?? '', ...calls].filter(Boolean).join('\n')] })
      continue
    }
    const text = message.role === 'tool' ? form.result(message.name, message.content) : message.content
    const last = history.at(-1)
    // Templates refuse two user messages in a row.
    if (last?.type === 'user') history[history.length - 1] = { type: 'user', text: `${last.text}\n${text}` }
    else history.push({ type: 'user', text })
  }
  return [...history, { type: 'model', response: [] }]
}
