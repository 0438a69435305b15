import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { connectionCode, connectionProblem } from '../../core/failure.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import type { Log } from '../../core/log.ts'
import { jsonSchemaOf } from '../../core/schema/json-schema-of.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { refusalError } from '../ai-sdk/to-model-error.ts'
import { mediaIn, textIn } from '../content.ts'
import { convertZod } from '../langchain/offered-tools.ts'
import type { FinishReason, Message, ModelEvent, ToolCall, Usage } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { ListedModel, ProviderSettings, WireMaker, WireRequest } from '../provider.ts'
import { readObject } from '../read-json.ts'
import { boundedFetch } from '../turn-bounds.ts'

const DEFAULT_URL = 'http://127.0.0.1:11434'

export const ollamaWire: WireMaker = (settings, { clock, log, fetch }) => {
  const server = new OllamaServer(settings, clock, fetch)
  return {
    dialect: 'ollama',
    // A model that is held to a format can't call tools.
    shapes: 'alone',
    printsCalls: true,
    media: { types: ['image/png', 'image/jpeg'], assumed: [] },
    local: true,
    async *stream(model, request) {
      const { signal } = request
      signal?.throwIfAborted()
      const tools = toQwenForm(request.tools, log)
      const body = { ...chatRequest(model, request), ...(tools.length > 0 && { tools }) }
      const response = await server.ask('chat', body, signal).catch(async (error: unknown) => {
        throw tools.length > 0 && (await lacksTools(server, model, error, signal)) ? noTools(model) : error
      })
      yield* answerEvents(server.parts(response, signal))
    },
    async list(signal) {
      signal.throwIfAborted()
      const { models } = await server.askOnce('tags', undefined, signal)
      const entries = Array.isArray(models) ? models.filter(isObject) : []
      return Promise.all(entries.map((entry) => listed(server, entry, signal)))
    },
  }
}

type Json = Readonly<Record<string, unknown>>

/** Ollama's error texts contain the addresses of its own processes. */
const ADDRESS =
  /\b[a-z]+:\/\/\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[(?=[\da-f]*:)[\da-f:]+\](?::\d+)?|\blocalhost\b(?::\d+)?/gi

/** Sends requests to one server. Failures throw a `ModelError`, an abort the reason of its signal. */
export class OllamaServer {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #setting: string
  readonly #clock: Clock
  readonly #fetch: typeof fetch

  constructor({ name, base_url = DEFAULT_URL, api_key, headers }: ProviderSettings, clock: Clock, send?: typeof fetch) {
    this.#setting = `providers.${name}.base_url`
    if (!URL.canParse(base_url)) throw new ModelError(`${this.#setting} is not a URL. Write it like ${DEFAULT_URL}`)
    this.#url = `${base_url.includes('://') ? '' : 'http://'}${base_url.replace(/(?<!\/)\/+$/, '')}/api`
    this.#headers = { ...(api_key !== undefined && { authorization: `Bearer ${api_key}` }), ...headers }
    this.#clock = clock
    this.#fetch = boundedFetch(send)
  }

