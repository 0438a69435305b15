import { ProtocolError, ProtocolErrorCode, type Tool } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'
import type { CallContext } from '../../core/call-context.ts'
import { missingPermission, NO_FLAGS } from '../../core/execution/permit.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Effect, JsonSchema, ToolDefinition } from '../../core/tool.ts'

/** The protocol's annotations for each effect. */
const HINTS: Readonly<Record<Effect, Tool['annotations']>> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  idempotent: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  write: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
}

const ANYTHING = { type: 'object' } as const

function listedTool(definition: ToolDefinition, effect: Effect | undefined, broken: boolean): Tool {
  const { name, description, parameters } = definition
  return {
    name,
    description,
    inputSchema: broken || !isPlain(parameters) ? ANYTHING : (parameters as Tool['inputSchema']),
    ...(effect !== undefined && { annotations: HINTS[effect] }),
  }
}

/** Clients reject a whole list for one schema of another form. The executor uses the original schema. */
function isPlain({ $schema, properties, required }: JsonSchema): boolean {
  const isText = (value: unknown): boolean => typeof value === 'string'
  return (
    ($schema === undefined || isText($schema)) &&
    (properties === undefined || isObject(properties)) &&
    (required === undefined || (Array.isArray(required) && required.every(isText)))
  )
}

export interface ToolPage {
  readonly tools: readonly Tool[]
  readonly nextCursor?: string
}

export const PAGE_SIZE = 100
const MAX_LISTS = 100
const CURSOR_PREFIX = 'after:'

/** The tools that a caller may see, sorted by name. */
interface ToolList {
  readonly names: readonly string[]
  readonly tools: readonly Tool[]
}

/**
 * The lists of tools, one per set of rights. A cursor is the last name of its page and names are sorted, so a list that
 * changes between two pages neither repeats nor skips a tool.
 */
export class ToolPages {
  readonly #registry: ToolRegistry
  readonly #effectOf: (tool: ToolDefinition) => Effect | undefined
  readonly #lists = new LRUCache<string, ToolList>({ max: MAX_LISTS })
  readonly #listed = new WeakMap<ToolDefinition, Tool>()
  #version = -1

  constructor(registry: ToolRegistry, effectOf: (tool: ToolDefinition) => Effect | undefined) {
    this.#registry = registry
    this.#effectOf = effectOf
  }

  /** Throws a protocol error if the cursor is invalid. */
  page(context: CallContext, cursor?: string): ToolPage {
    const list = this.#list(context)
    return pageOf(list, cursor === undefined ? 0 : firstAfter(list.names, readCursor(cursor)))
  }

  /** Whether clients must repeat some parameters in headers. */
  usesHeaders(definition: ToolDefinition): boolean {
    return JSON.stringify(this.#listedTool(definition)).includes('"x-mcp-header"')
  }

  #list(context: CallContext): ToolList {
    if (this.#version !== this.#registry.version) {
      this.#lists.clear()
      this.#version = this.#registry.version
    }
    const key = keyOf(context)
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
    }
    this.#lists.set(key, list)
    return list
  }

  #listedTool(definition: ToolDefinition): Tool {
    const known = this.#listed.get(definition)
    if (known !== undefined) return known
    const broken = this.#registry.brokenReason(definition.name) !== undefined
    const listed = listedTool(definition, this.#effectOf(definition), broken)
    this.#listed.set(definition, listed)
    return listed
  }
}

/** Equal for callers with the same rights. */
const keyOf = ({ flags, visible }: CallContext): string =>
  JSON.stringify([flags && Object.entries(flags).sort(), visible && [...visible].sort()])

function pageOf({ names, tools }: ToolList, start: number): ToolPage {
  const end = start + PAGE_SIZE
  const next = end < names.length ? writeCursor(names[end - 1] as string) : undefined
  return { tools: tools.slice(start, end), ...(next !== undefined && { nextCursor: next }) }
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
    'The cursor is not from this server: start again without one',
  )
}
