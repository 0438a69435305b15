import { randomUUID } from 'node:crypto'
import type { ChatRequest, ChatResponse, Message as ClientMessage, Ollama } from 'ollama'
import { parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import { refusalError, type Telling } from '../ai-sdk/to-model-error.ts'
import type { AssistantMessage, FinishReason, Message, ModelEvent, ToolCall, Usage } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { ListedModel, ProviderSettings, ProviderSurroundings, Wire, WireMaker, WireRequest } from '../provider.ts'
import { toQwenForm } from '../qwen-form.ts'

/** Ollama passes on what its own processes say to each other, ports included. */
const ADDRESS =
  /\b[a-z]+:\/\/\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[(?=[\da-f]*:)[\da-f:]+\](?::\d+)?|\blocalhost\b(?::\d+)?/gi

/** What is needed to tell of a failure; `model` is undefined where the question was which models there are. */
interface OllamaTelling extends Telling {
  readonly provider: string
  readonly model: string | undefined
}

/** A connection that could not be made, or broke. */
function connectionFailure({ provider }: OllamaTelling, error: unknown): ModelError {
  const code = codeOf(error)
  const at = `providers.${provider}.base_url`
  const message =
    code === 'ECONNREFUSED'
      ? `Ollama is not running where it was looked for. Start it (ollama serve), or set ${at}.`
      : `The connection to Ollama failed${code === undefined ? '' : ` (${code})`}. Check that it is running, and ${at}.`
  return new ModelError(message, { retryable: true })
}

/** An answer other than 200. */
async function statusFailure(telling: OllamaTelling, response: Response): Promise<ModelError> {
  const { status } = response
  const reason = await errorField(response)
  if (status !== 404) {
    const headers = Object.fromEntries(response.headers)
    return refusalError({ status, headers, said: withoutAddress(reason ?? ''), body: undefined }, telling)
  }
  const { provider, model } = telling
  return new ModelError(
    model !== undefined && reason !== undefined
      ? `Ollama has no model '${model}'. Fetch it: ollama pull ${model}`
      : `What answers is not Ollama (404). Check providers.${provider}.base_url: it is the part before /api.`,
    { status },
  )
}

/** An error in the middle of the answer. */
function brokenOffFailure(telling: OllamaTelling, error: unknown): ModelError {
  const said = withoutAddress(typeof error === 'string' ? error : JSON.stringify(error))
  const { message } = refusalError({ status: 500, headers: {}, said, body: undefined }, telling)
  return new ModelError(`The answer broke off. ${message}`, { retryable: true })
}

const withoutAddress = (text: string): string => text.replace(ADDRESS, '[address]')

/** Ollama answers errors as `{"error": "…"}`; what stands in between answers anything. */
async function errorField(response: Response): Promise<string | undefined> {
  try {
    const body: unknown = await response.json()
    const error: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined
    return typeof error === 'string' ? error : undefined
  } catch {
    return undefined
  }
}

function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}

/**
 * The `fetch` under Ollama's client. The client passes no signal of ours, prints failures it cannot read on stdout,
 * drops lines that are no JSON, and throws errors that only their text tells apart: all of that is settled here.
 */
export function ollamaFetch(telling: OllamaTelling, signal: AbortSignal | undefined): typeof fetch {
  return async (input, init) => {
    const signals = [init?.signal, signal].filter((one) => one !== undefined && one !== null)
    // A redirect could carry a key elsewhere.
    const options: RequestInit = { ...init, signal: AbortSignal.any(signals), redirect: 'error' }
    const response = await guarded(telling, signal, () => fetch(input, options))
    if (!response.ok) throw await statusFailure(telling, response)
    if (response.body === null || !isStream(init?.body)) return response
    return new Response(ReadableStream.from(checkedLines(telling, signal, response.body)))
  }
}

const isStream = (body: unknown): boolean =>
  typeof body === 'string' && Reflect.get(JSON.parse(body), 'stream') === true