  /** Sends a request, a GET if there is no body. */
  async ask(path: string, body: Json | undefined, signal: AbortSignal | undefined): Promise<Response> {
    const init: RequestInit = {
      headers: { 'content-type': 'application/json', ...this.#headers },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }
    const response = await this.#fetch(`${this.#url}/${path}`, init).catch((error) => this.#fail(error, signal))
    if (!response.ok) throw await this.#refusal(response, body?.model)
    return response
  }

  /** Sends a request whose response is one JSON object. */
  async askOnce(path: string, body: Json | undefined, signal: AbortSignal | undefined): Promise<Json> {
    const response = await this.ask(path, body, signal)
    return this.#read(await response.text().catch((error) => this.#fail(error, signal)))
  }

  /** The parts of a streamed answer, up to the one with `done`. */
  async *parts({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<AnswerPart> {
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const bytes of body ?? []) {
        const text = decoder.decode(bytes, { stream: true })
        rest += text
        // Splitting a long line again with each of its pieces would take seconds.
        if (!text.includes('\n')) continue
        const lines = rest.split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          const part = this.#part(line)
          if (part !== undefined) yield part
          if (part?.done === true) return
        }
      }
    } catch (error) {
      this.#fail(error, signal)
    }
    const last = this.#part(rest)
    if (last?.done !== true) {
      throw new ModelError('The response ended before it was complete. Try again.', { retryable: true })
    }
    yield last
  }

  #part(line: string): AnswerPart | undefined {
    if (line.trim() === '') return undefined
    const part = this.#read(line)
    const { error } = part
    if (error === undefined) return part
    const said = withoutAddress(typeof error === 'string' ? error : JSON.stringify(error))
    const { message } = refusalError({ status: 500, headers: {}, said, body: undefined }, this.#telling)
    throw new ModelError(`The response failed. ${message}`, { retryable: true })
  }

  #read(text: string): Json {
    const value = readObject(text)
    if (value === undefined) {
      throw new ModelError(`The response is not JSON. Check that ${this.#setting} is Ollama's.`)
    }
    return value
  }

  get #telling() {
    return { clock: this.#clock, secrets: Object.values(this.#headers).map((value) => value.replace(/^Bearer /, '')) }
  }

  async #refusal(response: Response, model: unknown): Promise<ModelError> {
    const { status } = response
    const { error } = readObject(await response.text().catch(() => '')) ?? {}
    const reason = typeof error === 'string' ? error : undefined
    if (status !== 404) {
      const headers = Object.fromEntries(response.headers)
      return refusalError({ status, headers, said: withoutAddress(reason ?? ''), body: undefined }, this.#telling)
    }
    const message =
      model !== undefined && reason !== undefined
        ? `Ollama has no model '${model}'. Fetch it: ollama pull ${model}`
        : `The server is not Ollama (404). Check ${this.#setting}: it is the part before /api.`
    return new ModelError(message, { status })
  }

  #fail(error: unknown, signal: AbortSignal | undefined): never {
    if (error instanceof ModelError) throw error
    signal?.throwIfAborted()
    const problem = connectionProblem(error)
    const message =
      connectionCode(error) === 'ECONNREFUSED'
        ? `Ollama is not running. Start it (ollama serve), or set ${this.#setting}.`
        : `The connection to Ollama failed${problem === undefined ? '' : `: ${problem}`}. Check that it is running, and ${this.#setting}.`
    throw new ModelError(message, { retryable: true })
  }
}

const withoutAddress = (text: string): string => text.replace(ADDRESS, '[address]')

function chatRequest(model: string, request: WireRequest): Json {
  const { messages, max_tokens, temperature, response_schema: format } = request
  const options = {
    ...(max_tokens !== undefined && { num_predict: max_tokens }),
    ...(temperature !== undefined && { temperature }),
  }
  const all = messages.map(ollamaMessage)
  return { model, stream: true, messages: all, options, ...(format !== undefined && { format }) }
}

export function ollamaMessage(message: Message): object {
  const { role } = message
  const content = textIn(message.content)
  const images = mediaIn(message.content).flatMap(({ data }) => data ?? [])
  const said = { role, content, ...(images.length > 0 && { images }) }
  if (role === 'tool') return { ...said, tool_name: message.name, tool_call_id: message.tool_call_id }
  if (role !== 'assistant') return said
  const { tool_calls = [], metadata } = message
  const stored = metadata?.ollama
  const thinking = isObject(stored) && typeof stored.thinking === 'string' ? stored.thinking : undefined
  return {
    ...said,
    ...(thinking !== undefined && { thinking }),
    ...(tool_calls.length > 0 && { tool_calls: tool_calls.map(ollamaCall) }),
  }
}

