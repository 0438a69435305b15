import { shortened } from '../core/schema/problem-words.ts'
import {
  hasSignature,
  type MediaKind,
  type MediaPart,
  mediaKind,
  mediaText,
  splitMedia,
  type ToolResult,
} from '../core/tool-result.ts'
import type { AcceptedMedia, Content, Message, Model, Part } from './model.ts'

/** 5 MB, in base64. */
export const MAX_MEDIA_CHARACTERS = Math.ceil((5 * 1024 * 1024 * 4) / 3)
/** Per message. */
const MAX_MEDIA = 20

/** The media that the API of a provider takes. */
export interface ApiMedia extends AcceptedMedia {
  /** Assumed of models whose capabilities name no input. */
  readonly assumed: readonly MediaKind[]
}

const INPUT = '-input'

/** The media that a model takes. Capabilities such as `image-input` decide; `text-input` alone means only text. */
export function acceptedMedia(
  api: ApiMedia | undefined,
  capabilities: readonly string[] = [],
): AcceptedMedia | undefined {
  const named = capabilities.filter((one) => one.endsWith(INPUT)).map((one) => one.slice(0, -INPUT.length))
  const kinds: readonly string[] = named.length > 0 ? named : (api?.assumed ?? [])
  const types = api?.types.filter((type) => kinds.includes(mediaKind(type))) ?? []
  return types.length === 0 ? undefined : { types, urls: api?.urls === true && kinds.includes('image') }
}

/** Whether a model takes a part. Links to anything but images are texts. */
export function takes(accepted: AcceptedMedia | undefined, part: MediaPart): boolean {
  if (part.data === undefined) return accepted?.urls === true && part.type === 'image'
  const fits = accepted?.types.includes(part.media_type) === true
  return fits && part.data.length <= MAX_MEDIA_CHARACTERS && hasSignature(part)
}

/** Why a model can't take a message; undefined if it can. `known` are the models that the caller may use. */
export function mediaProblem(
  content: Content | null,
  { id, accepts }: Model,
  known: () => readonly Model[],
): string | undefined {
  const part = mediaIn(content).find((one) => !takes(accepts, one))
  if (part === undefined) return undefined
  const able = known().filter((model) => takes(model.accepts, part))
  const hint =
    able.length === 0 ? 'None of your models does' : `Models that do: ${able.map((one) => one.id).join(', ')}`
  return `Model '${id}' does not take ${shortened(mediaText(part))}. ${shortened(hint)}`
}

/** What a model sees of a result: the envelope with a short text for each of its media, and the media that it takes. */
export function resultContent(result: ToolResult, accepted: AcceptedMedia | undefined): Content {
  const { result: whole } = result as { readonly result?: unknown }
  const { value, media } = splitMedia(whole)
  const text = JSON.stringify(value === whole ? result : { ...result, result: value })
  const taken = media.filter((part) => takes(accepted, part)).slice(0, MAX_MEDIA)
  return taken.length === 0 ? text : [{ type: 'text', text }, ...taken]
}

export const mediaIn = (content: Content | null): MediaPart[] =>
  content === null || typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text')

/** The texts without the media. */
export function textIn(content: Content | null): string {
  if (content === null || typeof content === 'string') return content ?? ''
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** The message with the media that a model takes; other media are short texts. */
export function fittingMessage(message: Message, accepted: AcceptedMedia | undefined): Message {
  const { role, content } = message
  if (content === null || typeof content === 'string') return message
  const parts = content.flatMap((part): Part[] => {
    if (part.type === 'text' || takes(accepted, part)) return [part]
    // The text of a result names its media.
    return role === 'tool' ? [] : [{ type: 'text', text: mediaText(part) }]
  })
  return { ...message, content: mediaIn(parts).length === 0 ? textIn(parts) : parts } as Message
}

/** A message whose media are short texts. */
export type TextMessage = Message & { readonly content: string | null }

export const textMessage = (message: Message): TextMessage => fittingMessage(message, undefined) as TextMessage
