import type { Tool } from '@modelcontextprotocol/client'
import type { JsonSchema, ToolDefinition } from '../../core/tool.ts'
import { cleanText } from '../stdio/clean-text.ts'

/** A tool as a server lists it, held to what we need of it; nothing else of it is trusted. */
export interface ServerTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly readOnly: boolean
  readonly idempotent: boolean
  /** The very object that the server sent, for the SDK. */
  readonly raw: Tool
}

const NAME = /^[\p{L}\p{N}_.:/-]{1,128}$/u
const LONGEST_DESCRIPTION = 8_192

/** Reads one entry of a list; gives a sentence where it cannot be a tool. */
export function serverTool(entry: unknown, server: string): ServerTool | string {
  const { name, title, description, inputSchema, annotations } = Object(entry) as Record<string, unknown>
  if (typeof name !== 'string' || !NAME.test(name)) {
    return `A tool of MCP server '${server}' has no usable name: ${cleanText(String(name)).slice(0, 100)}`
  }
  if (!isObject(inputSchema) || (inputSchema.type ?? 'object') !== 'object') {
    return `Tool '${name}' of MCP server '${server}' has no object schema`
  }
  const { readOnlyHint, idempotentHint } = Object(annotations) as Record<string, unknown>
  const words = [description, title].find((text) => typeof text === 'string' && text.trim() !== '')
  return {
    name,
    description: bounded(cleanText((words as string | undefined) ?? `The tool ${name} of ${server}.`)),
    inputSchema: inputSchema.type === 'object' ? inputSchema : { ...inputSchema, type: 'object' },
    readOnly: readOnlyHint === true,
    idempotent: idempotentHint === true,
    raw: entry as Tool,
  }
}

/** The tool as a definition of ours, under the name that is free for it. */
export function definitionOf(tool: ServerTool, server: string, name: string): ToolDefinition {
  const { description, inputSchema: parameters, readOnly, idempotent } = tool
  const effect = readOnly ? 'read' : idempotent ? 'idempotent' : 'write'
  return {
    name,
    description,
    parameters,
    effect,
    // A call that was lost with its server is made again where that cannot do harm.
    ...(effect !== 'write' && { retry: { max_attempts: 2, backoff_ms: 0 } }),
    implementation: { type: 'mcp', server, tool: tool.name, returns: 'mcp_content' },
  }
}

const bounded = (text: string): string =>
  text.length > LONGEST_DESCRIPTION ? `${text.slice(0, LONGEST_DESCRIPTION)}…` : text

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
