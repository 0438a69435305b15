import type { Client, Tool } from '@modelcontextprotocol/client'
import { foreignText } from '../../core/json/json-depth.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Effect, JsonSchema, ToolDefinition } from '../../core/tool.ts'
import { cleanText } from '../stdio/clean-text.ts'
import { TOO_DEEP } from '../stdio/message-reader.ts'

const MAX_PAGES = 64
const MAX_ENTRIES = 5_000

/** Accepts anything: with the SDK's schema, one bad entry would reject the whole list. */
const ANYTHING = {
  '~standard': { version: 1, vendor: 'toolyard', validate: (value: unknown) => ({ value }) },
} as const

type ListMethod = 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list'

/** `cut` is told if the server lists more than is read. */
export async function listAll(
  client: Client,
  method: ListMethod,
  key: string,
  signal: AbortSignal,
  cut?: (problem: string) => void,
): Promise<unknown[]> {
  const entries: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && entries.length < MAX_ENTRIES; page++) {
    const request = { method, params: cursor === undefined ? {} : { cursor } }
    const answer = (await client.request(request, ANYTHING, { signal })) as Record<string, unknown>
    const { [key]: more, nextCursor } = Object(answer) as Record<string, unknown>
    const listed: readonly unknown[] = Array.isArray(more) ? more : []
    const room = MAX_ENTRIES - entries.length
    entries.push(...listed.slice(0, room))
    if (listed.length > room) break
    if (typeof nextCursor !== 'string' || nextCursor === '') return entries
    cursor = nextCursor
  }
  cut?.(`The server lists more than ${MAX_ENTRIES} entries, or more than ${MAX_PAGES} pages: the rest was left out`)
  return entries
}

/** The checked parts of a listed tool. */
export interface ServerTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly readOnly: boolean
  readonly idempotent: boolean
  readonly raw: Tool
  /** How often a definition of it was approved, as a version; absent if its server isn't pinned. */
  readonly version?: string
}

const NAME = /^[\p{L}\p{N}_.:/-]{1,128}$/u
const MAX_DESCRIPTION = 8_192

/** Reads one entry of a list; returns the problem if it isn't a tool. */
export function serverTool(entry: unknown, server: string): ServerTool | string {
  const {
    name,
    title,
    description,
    inputSchema,
    annotations,
    [TOO_DEEP]: deep,
  } = Object(entry) as Record<string, unknown>
  if (deep !== undefined) return `Tool ${quoted(deep)} of MCP server '${server}' is nested too deeply`
  if (typeof name !== 'string' || !NAME.test(name)) {
    return `A tool of MCP server '${server}' has no usable name: ${cleanText(foreignText(name)).slice(0, 100)}`
  }
  if (!isObject(inputSchema) || (inputSchema.type ?? 'object') !== 'object') {
    return `Tool '${name}' of MCP server '${server}' has no object schema`
  }
  const { readOnlyHint, idempotentHint } = Object(annotations) as Record<string, unknown>
  const text = [description, title].find((one) => typeof one === 'string' && one.trim() !== '')
  return {
    name,
    description: bounded(cleanText((text as string | undefined) ?? `The tool ${name} of ${server}.`)),
    inputSchema: { ...(cleanSchema(inputSchema) as JsonSchema), type: 'object' },
    readOnly: readOnlyHint === true,
    idempotent: idempotentHint === true,
    raw: entry as Tool,
  }
}

/** Their texts have a meaning of their own. */
const EXACT = new Set(['pattern', '$ref', '$id', '$anchor', '$dynamicRef', '$dynamicAnchor'])

/** A schema whose titles, descriptions, defaults, examples and choices have nothing that a terminal would act on. */
function cleanSchema(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(cleanSchema)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      EXACT.has(key) && typeof item === 'string' ? item : cleanSchema(item),
    ]),
  )
}

/** The effect that the server claims. */
export const effectOf = ({ readOnly, idempotent }: ServerTool): Effect =>
  readOnly ? 'read' : idempotent ? 'idempotent' : 'write'

/** The definition of a server's tool, under its name in the registry. */
export function definitionOf(tool: ServerTool, server: string, name: string): ToolDefinition {
  const { description, inputSchema: parameters, version } = tool
  const effect = effectOf(tool)
  return {
    name,
    description,
    parameters,
    ...(version !== undefined && { version }),
    effect,
    // Retries calls that were lost with their server, unless they may write.
    ...(effect !== 'write' && { retry: { max_attempts: 2, backoff_ms: 0 } }),
    implementation: { type: 'mcp', server, tool: tool.name, returns: 'mcp_content' },
  }
}

const bounded = (text: string): string => (text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION)}…` : text)

/** Marks a parameter that a server over HTTP expects in a header as well. */
const MARK = 'x-mcp-header'
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const MIRRORED_TYPES: readonly unknown[] = ['string', 'integer', 'boolean']
/** Keywords that hold schemas by name, and those that hold one schema or a list. */
const BY_NAME = ['$defs', 'definitions', 'patternProperties', 'dependentSchemas']
const NESTED = [
  ...['items', 'prefixItems', 'additionalItems', 'contains', 'additionalProperties', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
]

interface Place {
  readonly schema: unknown
  readonly path: string
  /** Whether it is a parameter or a property of one: only those have a single value to send. */
  readonly isParameter: boolean
}

/**
 * Why the marked parameters of a tool can't be sent in headers. From 2026-07-28 on a client over HTTP must leave out
 * such a tool.
 */
export function mirroringProblem(parameters: JsonSchema): string | undefined {
  const names = new Set<string>()
  const places: Place[] = [{ schema: parameters, path: '', isParameter: false }]
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { schema, path } = place
    if (typeof schema !== 'object' || schema === null) continue
    if (Object.hasOwn(schema, MARK)) {
      const problem = markProblem(place, names)
      if (problem !== undefined) return `${MARK} of ${path || 'the schema'} ${problem}`
    }
    places.push(...placesBelow(place))
  }
  return undefined
}

function markProblem({ schema, isParameter }: Place, names: Set<string>): string | undefined {
  const { [MARK]: name, type } = schema as Record<string, unknown>
  if (!isParameter) return 'does not belong to a parameter'
  if (typeof name !== 'string' || !HEADER_NAME.test(name)) return 'is not a valid header name'
  if (!MIRRORED_TYPES.includes(type)) return 'belongs to a type that a header cannot hold'
  if (names.has(name.toLowerCase())) return 'is used by another parameter'
  names.add(name.toLowerCase())
  return undefined
}

function placesBelow({ schema, path, isParameter }: Place): Place[] {
  const holder = schema as Record<string, unknown>
  const named = (key: string, isReached: boolean): Place[] =>
    Object.entries(Object(holder[key])).map(([name, one]) => ({
      schema: one,
      path: path === '' ? name : `${path}.${name}`,
      isParameter: isReached,
    }))
  return [
    ...named('properties', path === '' || isParameter),
    ...BY_NAME.flatMap((key) => named(key, false)),
    ...NESTED.flatMap((key) =>
      [holder[key]].flat().map((one) => ({ schema: one, path: `${path}<${key}>`, isParameter: false })),
    ),
  ]
}
