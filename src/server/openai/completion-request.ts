import { randomBytes } from 'node:crypto'
import type { Caller } from '../../app/callers.ts'
import type { Clock } from '../../core/clock.ts'
import { guardSchema } from '../../core/schema/guard-schema.ts'
import { quoted, shortened } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { RefusedSchemaError } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { hasSignature, type MediaPart, mediaFromUrl, readMedia } from '../../core/tool-result.ts'
import { MAX_MEDIA_CHARACTERS, mediaIn, mediaProblem, textIn } from '../../models/content.ts'
import type { AssistantMessage, Content, Message, Model, OfferedTool, Part, ToolCall } from '../../models/model.ts'
import { TenantCache } from '../http/tenant-cache.ts'
import { invalid } from './openai-error.ts'

const OBJECT = { type: ['object', 'null'], additionalProperties: true } as const
const BOOLEAN = { type: ['boolean', 'null'] } as const
const TOKENS = { type: ['integer', 'null'], minimum: 1 } as const

/** The body of `POST /v1/chat/completions`. Other fields are ignored. */
export const COMPLETION_SCHEMA = {
  type: 'object',
  required: ['model', 'messages'],
  additionalProperties: true,
  properties: {
    model: { type: 'string', minLength: 1, maxLength: 300, description: 'provider:model, as GET /v1/models lists it.' },
    messages: {
      type: 'array',
      minItems: 1,
      maxItems: 5_000,
      description:
        'Roles: system, developer, user, assistant and tool. Contents: strings or lists of text parts; those of users may contain image_url, input_audio and file.',
    },
    stream: BOOLEAN,
    stream_options: { ...OBJECT, properties: { include_usage: BOOLEAN } },
    max_tokens: TOKENS,
    max_completion_tokens: TOKENS,
    temperature: { type: ['number', 'null'], minimum: 0, maximum: 2 },
    tools: {
      type: ['array', 'null'],
      maxItems: 128,
      description: 'Tools of the client. Calls of them are handed back.',
    },
    tool_choice: { description: '"auto" (default) or "none".' },
    n: { type: ['integer', 'null'], description: 'Only 1.' },
    response_format: { ...OBJECT, description: 'Only {"type": "text"}.' },
    logprobs: BOOLEAN,
    modalities: { type: ['array', 'null'] },
  },
} as const

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
/** They are checked and compiled for every request, before anything else happens. */
const MAX_TOOLS_CHARACTERS = 262_144
const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} }

/** Whether tools are offered. Forcing a model to call a tool is not supported. */
function readToolChoice(choice: unknown): 'auto' | 'none' {
  if (choice === undefined || choice === null || choice === 'auto') return 'auto'
  if (choice === 'none') return 'none'
  const given = typeof choice === 'string' ? `"${shortened(choice)}"` : 'by name'
  throw invalid('tool_choice', `tool_choice ${given} is not supported: use "auto" or "none"`, 'unsupported_value')
}

function readTool(tool: unknown, place: string): OfferedTool {
  const { type, function: given } = Object(tool) as { type?: unknown; function?: unknown }
  if (type !== 'function') throw invalid(place, `${place}.type must be "function"`)
  const { name, description: told, parameters } = Object(given) as Partial<Record<keyof OfferedTool, unknown>>
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw invalid(`${place}.function.name`, `${place}.function.name must be 1 to 64 letters, digits, _ or -`)
  }
  const description = told ?? ''
  if (typeof description !== 'string') {
    throw invalid(`${place}.function.description`, `${place}.function.description must be a string`)
  }
  return { name, description, parameters: readSchema(parameters, `${place}.function.parameters`) }
}

function readSchema(parameters: unknown, place: string): JsonSchema {
  if (parameters === undefined || parameters === null) return NO_PARAMETERS
  if (!isObject(parameters)) {
    throw invalid(place, `${place} must be a JSON Schema for an object`)
  }
  const schema: JsonSchema = { type: 'object', ...parameters }
  if (schema.type !== 'object') throw invalid(`${place}.type`, `${place}.type must be "object"`)
  try {
    guardSchema(schema)
    return schema
  } catch (error) {
    if (error instanceof RefusedSchemaError) throw invalid(place, `${place} cannot be used: ${error.message}`)
    throw error
  }
}