/** Ollama only takes objects as arguments. The result of a call with other arguments names the problem. */
const ollamaCall = ({ id, function: { name, arguments: text } }: ToolCall): object => ({
  id,
  function: { name, arguments: readObject(text) ?? {} },
})

interface AnswerPart {
  readonly message?: {
    readonly content?: string
    readonly thinking?: string
    readonly tool_calls?: readonly {
      readonly id?: string
      readonly function: { readonly name: string; readonly arguments?: object }
    }[]
  }
  readonly done?: boolean
  readonly done_reason?: string
  readonly prompt_eval_count?: number
  readonly eval_count?: number
}

/** Servers before 0.1.38 give no reason. `load` and `unload` don't answer a question, so they are errors. */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['', 'stop'],
  ['stop', 'stop'],
  ['length', 'length'],
])

async function* answerEvents(parts: AsyncIterable<AnswerPart>): AsyncGenerator<ModelEvent> {
  const printed = new PrintedThinking()
  const thoughts: string[] = []
  const ids = new Set<string>()
  for await (const part of parts) {
    const { content = '', thinking = '', tool_calls = [] } = part.message ?? {}
    thoughts.push(thinking)
    const text = printed.push(content) + (part.done ? printed.end() : '')
    if (text !== '') yield { type: 'text-delta', text }
    for (const { id: given, function: called } of tool_calls) {
      // Older servers give no ids.
      const id = given && !ids.has(given) ? given : `call_${randomUUID()}`
      ids.add(id)
      const call = { name: called.name, arguments: JSON.stringify(called.arguments ?? {}) }
      yield { type: 'tool-call-start', id, name: call.name }
      yield { type: 'tool-call-delta', id, text: call.arguments }
      yield { type: 'tool-call-end', call: { id, type: 'function', function: call } }
    }
    if (!part.done) continue
    const usage = usageOf(part)
    const thought = thoughts.join('') + printed.thinking
    yield {
      type: 'finish',
      ...reasonOf(ids.size > 0, part.done_reason),
      ...(usage !== undefined && { usage }),
      ...(thought !== '' && { metadata: { ollama: { thinking: thought } } }),
    }
  }
}

function reasonOf(called: boolean, named = ''): { readonly reason: FinishReason; readonly raw_reason?: string } {
  const reason = called ? 'tool_calls' : REASONS.get(named)
  return reason === undefined ? { reason: 'error', raw_reason: named } : { reason }
}

/** Ollama doesn't count a prompt that is still in its cache. */
function usageOf({ prompt_eval_count, eval_count }: AnswerPart): Usage | undefined {
  if (prompt_eval_count === undefined && eval_count === undefined) return undefined
  const [prompt, completion] = [prompt_eval_count ?? 0, eval_count ?? 0]
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

const noTools = (model: string): ModelError =>
  new ModelError(
    `Model '${model}' does not support tools. Offer none, or use a model for which "ollama show" lists tools.`,
    { status: 400 },
  )

/** Ollama refuses tools with the same 400 as anything else, so the capabilities of the model decide. */
async function lacksTools(
  server: OllamaServer,
  model: string,
  error: unknown,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (!(error instanceof ModelError) || error.status !== 400) return false
  const capabilities = await capabilitiesOf(server, model, signal)
  return capabilities !== undefined && !capabilities.includes('function-calling')
}

async function listed(server: OllamaServer, entry: Json, signal: AbortSignal): Promise<ListedModel> {
  const name = foreignText(entry.name)
  const capabilities = ourNames(entry.capabilities) ?? (await capabilitiesOf(server, name, signal))
  return { name, ...(capabilities !== undefined && { capabilities }) }
}

/** Undefined if the server doesn't say. */
async function capabilitiesOf(
  server: OllamaServer,
  model: string,
  signal: AbortSignal | undefined,
): Promise<string[] | undefined> {
  try {
    return ourNames((await server.askOnce('show', { model }, signal)).capabilities)
  } catch (error) {
    if (error instanceof ModelError) return undefined
    throw error
  }
}

const NAMES: ReadonlyMap<unknown, string> = new Map([
  ['tools', 'function-calling'],
  ['vision', 'image-input'],
])

const ourNames = (capabilities: unknown): string[] | undefined =>
  Array.isArray(capabilities) ? capabilities.map((one) => NAMES.get(one) ?? one) : undefined

interface QwenTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonSchema }
}

