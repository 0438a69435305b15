import { ProtocolError, ProtocolErrorCode, type Tool } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'
import type { CallContext } from '../../core/call-context.ts'
import { missingPermission, NO_FLAGS } from '../../core/permit.ts'
import type { Effect, JsonSchema, ToolDefinition } from '../../core/tool.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'

/** A tool as clients see it, and the same as text, which is written once. */
interface ListedTool {
  readonly tool: Tool
  readonly json: string
}

/** What the effect of a tool says in the protocol's words. */
const HINTS: Readonly<Record<Effect, Tool['annotations']>> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  idempotent: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  write: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
}

const ANYTHING = { type: 'object' } as const

/** Writes a tool down for clients: nothing of how it is implemented. */
function listedTool(definition: ToolDefinition, effect: Effect | undefined, broken: boolean): ListedTool {
  const { name, description, parameters } = definition
  const tool: Tool = {
    name,
    description,
    inputSchema: broken || !isPlain(parameters) ? ANYTHING : (parameters as Tool['inputSchema']),
    ...(effect !== undefined && { annotations: HINTS[effect] }),
  }
  return { tool, json: JSON.stringify(tool) }
}

/** Clients refuse a whole list for one schema that is not of this form. The executor goes by the true one. */
function isPlain({ $schema, properties, required }: JsonSchema): boolean {
  const isText = (value: unknown): boolean => typeof value === 'string'
  return (
    ($schema === undefined || isText($schema)) &&
    (properties === undefined ||
      (typeof properties === 'object' && properties !== null && !Array.isArray(properties))) &&
    (required === undefined || (Array.isArray(required) && required.every(isText)))
  )
}

/** One page of the list of tools; `json` is the same as text. */
export interface ToolPage {
  readonly tools: readonly Tool[]
  readonly nextCursor?: string
  readonly json: string
}

export const PAGE_SIZE = 100
const MOST_LISTS = 100
const CURSOR_PREFIX = 'after:'

/** What one caller may see, in the order of names, and the pages of it that were asked for. */
interface ToolList {
  readonly names: readonly string[]
  readonly tools: readonly ListedTool[]
  readonly pages: Map<number, ToolPage>
}

/**
 * The tools that each caller may see, in pages. A cursor holds the last name of its page, and the order is that of
 * names: a list that changes between two pages neither repeats nor leaves out a tool that stayed. Lists are made once
 * per version of the registry and set of rights.
 */
export class ToolPages {
  readonly #registry: ToolRegistry
  readonly #effectOf: (tool: ToolDefinition) => Effect | undefined
  readonly #lists = new LRUCache<string, ToolList>({ max: MOST_LISTS })
  readonly #listed = new WeakMap<ToolDefinition, ListedTool>()
  readonly #keys = new WeakMap<object, string>()
  #version = -1

  constructor(registry: ToolRegistry, effectOf: (tool: ToolDefinition) => Effect | undefined) {
    this.#registry = registry
    this.#effectOf = effectOf
  }

  /** Throws the protocol's error for a cursor that is none of ours. */
  page(context: CallContext, cursor?: string): ToolPage {
    const list = this.#list(context)
    const start = cursor === undefined ? 0 : firstAfter(list.names, readCursor(cursor))
    const known = list.pages.get(start)
    if (known !== undefined) return known
    const page = pageOf(list, start)
    list.pages.set(start, page)
    return page
  }

  /** Whether clients must repeat some of the tool's parameters in the headers of a request. */
  usesHeaders(definition: ToolDefinition): boolean {
    return this.#listedTool(definition).json.includes('"x-mcp-header"')
  }

  #list(context: CallContext): ToolList {
    if (this.#version !== this.#registry.version) {
      this.#lists.clear()
      this.#version = this.#registry.version
    }
    const key = this.#keyOf(context)
    const known = this.#lists.get(key)
    if (known !== undefined) return known
    const { flags = NO_FLAGS, visible } = context
    const permitted = this.#registry
      .definitions()
      .filter((tool) => visible?.has(tool.name) !== false && missingPermission(tool, flags) === undefined)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    const list: ToolList = {
      names: permitted.map((tool) => tool.name),
      tools: permitted.map((tool) => this.#listedTool(tool)),
      pages: new Map(),
    }
    this.#lists.set(key, list)
    return list
  }

  #listedTool(definition: ToolDefinition): ListedTool {
    const known = this.#listed.get(definition)
    if (known !== undefined) return known
    const broken = this.#registry.brokenReason(definition.name) !== undefined
    const listed = listedTool(definition, this.#effectOf(definition), broken)
    this.#listed.set(definition, listed)
    return listed
  }

  /** The same for callers with the same rights, whichever objects these came in. */
  #keyOf({ flags, visible }: CallContext): string {
    const rights = flags === undefined ? '' : this.#remember(flags, () => JSON.stringify(Object.entries(flags).sort()))
    const seen = visible === undefined ? '' : this.#remember(visible, () => JSON.stringify([...visible].sort()))
    return `${rights}\n${seen}`
  }

  #remember(object: object, write: () => string): string {
    const known = this.#keys.get(object)
    if (known !== undefined) return known
    const key = write()
    this.#keys.set(object, key)
    return key
  }
}

function pageOf({ names, tools }: ToolList, start: number): ToolPage {
  const end = start + PAGE_SIZE
  const shown = tools.slice(start, end)
  const next = end < names.length ? writeCursor(names[end - 1] as string) : undefined
  const json = `"tools":[${shown.map((one) => one.json).join(',')}]`
  return {
    tools: shown.map((one) => one.tool),
    ...(next !== undefined && { nextCursor: next }),
    json: next === undefined ? json : `${json},"nextCursor":"${next}"`,
  }
}

const firstAfter = (names: readonly string[], name: string): number => {
  const index = names.findIndex((one) => one > name)
  return index === -1 ? names.length : index
}

const writeCursor = (name: string): string => Buffer.from(CURSOR_PREFIX + name).toString('base64url')

function readCursor(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text.startsWith(CURSOR_PREFIX)) return text.slice(CURSOR_PREFIX.length)
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'The cursor is none that this server gave: start again without one',
  )
}