type Wire = Readonly<Record<string, unknown>>

/** Converts OpenAI messages to ours. Throws an `OpenAiError` that names the invalid message. */
function readMessages(messages: readonly unknown[]): Message[] {
  const read: Message[] = []
  /** The calls of the last assistant message that have no result yet. */
  const open = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const place = `messages[${index}]`
    if (!isObject(message)) throw invalid(place, `${place} must be an object with role and content`)
    const next = readMessage(message, place, open)
    if (next.role !== 'tool') requireResults(open, place)
    if (next.role === 'assistant')
      for (const { id, function: called } of next.tool_calls ?? []) open.set(id, called.name)
    read.push(next)
  }
  requireResults(open, 'messages')
  return read
}

function readMessage(message: Wire, place: string, open: Map<string, string>): Message {
  const { role = 'user' } = message
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: readText(message.content, `${place}.content`) }
    case 'user':
      return { role, content: readContent(message.content, `${place}.content`) }
    case 'assistant':
      return readAssistant(message, place)
    case 'tool':
      return readResult(message, place, open)
    default: {
      const known = 'use system, developer, user, assistant or tool'
      throw invalid(`${place}.role`, `${place}.role ${quoted(role)} is not supported: ${known}`)
    }
  }
}

function readAssistant({ content, tool_calls: calls, function_call }: Wire, place: string): Message {
  if (function_call != null)
    throw invalid(`${place}.function_call`, `${place}: use tool_calls instead of function_call`)
  if (calls != null && !Array.isArray(calls))
    throw invalid(`${place}.tool_calls`, `${place}.tool_calls must be an array`)
  const tool_calls = (calls ?? []).map((call: unknown, n: number) => readCall(call, `${place}.tool_calls[${n}]`))
  if (tool_calls.length === 0) return { role: 'assistant', content: readText(content, `${place}.content`) }
  if (new Set(tool_calls.map(({ id }) => id)).size < tool_calls.length) {
    throw invalid(`${place}.tool_calls`, `${place}.tool_calls must have different ids`)
  }
  const text = content == null ? '' : readText(content, `${place}.content`)
  return { role: 'assistant', content: text === '' ? null : text, tool_calls }
}

function readCall(call: unknown, place: string): ToolCall {
  const { id, type, function: called } = isObject(call) ? call : {}
  const { name, arguments: text } = isObject(called) ? called : {}
  if (type !== 'function') throw invalid(place, `${place}.type must be "function"`)
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string') {
    throw invalid(place, `${place} must have an id, and a function with name and arguments, all strings`)
  }
  return { id, type, function: { name, arguments: text } }
}

function readResult({ tool_call_id: id, content }: Wire, place: string, open: Map<string, string>): Message {
  const name = typeof id === 'string' ? open.get(id) : undefined
  if (typeof id !== 'string' || name === undefined) {
    const what = `${place}.tool_call_id ${quoted(id)} must be the id of an unanswered call in the preceding tool_calls`
    throw invalid(`${place}.tool_call_id`, what)
  }
  open.delete(id)
  return { role: 'tool', tool_call_id: id, name, content: readText(content, `${place}.content`) }
}

function requireResults(open: ReadonlyMap<string, string>, place: string): void {
  if (open.size === 0) return
  const ids = [...open.keys()].slice(0, 5).join(', ')
  throw invalid(place, `tool_calls must be followed by one message with role "tool" per call; missing: ${ids}`)
}

/** Reads a string or a list of text parts. */
function readText(content: unknown, place: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalid(place, `${place} must be a string or a list of text parts`)
  const parts = content.map((part: unknown, n) => {
    const { type, text } = isObject(part) ? part : {}
    if (type === 'text' && typeof text === 'string') return text
    throw invalid(`${place}[${n}]`, `${place}[${n}]: parts of type ${quoted(type)} are not supported, only "text"`)
  })
  return parts.join('\n')
}