/** Our tool (`parameters`) or a LangChain tool (`schema`: JSON Schema or Zod). */
interface QwenSource {
  readonly name?: string | undefined
  readonly lc_name?: unknown
  readonly description?: string | undefined
  readonly parameters?: unknown
  readonly schema?: unknown
}

/** Converts tools to the format of Ollama and Qwen. A tool without an object schema is left out with a warning. */
export function toQwenForm(tools: readonly QwenSource[] | undefined, log?: Log): QwenTool[] {
  const converted: QwenTool[] = []
  for (const tool of tools ?? []) {
    const name = typeof tool.lc_name === 'string' && tool.lc_name !== '' ? tool.lc_name : (tool.name ?? '')
    const parameters = jsonSchemaOf(tool.parameters ?? tool.schema ?? {}, convertZod)
    if (parameters === undefined) {
      log?.warn({ tool: name }, `Tool '${name}' is not offered: its parameters are not a JSON Schema of an object`)
      continue
    }
    converted.push({ type: 'function', function: { name, description: tool.description ?? '', parameters } })
  }
  if (converted.length > 0) {
    log?.debug({ tools: converted.length }, `🔧 Converted ${converted.length} tools from LangChain to Qwen format`)
  }
  return converted
}

const OPEN = '<think>'
const CLOSE = '</think>'

/**
 * Removes `<think>…</think>` from the start of a streamed text. Later tags are ordinary text. An unclosed block is all
 * thinking.
 */
export class PrintedThinking {
  #state: 'start' | 'thinking' | 'gap' | 'text' = 'start'
  #held = ''
  #thought: string[] = []

  get thinking(): string {
    return this.#thought.join('')
  }

  /** Returns the text for the reader, as far as it is decided. */
  push(text: string): string {
    if (this.#state === 'text') return text
    this.#held += text
    for (;;) {
      const before = this.#held.length
      const answer = this.#step()
      if (answer !== undefined) return answer
      if (this.#held.length === before) return ''
    }
  }

  /** Returns the text still held back at the end. */
  end(): string {
    const held = this.#held
    this.#held = ''
    if (this.#state === 'thinking') this.#thought.push(held)
    return this.#state === 'start' ? held : ''
  }

  /** Undefined if more text or another state has to decide. */
  #step(): string | undefined {
    if (this.#state === 'thinking') {
      const at = this.#held.indexOf(CLOSE)
      const end = at === -1 ? this.#held.length - splitTail(this.#held, CLOSE) : at
      this.#thought.push(this.#held.slice(0, end))
      this.#held = this.#held.slice(at === -1 ? end : end + CLOSE.length)
      if (at !== -1) this.#state = 'gap'
      return undefined
    }
    const begun = this.#held.trimStart()
    if (begun.startsWith(OPEN)) {
      this.#held = begun.slice(OPEN.length)
      this.#state = 'thinking'
      return undefined
    }
    if (OPEN.startsWith(begun)) return undefined
    // Drops the blank lines between thinking and answer.
    const answer = this.#state === 'gap' ? begun : this.#held
    this.#held = ''
    this.#state = 'text'
    return answer
  }
}

/** The length of the longest end of the text that may start the tag. */
function splitTail(text: string, tag: string): number {
  let length = Math.min(text.length, tag.length - 1)
  while (length > 0 && !tag.startsWith(text.slice(-length))) length--
  return length
}
