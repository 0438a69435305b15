import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Message } from '../../models/model.ts'
import { BOOLEAN, CACHE_KEY, OBJECT, readMessages, refuse, TOKENS } from './completion-request.ts'
import { handedBack, type Result, resultsOf } from './handed-back.ts'
import { invalid, OpenAiError } from './openai-error.ts'
import {
  type AskedRun,
  type AskedTools,
  type Optional,
  offeredName,
  readFormat,
  readTools,
  type Wire,
} from './request-parts.ts'
import type { StoredResponse } from './stored-responses.ts'

const MAX_ITEMS = 5_000
/** Each response is read from the store, with its conversation, and an item counts as often as it is referred to. */
const MAX_REFERENCED = { responses: 100, characters: 8_000_000 } as const

/** The body of `POST /v1/responses`. Other fields are ignored. */
export const RESPONSE_SCHEMA = {
  type: 'object',
  required: ['model', 'input'],
  additionalProperties: true,
  properties: {
    model: { type: 'string', minLength: 1, maxLength: 300, description: 'provider:model, as GET /v1/models lists it.' },
    input: {
      type: ['string', 'array'],
      minItems: 1,
      maxItems: MAX_ITEMS,
      description: 'A text, or items: message, function_call, function_call_output and item_reference.',
    },
    instructions: { type: ['string', 'null'], description: 'The system message of this response.' },
    previous_response_id: {
      ...{ type: ['string', 'null'], maxLength: 200 },
      description: 'Continues a stored response of the same caller.',
    },
    store: { ...BOOLEAN, description: 'false: the response is not stored. Default: it is stored for 7 days.' },
    stream: BOOLEAN,
    max_output_tokens: TOKENS,
    temperature: { type: ['number', 'null'], minimum: 0, maximum: 2 },
    tools: {
      ...{ type: ['array', 'null'], maxItems: 128 },
      description:
        'Functions of the client, and namespaces of functions. Calls of them are items of the output. Others are left out, with a warning in `toolyard.warnings`.',
    },
    tool_choice: { description: '"auto" (default), "none", "required" or {"type": "function", "name"}.' },
    text: { ...OBJECT, properties: { format: OBJECT }, description: 'format: text, json_object or json_schema.' },
    metadata: {
      ...{ type: ['object', 'null'], maxProperties: 16, propertyNames: { maxLength: 64 } },
      additionalProperties: { type: 'string', maxLength: 512 },
    },
    prompt_cache_key: CACHE_KEY,
    background: { ...BOOLEAN, description: 'Only false.' },
  },
} as const

/** A body that matches `RESPONSE_SCHEMA`. */
export interface ResponseBody {
  readonly model: string
  readonly input: string | readonly unknown[]
  readonly instructions?: Optional<string>
  readonly previous_response_id?: Optional<string>
  readonly store?: Optional<boolean>
  readonly stream?: Optional<boolean>
  readonly max_output_tokens?: Optional<number>
  readonly temperature?: Optional<number>
  readonly tools?: Optional<readonly unknown[]>
  readonly tool_choice?: unknown
  readonly text?: Optional<{ readonly format?: Optional<Wire> }>
  readonly metadata?: Optional<Wire>
  readonly prompt_cache_key?: Optional<string>
  readonly background?: Optional<boolean>
  readonly conversation?: unknown
  readonly max_tool_calls?: unknown
  readonly prompt?: unknown
  readonly max_tokens?: unknown
  readonly max_completion_tokens?: unknown
  readonly budget?: unknown
}

/** Reads the options of a request. Unsupported ones that would change the answer are errors; others are ignored. */
export function readResponse(body: ResponseBody): Omit<AskedTools, 'run'> & { readonly run: AskedRun } {
  if (body.background === true) refuse('background', 'background must be false')
  if (body.conversation != null) refuse('conversation', 'conversation is not supported: use previous_response_id')
  if (body.max_tool_calls != null) refuse('max_tool_calls', 'max_tool_calls is not supported: leave it out')
  if (body.prompt != null) refuse('prompt', 'prompt is not supported: use instructions and input')
  // Limits of the other endpoints would silently not hold.
  if (body.max_tokens != null) refuse('max_tokens', 'max_tokens is not supported: use max_output_tokens')
  if (body.max_completion_tokens != null) {
    refuse('max_completion_tokens', 'max_completion_tokens is not supported: use max_output_tokens')
  }
  if (body.budget != null) refuse('budget', 'budget is not supported: leave it out, or send the request to /chat')
  const output = readFormat(body.text?.format, 'text.format')
  const tools = readTools(body.tools, body.tool_choice, true)
  return {
    ...tools,
    run: {
      ...tools.run,
      ...(output && { output }),
      ...(body.prompt_cache_key && { cache_key: body.prompt_cache_key }),
      max_tokens: body.max_output_tokens ?? undefined,
      temperature: body.temperature ?? undefined,
    },
  }
}

type Find = (id: string) => Promise<StoredResponse | undefined>