/** Reads a string or a list of parts; those without media are joined. */
function readContent(content: unknown, place: string): Content {
  if (!Array.isArray(content)) return readText(content, place)
  const parts = content.map((part, n) => readPart(part, `${place}[${n}]`))
  return mediaIn(parts).length === 0 ? textIn(parts) : parts
}

const MEDIA: readonly unknown[] = ['image_url', 'input_audio', 'file']

function readPart(part: unknown, place: string): Part {
  const { type, text } = isObject(part) ? part : {}
  if (type === 'text' && typeof text === 'string') return { type, text }
  if (!MEDIA.includes(type)) {
    const known = ['text', ...MEDIA].map(quoted).join(', ')
    throw invalid(place, `${place}: parts of type ${quoted(type)} are not supported, only ${known}`)
  }
  const media = mediaOf(part as Wire)
  if (media === undefined || !hasSignature(media)) {
    const forms =
      'base64 data of its type (images and files: data:TYPE;base64,…), or for images an http or https address'
    throw invalid(place, `${place} of type ${quoted(type)} must have ${forms}`)
  }
  if ((media.data?.length ?? 0) > MAX_MEDIA_CHARACTERS) throw invalid(place, `${place} is larger than 5 MB`)
  return media
}

function mediaOf({ image_url, input_audio, file }: Wire): MediaPart | undefined {
  const { data, format } = Object(input_audio) as Wire
  if (data !== undefined) return readMedia({ type: 'audio', media_type: `audio/${format}`, data })
  const { file_data, filename } = Object(file) as Wire
  if (file_data !== undefined) return mediaFromUrl(file_data, undefined, filename)
  return mediaFromUrl((Object(image_url) as Wire).url, 'image/*')
}

/** Throws an `OpenAiError` for media that the model doesn't take; `known` are the caller's models. */
export function requireMedia({ messages }: AskedCompletion, model: Model, known: () => readonly Model[]): void {
  for (const [at, { content }] of messages.entries()) {
    const problem = mediaProblem(content, model, known)
    if (problem !== undefined) throw invalid(`messages[${at}].content`, problem, 'unsupported_value')
  }
}

type Optional<Value> = Value | null | undefined

/** A body that matches `COMPLETION_SCHEMA`. */
export interface CompletionBody {
  readonly model: string
  readonly messages: readonly unknown[]
  readonly stream?: Optional<boolean>
  readonly stream_options?: Optional<{ readonly include_usage?: Optional<boolean> }>
  readonly max_tokens?: Optional<number>
  readonly max_completion_tokens?: Optional<number>
  readonly temperature?: Optional<number>
  readonly tools?: Optional<readonly unknown[]>
  readonly tool_choice?: unknown
  readonly n?: Optional<number>
  readonly response_format?: Optional<{ readonly type?: unknown }>
  readonly logprobs?: Optional<boolean>
  readonly modalities?: Optional<readonly unknown[]>
  readonly functions?: unknown
  readonly function_call?: unknown
}

export interface AskedCompletion {
  readonly model: string
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly run: {
    readonly max_tokens?: number | undefined
    readonly temperature?: number | undefined
    readonly client_tools?: readonly OfferedTool[]
    readonly allowed_tools?: readonly string[]
  }
}

const NO_TOOLS: readonly string[] = Object.freeze([])

/** Reads a request. Unsupported options that would change the answer are errors; others are ignored. */
export function readCompletion(body: CompletionBody): AskedCompletion {
  refuseUnsupported(body)
  const { model, messages, stream, stream_options, temperature } = body
  const max_tokens = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const { length } = JSON.stringify(body.tools ?? [])
  if (length > MAX_TOOLS_CHARACTERS) {
    throw invalid('tools', `tools must have at most ${MAX_TOOLS_CHARACTERS} characters together, not ${length}`)
  }
  const tools = (body.tools ?? []).map((tool, index) => readTool(tool, `tools[${index}]`))
  const offered = readToolChoice(body.tool_choice) === 'auto' ? { client_tools: tools } : { allowed_tools: NO_TOOLS }
  return {
    model,
    messages: readMessages(messages),
    stream: stream === true,
    includeUsage: stream_options?.include_usage === true,
    run: { ...offered, max_tokens, temperature: temperature ?? undefined },
  }
}

