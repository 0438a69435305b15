import { hash } from 'node:crypto'
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

/** What a client calls one of its tools. */
export interface ClientName {
  readonly name: string
  readonly namespace?: string
}

/** The tools of a client, as a run takes them. */
export interface AskedTools {
  readonly run: Pick<AskedRun, 'client_tools' | 'allowed_tools' | 'tool_choice'>
  /** By the names that the model sees. */
  readonly names: ReadonlyMap<string, ClientName>
  /** Names the tools that no model here can call. */
  readonly warnings: readonly string[]
}

/** Reads the tools of the client, and whether the model may or must call one. */
export function readTools(given: Optional<readonly unknown[]>, choice: unknown, isFlat = false): AskedTools {
  const { length } = JSON.stringify(given ?? [])
  if (length > MAX_TOOLS_CHARACTERS) {
    throw invalid('tools', `tools must have at most ${MAX_TOOLS_CHARACTERS} characters together, not ${length}`)
  }
  const names = new Map<string, ClientName>()
  const warnings: string[] = []
  const client_tools: OfferedTool[] = []
  for (const { tool, place, namespace } of flattened(given ?? [], isFlat)) {
    const { type } = Object(tool) as Wire
    if (typeof type !== 'string') throw invalid(place, `${place}.type must be "function"`)
    if (type !== 'function') {
      warnings.push(leftOut(tool as Wire, place))
      continue
    }
    const read = readTool(tool, place, isFlat)
    const name = offeredName(read.name, namespace)
    names.set(name, { name: read.name, ...(namespace !== undefined && { namespace }) })
    client_tools.push({ ...read, name })
  }
  if (client_tools.length > MAX_TOOLS) {
    throw invalid(
      'tools',
      `tools must be at most ${MAX_TOOLS}, those of namespaces included, not ${client_tools.length}`,
    )
  }
  const answer = (run: AskedTools['run']): AskedTools => ({ run, names, warnings: summedUp(warnings) })
  if (choice === 'none') return { ...answer({ allowed_tools: NO_TOOLS }), names: new Map() }
  if (choice === undefined || choice === null || choice === 'auto') return answer({ client_tools })
  if (choice === 'required') return answer({ client_tools, tool_choice: choice })
  const { type, function: called, namespace } = Object(choice) as Wire
  const { name: named } = Object(isFlat ? choice : called) as Wire
  if (type === 'function' && typeof named === 'string') {
    const name = offeredName(named, isFlat && typeof namespace === 'string' ? namespace : undefined)
    return answer({ client_tools, tool_choice: { name } })
  }
  const what = typeof choice === 'string' ? `"${shortened(choice)}"` : `of type ${quoted(type)}`
  const known = 'use "auto", "none", "required" or a function'
  throw invalid('tool_choice', `tool_choice ${what} is not supported: ${known}`, 'unsupported_value')
}

interface PlacedTool {
  readonly tool: unknown
  readonly place: string
  readonly namespace?: string
}

/** The tools with those of namespaces in place of the namespaces. Only `/v1/responses` has them. */
function* flattened(given: readonly unknown[], isFlat: boolean): Generator<PlacedTool> {
  for (const [index, tool] of given.entries()) {
    const place = `tools[${index}]`
    const { type, name, tools } = Object(tool) as Wire
    if (!isFlat || type !== 'namespace') {
      yield { tool, place }
      continue
    }
    if (typeof name !== 'string' || !NAME.test(name)) {
      throw invalid(`${place}.name`, `${place}.name must be 1 to 64 letters, digits, _ or -`)
    }
    if (!Array.isArray(tools)) throw invalid(`${place}.tools`, `${place}.tools must be an array of functions`)
    for (const [n, inside] of tools.entries()) yield { tool: inside, place: `${place}.tools[${n}]`, namespace: name }
  }
}

/** The name that the model sees. It depends on this one tool only, so that it stays the same in later requests. */
export function offeredName(name: string, namespace: string | undefined): string {
  if (namespace === undefined) return name
  const whole = `${namespace}${namespace.endsWith('_') ? '' : '__'}${name}`
  if (whole.length <= MAX_NAME) return whole
  return `${whole.slice(0, MAX_NAME - HASH_LENGTH - 1)}_${hash('sha256', whole).slice(0, HASH_LENGTH)}`
}

function leftOut({ type, name }: Wire, place: string): string {
  const what = typeof name === 'string' ? ` ${quoted(name)}` : ''
  return `${place}${what} was left out: tools of type ${quoted(type)} are not supported, only functions`
}

/** Each request may bring many. */
function summedUp(warnings: readonly string[]): readonly string[] {
  const more = warnings.length - MAX_WARNINGS
  return more <= 0 ? warnings : [...warnings.slice(0, MAX_WARNINGS), `${more} more tools were left out`]
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
  const { length } = JSON.stringify(schema ?? {})
  if (length > MAX_FORMAT_CHARACTERS) {
    throw invalid(place, `${place}: the schema must have at most ${MAX_FORMAT_CHARACTERS} characters, not ${length}`)
  }
  if (!isObject(schema)) throw invalid(place, `${place} must have a schema: the JSON Schema of an object`)
  return { schema: readSchema(schema, place) }
}

/** It is compiled for every request. */
const MAX_FORMAT_CHARACTERS = 32_768
const ANY_OBJECT: ReadSchema = { schema: { type: 'object' } }

/** Throws an `OpenAiError` if answers can't be checked against the schema. */
export async function requireFormat({ output }: AskedRun, place: string): Promise<void> {
  try {
    if (output !== undefined) await requireCheckable(output, place)
  } catch (error) {
    throw invalid(place, (error as Error).message)
  }
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
/** Providers allow no longer names. */
const MAX_NAME = 64
const HASH_LENGTH = 8
const MAX_TOOLS = 1_024
const MAX_WARNINGS = 20
/** They are checked and compiled for every request, before anything else happens. */
const MAX_TOOLS_CHARACTERS = 262_144
const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} }

/** `/v1/responses` has the fields of the function beside its type. */
function readTool(tool: unknown, place: string, isFlat: boolean): OfferedTool {
  const { function: nested } = Object(tool) as Wire
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
  if (data !== undefined) {
    return typeof format === 'string' ? readMedia({ type: 'audio', media_type: `audio/${format}`, data }) : undefined
  }
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
