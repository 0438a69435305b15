import { requireCheckable } from '../../chat/run-output.ts'
import { guardSchema } from '../../core/schema/guard-schema.ts'
import type { ReadSchema } from '../../core/schema/json-schema-of.ts'
import { quoted, shortened } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { RefusedSchemaError } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { hasSignature, type MediaPart, mediaFromUrl, readMedia } from '../../core/tool-result.ts'
import { MAX_MEDIA_CHARACTERS, mediaIn, mediaProblem, textIn } from '../../models/content.ts'
import type { Content, Message, Model, OfferedTool, Part } from '../../models/model.ts'
import { invalid } from './openai-error.ts'

export type Wire = Readonly<Record<string, unknown>>

export type Optional<Value> = Value | null | undefined

/** The part of a run that both APIs set. */
export interface AskedRun {
  readonly max_tokens?: number | undefined
  readonly temperature?: number | undefined
  readonly client_tools?: readonly OfferedTool[]
  readonly allowed_tools?: readonly string[]
  readonly tool_choice?: 'required' | { readonly name: string }
  readonly output?: ReadSchema
  readonly cache_key?: string
}

const NO_TOOLS: readonly string[] = Object.freeze([])

/** Reads the tools of the client, and whether the model may or must call one. */
export function readTools(
  given: Optional<readonly unknown[]>,
  choice: unknown,
  isFlat = false,
): Pick<AskedRun, 'client_tools' | 'allowed_tools' | 'tool_choice'> {
  const { length } = JSON.stringify(given ?? [])
  if (length > MAX_TOOLS_CHARACTERS) {
    throw invalid('tools', `tools must have at most ${MAX_TOOLS_CHARACTERS} characters together, not ${length}`)
  }
  const client_tools = (given ?? []).map((tool, index) => readTool(tool, `tools[${index}]`, isFlat))
  if (choice === 'none') return { allowed_tools: NO_TOOLS }
  if (choice === undefined || choice === null || choice === 'auto') return { client_tools }
  if (choice === 'required') return { client_tools, tool_choice: choice }
  const { type, function: called } = Object(choice) as Wire
  const { name: named } = Object(isFlat ? choice : called) as Wire
  if (type === 'function' && typeof named === 'string') return { client_tools, tool_choice: { name: named } }
  const what = typeof choice === 'string' ? `"${shortened(choice)}"` : `of type ${quoted(type)}`
  const known = 'use "auto", "none", "required" or a function'
  throw invalid('tool_choice', `tool_choice ${what} is not supported: ${known}`, 'unsupported_value')
}

/** Reads `response_format` or `text.format`; undefined for texts. */
export function readFormat(format: Optional<Wire>, place: string): ReadSchema | undefined {
  const type = format?.type ?? 'text'
  if (type === 'text') return undefined
  if (type === 'json_object') return ANY_OBJECT
  if (type !== 'json_schema') {
    const known = 'use "text", "json_object" or "json_schema"'
    throw invalid(place, `${place}.type ${quoted(type)} is not supported: ${known}`, 'unsupported_value')
  }
  // The two APIs have the schema at different places.
  const { schema } = Object(format?.json_schema ?? format) as Wire
  if (!isObject(schema)) throw invalid(place, `${place} must have a schema: the JSON Schema of an object`)
  return { schema: readSchema(schema, place) }
}

const ANY_OBJECT: ReadSchema = { schema: { type: 'object' } }

/** Throws an `OpenAiError` if answers can't be checked against the schema. */
export async function requireFormat({ output }: AskedRun, place: string): Promise<void> {
  try {
    if (output !== undefined) await requireCheckable(output)
  } catch (error) {
    throw invalid(place, `${place} cannot be used: ${(error as Error).message}`)
  }
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
/** They are checked and compiled for every request, before anything else happens. */
const MAX_TOOLS_CHARACTERS = 262_144
const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} }

/** `/v1/responses` has the fields of the function beside its type. */
function readTool(tool: unknown, place: string, isFlat: boolean): OfferedTool {
  const { type, function: nested } = Object(tool) as Wire
  if (type !== 'function') throw invalid(place, `${place}.type must be "function"`)
  const at = isFlat ? place : `${place}.function`
  const { name, description: told, parameters } = Object(isFlat ? tool : nested) as Wire
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw invalid(`${at}.name`, `${at}.name must be 1 to 64 letters, digits, _ or -`)
  }
  const description = told ?? ''
  if (typeof description !== 'string') {
    throw invalid(`${at}.description`, `${at}.description must be a string`)
  }
  return { name, description, parameters: readSchema(parameters, `${at}.parameters`) }
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

/** Reads a string or a list of text parts. */
export function readText(content: unknown, place: string): string {
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
export function readContent(content: unknown, place: string): Content {
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
export function requireMedia(
  messages: readonly Message[],
  model: Model,
  known: () => readonly Model[],
  place: string,
): void {
  for (const [at, { content }] of messages.entries()) {
    const problem = mediaProblem(content, model, known)
    if (problem !== undefined) throw invalid(`${place}[${at}].content`, problem, 'unsupported_value')
  }
}
