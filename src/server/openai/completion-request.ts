import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Message, ToolCall } from '../../models/model.ts'
import { invalid } from './openai-error.ts'
import {
  type AskedRun,
  type Optional,
  readContent,
  readFormat,
  readText,
  readTools,
  type Wire,
} from './request-parts.ts'

export const OBJECT = { type: ['object', 'null'], additionalProperties: true } as const
export const BOOLEAN = { type: ['boolean', 'null'] } as const
export const TOKENS = { type: ['integer', 'null'], minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const

export const CACHE_KEY = {
  ...{ type: ['string', 'null'], maxLength: 200 },
  description: 'Runs of a tenant with the same key share what the provider caches.',
} as const

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
      description: 'Tools of the client. The server returns their calls.',
    },
    tool_choice: { description: '"auto" (default), "none", "required" or {"type": "function", "function": {"name"}}.' },
    n: { type: ['integer', 'null'], description: 'Only 1.' },
    response_format: { ...OBJECT, description: 'Of type "text" (default), "json_object" or "json_schema".' },
    prompt_cache_key: CACHE_KEY,
    store: { ...BOOLEAN, description: 'false: the run is not stored.' },
    logprobs: BOOLEAN,
    modalities: { type: ['array', 'null'] },
  },
} as const

/** Converts OpenAI messages to ours. Throws an `OpenAiError` that names the invalid message. */
export function readMessages(
  messages: readonly (readonly [place: string, message: unknown])[],
  /** The calls before these messages that have no result yet: the tools by the ids of the calls. */
  given: ReadonlyMap<string, string> = new Map(),
): Message[] {
  const read: Message[] = []
  const open = new Map(given)
  for (const [place, message] of messages) {
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
  readonly response_format?: Optional<Wire>
  readonly prompt_cache_key?: Optional<string>
  readonly store?: Optional<boolean>
  readonly logprobs?: Optional<boolean>
  readonly modalities?: Optional<readonly unknown[]>
  readonly functions?: unknown
  readonly function_call?: unknown
  readonly max_output_tokens?: unknown
  readonly budget?: unknown
}

export interface AskedCompletion {
  readonly model: string
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly run: AskedRun
  /** What the answer says beside that of the model. */
  readonly warnings: readonly string[]
}

/** Reads a request. Unsupported options that would change the answer are errors; others are ignored. */
export function readCompletion(body: CompletionBody): AskedCompletion {
  refuseUnsupported(body)
  const { model, messages, stream, stream_options, temperature } = body
  const max_tokens = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const output = readFormat(body.response_format, 'response_format')
  const { run, warnings } = readTools(body.tools, body.tool_choice)
  return {
    model,
    messages: readMessages(messages.map((message, index) => [`messages[${index}]`, message])),
    stream: stream === true,
    includeUsage: stream_options?.include_usage === true,
    run: {
      ...run,
      ...(output && { output }),
      ...(body.prompt_cache_key && { cache_key: body.prompt_cache_key }),
      max_tokens,
      temperature: temperature ?? undefined,
    },
    warnings,
  }
}

function refuseUnsupported(body: CompletionBody): void {
  const { n, logprobs, modalities, functions, function_call, max_output_tokens, budget } = body
  if ((n ?? 1) !== 1) refuse('n', 'n must be 1')
  if (logprobs === true) refuse('logprobs', 'logprobs are not supported')
  if (modalities?.some((modality) => modality !== 'text')) refuse('modalities', 'modalities must be ["text"]')
  if (functions != null) refuse('functions', 'functions are not supported: use tools')
  if (function_call != null) refuse('function_call', 'function_call is not supported: use tool_choice')
  // Limits of the other endpoints would silently not hold.
  if (max_output_tokens != null) {
    refuse('max_output_tokens', 'max_output_tokens is not supported: use max_completion_tokens')
  }
  if (budget != null) refuse('budget', 'budget is not supported: leave it out, or send the request to /chat')
}

export function refuse(param: string, message: string): never {
  throw invalid(param, message, 'unsupported_value')
}