function refuseUnsupported(body: CompletionBody): void {
  const { n, response_format, logprobs, modalities, functions, function_call } = body
  const format = response_format?.type ?? 'text'
  if ((n ?? 1) !== 1) refuse('n', 'n must be 1')
  if (format !== 'text') refuse('response_format', 'response_format must be of type "text"')
  if (logprobs === true) refuse('logprobs', 'logprobs are not supported')
  if (modalities?.some((modality) => modality !== 'text')) refuse('modalities', 'modalities must be ["text"]')
  if (functions != null) refuse('functions', 'functions are not supported: use tools')
  if (function_call != null) refuse('function_call', 'function_call is not supported: use tool_choice')
}

function refuse(param: string, message: string): never {
  throw invalid(param, message, 'unsupported_value')
}

type Result = Extract<Message, { role: 'tool' }>

/** The part of a conversation that the client doesn't have. */
interface HandedBack {
  /** The turns that called server tools. */
  readonly before: readonly Message[]
  /** The turn that called client tools, as the model wrote it. */
  readonly turn: AssistantMessage
  /** The results of the server tools that this turn called. */
  readonly postponed: readonly Result[]
  /** The ids of the client's calls: ours, mapped to the model's. */
  readonly ids: ReadonlyMap<string, string>
}

/**
 * Stores the turns that clients don't get, so that the model doesn't repeat them when the client returns its results.
 * The ids of models may not be unique, so clients get ids of ours.
 */
export class HandedBackCalls {
  readonly #entries: TenantCache<HandedBack>

  constructor(clock: Clock) {
    const sizeOf = ({ before, turn, postponed }: HandedBack) => JSON.stringify([before, turn, postponed]).length
    this.#entries = new TenantCache(clock, sizeOf)
  }

  /** Stores the messages that a run added; `ids` are the ids that the client got. */
  keep(caller: Caller, added: readonly Message[], ids: ReadonlyMap<string, string>): void {
    const at = added.findLastIndex(({ role }) => role === 'assistant')
    const turn = added[at] as AssistantMessage
    const postponed = added.slice(at + 1) as Result[]
    const entry = { before: added.slice(0, at), turn, postponed, ids }
    for (const id of ids.keys()) this.#entries.set(caller.tenant, keyOf(caller, id), entry)
  }

  /** Adds the stored turns to the conversation of a client. */
  restore(caller: Caller, messages: readonly Message[]): Message[] {
    const restored: Message[] = []
    const used = new Set<HandedBack>()
    for (let at = 0; at < messages.length; at++) {
      const message = messages[at] as Message
      const known = message.role === 'assistant' ? this.#find(caller, message.tool_calls ?? []) : undefined
      if (known === undefined) restored.push(message)
      else if (used.has(known)) {
        // Each copy would be as long as the stored turns.
        throw invalid('messages', `messages[${at}] repeats tool calls of an earlier message`)
      } else {
        used.add(known)
        const results = messages.slice(at + 1, at + 1 + known.ids.size) as Result[]
        restored.push(...known.before, known.turn, ...resultsOf(known, results))
        at += known.ids.size
      }
    }
    return restored
  }

  /** The entry of calls that were handed back together. */
  #find(caller: Caller, calls: readonly ToolCall[]): HandedBack | undefined {
    const [first] = calls
    const entry = first && this.#entries.get(caller.tenant, keyOf(caller, first.id))
    return entry?.ids.size === calls.length && calls.every(({ id }) => entry.ids.has(id)) ? entry : undefined
  }
}

export const newCallId = (): string => `call_${randomBytes(12).toString('hex')}`

/** The results of a turn, in the order of its calls and with the ids of the model. */
function resultsOf({ turn, postponed, ids }: HandedBack, given: readonly Result[]): Result[] {
  const results = new Map(postponed.map((result) => [result.tool_call_id, result]))
  for (const result of given) {
    const id = ids.get(result.tool_call_id) as string
    results.set(id, { ...result, tool_call_id: id })
  }
  return (turn.tool_calls ?? []).map(({ id }) => results.get(id) as Result)
}

const keyOf = ({ id: caller }: Caller, id: string): string => JSON.stringify([caller, id])
