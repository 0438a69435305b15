import type { Tool } from '@modelcontextprotocol/server'
import type { Effect, JsonSchema, ToolDefinition } from '../../core/tool.ts'

/** A tool as clients see it, and the same as text, which is written once. */
export interface ListedTool {
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
export function listedTool(definition: ToolDefinition, effect: Effect | undefined, broken: boolean): ListedTool {
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
