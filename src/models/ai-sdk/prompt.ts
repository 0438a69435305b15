import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { LIMITS } from '../../core/snapshot.ts'
import type { MediaKind, MediaPart } from '../../core/tool-result.ts'
import { type ApiMedia, mediaIn, textIn } from '../content.ts'
import type { AssistantMessage, Message, Metadata, Part, ToolCall } from '../model.ts'
import { readObject } from '../read-json.ts'

/** Provider metadata to send back with a part, such as signatures. */
export type PartOptions = SharedV4ProviderOptions

/**
 * A part of a response, in order: providers sign parts and expect the signatures at the same place. The text is in the
 * message, so only its length is stored.
 */
export type StoredPart =
  | { readonly type: 'reasoning'; readonly text: string; readonly options?: PartOptions }
  | { readonly type: 'text'; readonly length: number; readonly options?: PartOptions }
  | { readonly type: 'call'; readonly id: string }

/** The metadata of a message with these parts; undefined if the message alone is enough. */
export function partsMetadata(parts: readonly StoredPart[]): Metadata | undefined {
  const worthIt = parts.some((part) => part.type === 'reasoning' || (part.type === 'text' && part.options))
  return worthIt ? { parts } : undefined
}

/** Reads the parts of a message, which may come from a store or another model. */
function storedParts(metadata: Metadata | undefined): StoredPart[] {
  const parts = metadata?.parts
  return Array.isArray(parts) ? parts.filter(isStoredPart) : []
}

/** Provider metadata of a call, without our own (`recovered`). */
function promptCallOptions(metadata: Metadata | undefined): PartOptions | undefined {
  const stored = Object.entries(metadata ?? {}).filter(([, value]) => isObject(value))
  return stored.length > 0 ? (Object.fromEntries(stored) as PartOptions) : undefined
}

function isStoredPart(part: unknown): part is StoredPart {
  if (!isObject(part) || !(part.options === undefined || isObject(part.options))) return false
  if (part.type === 'reasoning') return typeof part.text === 'string'
  return part.type === 'text' ? typeof part.length === 'number' : part.type === 'call' && typeof part.id === 'string'
}

/** Differences between providers. */
export interface Manner {
  /** Whether failed results are marked as errors. */
  readonly marksFailures: boolean
  /** Whether system messages may follow others; otherwise they are sent as user messages. */
  readonly systemAnywhere: boolean
  readonly media?: ProviderMedia | undefined
}

export interface ProviderMedia extends ApiMedia {
  /** What the API takes inside results; other media of a result follow as a user message. */
  readonly inResults: readonly MediaKind[]
}

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
const AUDIO = ['audio/wav', 'audio/mpeg'] as const
const PDF = 'application/pdf'
/** Models without images are rare at these providers, models without audio or PDF aren't. */
const assumed: readonly MediaKind[] = ['image']
const inResults: readonly MediaKind[] = ['image', 'file']

/** By the start of the provider's name in the AI SDK. */
export const PROVIDER_MEDIA = {
  'openai.responses': { types: [...IMAGES, PDF], urls: true, assumed, inResults },
  'openai.chat': { types: [...IMAGES, ...AUDIO, PDF], urls: true, assumed, inResults: [] },
  anthropic: { types: [...IMAGES, PDF], urls: true, assumed, inResults },
  google: { types: ['image/png', 'image/jpeg', 'image/webp', ...AUDIO, PDF], urls: false, assumed, inResults },
} as const satisfies Record<string, ProviderMedia>

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ToolPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]
type UserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]
type ResultMessage = Extract<Message, { role: 'tool' }>