/** The lines of a streamed answer, up to and with the one that says `done`. */
async function* checkedLines(
  telling: OllamaTelling,
  signal: AbortSignal | undefined,
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  const reader = body.getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await guarded(telling, signal, () => reader.read())
      rest += done ? `${decoder.decode()}\n` : decoder.decode(value, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line.trim() === '') continue
        const isLast = checkLine(telling, line)
        yield encoder.encode(`${line}\n`)
        if (isLast) return
      }
      if (done) throw new ModelError('The answer ended before it was complete. Try again.', { retryable: true })
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Throws where the line is not part of an answer; gives whether it is the last. */
function checkLine(telling: OllamaTelling, line: string): boolean {
  const message = parsed(line)
  if (typeof message !== 'object' || message === null) {
    throw new ModelError(`What was answered is no JSON. Check that providers.${telling.provider}.base_url is Ollama's.`)
  }
  const error: unknown = Reflect.get(message, 'error')
  if (error !== undefined) throw brokenOffFailure(telling, error)
  return Reflect.get(message, 'done') === true
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** A failure on the way is a failed connection, unless the caller has gone away. */
async function guarded<Value>(
  telling: OllamaTelling,
  signal: AbortSignal | undefined,
  step: () => Promise<Value>,
): Promise<Value> {
  try {
    return await step()
  } catch (error) {
    signal?.throwIfAborted()
    throw connectionFailure(telling, error)
  }
}

/** Newer servers than the client's types know ids of calls; older ones do not look at them. */
interface OllamaMessage extends ClientMessage {
  tool_call_id?: string
}

/** Our messages as Ollama takes them. */
export function ollamaMessages(messages: readonly Message[]): OllamaMessage[] {
  return messages.map((message) => {
    switch (message.role) {
      case 'assistant':
        return assistantMessage(message)
      case 'tool':
        return {
          role: 'tool',
          content: message.content,
          tool_name: message.name,
          tool_call_id: message.tool_call_id,
        }
      default:
        return { role: message.role, content: message.content }
    }
  })
}

function assistantMessage({ content, tool_calls = [], metadata }: AssistantMessage): OllamaMessage {
  const thinking = thinkingOf(metadata?.ollama)
  return {
    role: 'assistant',
    content: content ?? '',
    ...(thinking !== undefined && { thinking }),
    ...(tool_calls.length > 0 && { tool_calls: tool_calls.map(ollamaCall) }),
  }
}

const thinkingOf = (kept: unknown): string | undefined => {
  const thinking = typeof kept === 'object' && kept !== null ? Reflect.get(kept, 'thinking') : undefined
  return typeof thinking === 'string' ? thinking : undefined
}

const ollamaCall = ({ id, function: { name, arguments: text } }: ToolCall) => ({
  id,
  function: { name, arguments: argumentsObject(text) },
})

/** Ollama takes arguments as an object only, so that what was never one goes back empty. */
function argumentsObject(text: string): Record<string, unknown> {
  try {
    const value = parseJson(text, LIMITS.bodyDepth)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Not JSON: the result of the call, which follows, says so.
  }
  return {}
}

const OPEN = '<think>'
const CLOSE = '</think>'

/**
 * Takes `<think>…</think>` out of a streamed text. Only at its beginning: there models think, further on somebody
 * writes about the tag. A block that never ends was all thinking.
 */
export class PrintedThinking {
  #state: 'start' | 'thinking' | 'gap' | 'text' = 'start'
  #held = ''
  #thought: string[] = []

  /** What was thought so far. */
  get thinking(): string {
    return this.#thought.join('')
  }

  /** Gives what of the text is meant for the reader, as far as that is decided. */
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

  /** Gives what was still held back when the text ended. */
  end(): string {
    const held = this.#held
    this.#held = ''
    if (this.#state === 'thinking') this.#thought.push(held)
    return this.#state === 'start' ? held : ''
  }

  /** Undefined where more text, or another state, has to decide. */
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
    // The blank lines between thinking and answer belong to neither.
    const answer = this.#state === 'gap' ? begun : this.#held
    this.#held = ''
    this.#state = 'text'
    return answer
  }
}

/** How many characters at the end of the text may be the beginning of the tag. */
function splitTail(text: string, tag: string): number {
  let length = Math.min(text.length, tag.length - 1)
  while (length > 0 && !tag.startsWith(text.slice(-length))) length--
  return length
}

/**
 * Servers before 0.1.38 say no reason when all is well. `load` and `unload` answer no question, and whatever else there
 * may be is not known to be good.
 */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['', 'stop'],
  ['stop', 'stop'],
  ['length', 'length'],
])

/** The events of one streamed answer. */
async function* ollamaAnswer(parts: AsyncIterable<ChatResponse>): AsyncGenerator<ModelEvent> {
  const printed = new PrintedThinking()
  const thoughts: string[] = []
  const ids = new Set<string>()
  for await (const part of parts) {
    const { content = '', thinking = '', tool_calls = [] } = part.message ?? {}
    if (thinking !== '') thoughts.push(thinking)
    const text = printed.push(content) + (part.done ? printed.end() : '')
    if (text !== '') yield { type: 'text-delta', text }
    for (const call of tool_calls) {
      const id = freshId(Reflect.get(call, 'id'), ids)
      const { name, arguments: params } = call.function
      const written = JSON.stringify(params ?? {})
      yield { type: 'tool-call-start', id, name }
      yield { type: 'tool-call-delta', id, text: written }
      yield { type: 'tool-call-end', call: { id, type: 'function', function: { name, arguments: written } } }
    }
    if (part.done) {
      const usage = usageOf(part)
      const thought = thoughts.join('') + printed.thinking
      yield {
        type: 'finish',
        reason: ids.size > 0 ? 'tool_calls' : (REASONS.get(part.done_reason ?? '') ?? 'error'),
        ...(usage !== undefined && { usage }),
        ...(thought !== '' && { metadata: { ollama: { thinking: thought } } }),
      }
    }
  }
}

