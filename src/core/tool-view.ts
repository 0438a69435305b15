import { type ConvertSchema, jsonSchemaOf } from './schema/json-schema-of.ts'
import type { ToolDefinition } from './tool.ts'

/** A tool as LangChain makes them. It names none of LangChain's types, so that any version of it fits. */
export interface LangchainTool {
  readonly name?: string | undefined
  /** Its name where it has no other; else one more to find it by. */
  readonly lc_name?: unknown
  readonly description?: string | undefined
  /** JSON Schema, or a schema of Zod. */
  readonly schema: unknown
  /** `toolyard` holds what a definition of ours may say besides: `effect`, `timeout_ms`, `permissions` and so on. */
  readonly metadata?: unknown
  readonly responseFormat?: unknown
  /** What tells it from a definition of ours. */
  readonly implementation?: undefined
  readonly parameters?: undefined
  invoke(args: never, options: never): unknown
}

/** What the registry takes, and hands out again. */
export type RegisteredTool = ToolDefinition | LangchainTool

/** A LangChain tool as everybody sees it who goes by definitions; `source` is the tool itself. */
export interface ToolView extends ToolDefinition {
  readonly source: LangchainTool
}

/** What the registry refuses. */
const NO_SCHEMA = Object.freeze({})

let views = 0

/** A tool as a definition: ours are that already. Nothing is checked here. */
export function toolView(tool: RegisteredTool, convert?: ConvertSchema): ToolDefinition {
  if (!isLangchainTool(tool)) return tool
  const name = isText(tool.name) ? tool.name : (langchainName(tool) ?? '')
  const { toolyard } = Object(tool.metadata) as { toolyard?: object }
  const view: ToolView = {
    ...toolyard,
    name,
    description: isAdapted(tool) && !isText(tool.description) ? `The tool ${name}.` : (tool.description ?? ''),
    parameters: jsonSchemaOf(tool.schema, convert) ?? NO_SCHEMA,
    // The number tells tools apart that differ in code only, of which a cached result must know.
    implementation: { type: 'langchain', view: ++views },
    source: tool,
  }
  return view
}

/** The LangChain tool behind a definition; undefined where there is none. */
export function sourceOf(tool: ToolDefinition): LangchainTool | undefined {
  const { source } = tool as Partial<ToolView>
  return typeof source?.invoke === 'function' ? source : undefined
}

/** The `lc_name` of a tool that has one. */
export function langchainName(tool: object): string | undefined {
  const name = 'lc_name' in tool ? tool.lc_name : undefined
  return isText(name) ? name : undefined
}

/**
 * Whether `@langchain/mcp-adapters` made the tool. It marks none, but all of its tools have these three together: the
 * server's annotations in `metadata`, even where there are none; content with artifacts; and a plain JSON Schema.
 */
export function isAdapted({ metadata, responseFormat, schema }: LangchainTool): boolean {
  if (responseFormat !== 'content_and_artifact') return false
  return Object.hasOwn(Object(metadata), 'annotations') && !('~standard' in Object(schema))
}

export const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

function isLangchainTool(tool: RegisteredTool): tool is LangchainTool {
  const { implementation, invoke } = Object(tool) as Partial<ToolDefinition & LangchainTool>
  return implementation === undefined && typeof invoke === 'function'
}