/** Converts messages to a prompt, merging consecutive messages of one side. */
export function toPrompt(messages: readonly Message[], manner: Manner): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = []
  const media: UserPart[] = []
  for (const message of messages) {
    if (message.role !== 'tool') addUserParts(prompt, media.splice(0))
    const last = prompt.at(-1)
    if (message.role === 'assistant') {
      const content = assistantParts(message)
      // Most providers reject a turn that has only reasoning.
      if (content.some(({ type }) => type !== 'reasoning')) prompt.push({ role: 'assistant', content })
    } else if (message.role === 'tool') {
      const part = resultPart(message, manner)
      if (last?.role === 'tool') last.content.push(part)
      else prompt.push({ role: 'tool', content: [part] })
      media.push(...mediaBeside(message, manner))
    } else if (message.role === 'system' && (manner.systemAnywhere || (last?.role ?? 'system') === 'system')) {
      prompt.push({ role: 'system', content: message.content })
    } else {
      const { content } = message
      addUserParts(prompt, typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(userPart))
    }
  }
  addUserParts(prompt, media)
  return prompt
}

function addUserParts(prompt: LanguageModelV4Prompt, parts: UserPart[]): void {
  const last = prompt.at(-1)
  if (parts.length === 0) return
  if (last?.role === 'user') last.content.push(...parts)
  else prompt.push({ role: 'user', content: parts })
}

const userPart = (part: Part): UserPart => (part.type === 'text' ? { ...part } : filePart(part))

const filePart = ({ media_type, data, url, name }: MediaPart): LanguageModelV4FilePart => ({
  type: 'file',
  mediaType: media_type,
  data: data === undefined ? { type: 'url', url: new URL(url) } : { type: 'data', data },
  ...(name !== undefined && { filename: name }),
})

const fitsInResult = ({ type }: MediaPart, { media }: Manner): boolean => media?.inResults.includes(type) === true

function mediaBeside(message: ResultMessage, manner: Manner): UserPart[] {
  const media = mediaIn(message.content).filter((part) => !fitsInResult(part, manner))
  if (media.length === 0) return []
  return [{ type: 'text', text: `Media of the result of ${message.name}:` }, ...media.map(filePart)]
}

function assistantParts({ content, tool_calls: calls = [], metadata }: AssistantMessage): AssistantPart[] {
  const parts: AssistantPart[] = []
  const stored = storedParts(metadata)
  const text = content ?? ''
  const asItCame = stored.reduce((sum, part) => sum + lengthOf(part), 0) === text.length
  if (!asItCame && text !== '') parts.push({ type: 'text', text })
  const left = new Map(calls.map((call) => [call.id, call]))
  let at = 0
  for (const part of stored) {
    const call = part.type === 'call' ? left.get(part.id) : undefined
    if (call !== undefined && left.delete(call.id)) parts.push(callPart(call))
    else if (part.type === 'reasoning') parts.push({ type: 'reasoning', text: part.text, ...optionsOf(part) })
    else if (part.type === 'text' && asItCame && (part.length > 0 || part.options)) {
      parts.push({ type: 'text', text: text.slice(at, at + part.length), ...optionsOf(part) })
    }
    at += lengthOf(part)
  }
  parts.push(...[...left.values()].map(callPart))
  return parts
}

const lengthOf = (part: StoredPart): number => (part.type === 'text' ? part.length : 0)

const optionsOf = ({ options }: Exclude<StoredPart, { type: 'call' }>) => options && { providerOptions: options }

function callPart({ id, function: { name, arguments: text }, metadata }: ToolCall): AssistantPart {
  const options = promptCallOptions(metadata)
  return {
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    // Providers only accept objects. The model still sees its own text.
    input: readObject(text, LIMITS.answerDepth) ?? { raw_arguments: text },
    ...(options && { providerOptions: options }),
  }
}

function resultPart(message: ResultMessage, manner: Manner): ToolPart {
  const part = { type: 'tool-result', toolCallId: message.tool_call_id, toolName: message.name } as const
  const text = textIn(message.content)
  const media = mediaIn(message.content).filter((one) => fitsInResult(one, manner))
  if (media.length > 0) {
    return { ...part, output: { type: 'content', value: [{ type: 'text', text }, ...media.map(filePart)] } }
  }
  const envelope = readObject(text, LIMITS.answerDepth) as Record<string, JSONValue> | undefined
  if (envelope === undefined) return { ...part, output: { type: 'text', value: text } }
  const failed = manner.marksFailures && envelope.success === false
  return { ...part, output: { type: failed ? 'error-json' : 'json', value: envelope } }
}