/** Ids have to be unique, and older servers give none. */
function freshId(given: unknown, seen: Set<string>): string {
  const id = typeof given === 'string' && given !== '' && !seen.has(given) ? given : `call_${randomUUID()}`
  seen.add(id)
  return id
}

/** A prompt that was still in the cache is not counted, and by older servers not named. */
function usageOf({ prompt_eval_count, eval_count }: Partial<ChatResponse>): Usage | undefined {
  if (prompt_eval_count === undefined && eval_count === undefined) return undefined
  const [prompt, completion] = [prompt_eval_count ?? 0, eval_count ?? 0]
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

const DEFAULT_URL = 'http://127.0.0.1:11434'

/** The wire to an Ollama server, through its own client. */
export const ollamaWire: WireMaker = async (settings, around) => {
  const connect = await connector(settings, around)

  return {
    dialect: 'ollama',
    printsCalls: true,
    async *stream(model, request) {
      const { signal } = request
      signal?.throwIfAborted()
      const client = connect(model, signal)
      const tools = toQwenForm(request.tools, around.log)
      const answer = await client
        .chat({ ...chatRequest(model, request), ...(tools.length > 0 && { tools: tools as ToolList }), stream: true })
        .catch(async (error: unknown) => {
          throw tools.length > 0 && (await lacksTools(client, model, error)) ? noTools(model) : error
        })
      try {
        yield* ollamaAnswer(answer)
      } finally {
        // Whoever stops listening early must not leave the model working.
        answer.abort()
      }
    },
    async list(signal) {
      signal.throwIfAborted()
      const client = connect(undefined, signal)
      const { models } = await client.list()
      return Promise.all(models.map((entry) => listed(client, entry)))
    },
  } satisfies Wire
}

/** The client's types know only part of JSON Schema. */
type ToolList = NonNullable<ChatRequest['tools']>
type Connect = (model: string | undefined, signal: AbortSignal | undefined) => Ollama

/** A client per question: it keeps what was aborted for as long as it lives. */
async function connector(settings: ProviderSettings, { clock }: ProviderSurroundings): Promise<Connect> {
  const { Ollama } = await import('ollama')
  const { name: provider, base_url: host = DEFAULT_URL, api_key, headers: more } = settings
  if (!URL.canParse(host)) {
    throw new ModelError(`providers.${provider}.base_url is not a URL. Write it like ${DEFAULT_URL}`)
  }
  const headers = { ...(api_key !== undefined && { authorization: `Bearer ${api_key}` }), ...more }
  const secrets = [...(api_key !== undefined ? [api_key] : []), ...Object.values(headers)]
  return (model, signal) =>
    new Ollama({ host, headers, fetch: ollamaFetch({ provider, model, clock, secrets }, signal) })
}

function chatRequest(model: string, request: WireRequest): ChatRequest {
  const { messages, max_tokens, temperature, response_schema: format } = request
  const options = {
    ...(max_tokens !== undefined && { num_predict: max_tokens }),
    ...(temperature !== undefined && { temperature }),
  }
  return { model, messages: ollamaMessages(messages), options, ...(format !== undefined && { format }) }
}

const noTools = (model: string): ModelError =>
  new ModelError(
    `Model '${model}' does not support tools. Offer it none, or take one for which "ollama show" lists tools.`,
    { status: 400 },
  )

/** Ollama refuses tools with the same 400 as anything else; what the model can do tells the two apart. */
async function lacksTools(client: Ollama, model: string, error: unknown): Promise<boolean> {
  if (!(error instanceof ModelError) || error.status !== 400) return false
  const capabilities = await capabilitiesOf(client, model)
  return capabilities !== undefined && !capabilities.includes('function-calling')
}

async function listed(client: Ollama, entry: { readonly name: string }): Promise<ListedModel> {
  const named: unknown = Reflect.get(entry, 'capabilities')
  const capabilities = Array.isArray(named) ? ourNames(named) : await capabilitiesOf(client, entry.name)
  return { name: entry.name, ...(capabilities !== undefined && { capabilities }) }
}

/** Undefined where the server does not say. */
async function capabilitiesOf(client: Ollama, model: string): Promise<string[] | undefined> {
  try {
    const { capabilities } = await client.show({ model })
    return Array.isArray(capabilities) ? ourNames(capabilities) : undefined
  } catch (error) {
    if (error instanceof ModelError) return undefined
    throw error
  }
}

const ourNames = (capabilities: readonly string[]): string[] =>
  capabilities.map((one) => (one === 'tools' ? 'function-calling' : one))