/** The conversation before and with this request. `find` looks for stored responses of the caller. */
export async function readInput(
  { input, previous_response_id: previous }: ResponseBody,
  find: Find,
): Promise<Message[]> {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : await dereferenced(input, find)
  if (previous == null) return readMessages(wireMessages(items))
  const stored = await find(previous)
  if (stored === undefined) throw notFound(previous, 'previous_response_id')
  const entry = handedBack(stored.messages, new Map(stored.ids))
  const open = new Map(stored.ids.map(([ours, id]) => [ours, nameOf(entry.turn.tool_calls, id)]))
  const read = readMessages(wireMessages(items), open)
  if (open.size === 0) return [...stored.messages, ...read]
  const results = resultsOf(entry, read.slice(0, open.size) as Result[])
  return [...entry.before, entry.turn, ...results, ...read.slice(open.size)]
}

const nameOf = (calls: Extract<Message, { role: 'assistant' }>['tool_calls'] = [], id: string): string =>
  calls.find((call) => call.id === id)?.function.name ?? ''

export function notFound(id: string, param: string): OpenAiError {
  const what = `Response '${id.slice(0, 200)}' not found: it may have expired, have been deleted, or be another caller's`
  return new OpenAiError(404, what, { param, code: 'response_not_found' })
}

/** The id of an item names its response. */
const ITEM = /^(?:msg|fc)_([0-9a-f]{32})_\d{1,6}$/

export const itemId = (kind: 'msg' | 'fc', response: string, index: number): string =>
  `${kind}_${response.slice('resp_'.length)}_${index}`

/** Replaces references by the items of earlier responses. */
async function dereferenced(items: readonly unknown[], find: Find): Promise<unknown[]> {
  const found = new Map<string, StoredResponse['response']['output']>()
  const lengths = new Map<unknown, number>()
  let characters = 0
  const count = (more: number): void => {
    characters += more
    if (found.size <= MAX_REFERENCED.responses && characters <= MAX_REFERENCED.characters) return
    throw invalid('input', 'input refers to too many earlier responses: use previous_response_id instead')
  }
  const whole: unknown[] = []
  for (const [index, item] of items.entries()) {
    const { type, id } = Object(item) as Wire
    if (type !== 'item_reference') {
      whole.push(item)
      continue
    }
    if (typeof id !== 'string') throw invalid(`input[${index}].id`, `input[${index}].id must be a string`)
    const response = `resp_${ITEM.exec(id)?.[1]}`
    if (!found.has(response)) {
      const { response: stored, size = 0 } = (await find(response)) ?? {}
      found.set(response, stored?.output ?? [])
      count(size)
    }
    const referenced = found.get(response)?.find((one) => one.id === id)
    if (referenced === undefined) throw notFound(id, `input[${index}]`)
    const length = lengths.get(id) ?? JSON.stringify(referenced).length
    lengths.set(id, length)
    count(length)
    whole.push(referenced)
  }
  return whole
}

interface WireMessage extends Wire {
  readonly tool_calls?: unknown[]
}

/** The items as messages of chat completions, each with its place. */
function wireMessages(items: readonly unknown[]): (readonly [string, unknown])[] {
  const messages: [string, WireMessage][] = []
  for (const [index, item] of items.entries()) {
    const place = `input[${index}]`
    if (!isObject(item)) throw invalid(place, `${place} must be an object`)
    const last = messages.at(-1)?.[1]
    switch (item.type ?? 'message') {
      case 'message':
        messages.push([place, { role: item.role, content: wireContent(item.content, place) }])
        break
      case 'function_call': {
        const { call_id: id, name: named, namespace, arguments: text } = item
        const isNested = typeof named === 'string' && typeof namespace === 'string'
        const name = isNested ? offeredName(named, namespace) : named
        const call = { id, type: 'function', function: { name, arguments: text } }
        // All calls of a turn, and the text before them, are one message.
        if (last?.tool_calls !== undefined) last.tool_calls.push(call)
        else if (last?.role === 'assistant') messages[messages.length - 1] = [place, { ...last, tool_calls: [call] }]
        else messages.push([place, { role: 'assistant', tool_calls: [call] }])
        break
      }
      case 'function_call_output': {
        const content = wireContent(item.output, `${place}.output`)
        messages.push([place, { role: 'tool', tool_call_id: item.call_id, content }])
        break
      }
      case 'reasoning':
        break
      default: {
        const known = 'use message, function_call, function_call_output or item_reference'
        throw invalid(place, `${place}: items of type ${quoted(item.type)} are not supported: ${known}`)
      }
    }
  }
  return messages
}

/** The parts in the names of chat completions. */
function wireContent(content: unknown, place: string): unknown {
  if (!Array.isArray(content)) return content
  return content.map((part: unknown, n) => {
    const { type, text, refusal, image_url, file_data, filename, input_audio } = Object(part) as Wire
    if (type === 'input_text' || type === 'output_text') return { type: 'text', text }
    if (type === 'refusal') return { type: 'text', text: refusal }
    if (type === 'input_image') return { type: 'image_url', image_url: { url: image_url } }
    if (type === 'input_file') return { type: 'file', file: { file_data, filename } }
    if (type === 'input_audio') return { type, input_audio }
    throw invalid(`${place}.content[${n}]`, `${place}: parts of type ${quoted(type)} are not supported`)
  })
}
