import { type ConvertSchema, jsonSchemaOf } from '../schema/json-schema-of.ts'
import type { ToolDefinition } from '../tool.ts'

/** A LangChain tool. Structural, to work with any version of LangChain. */
export interface LangchainTool {
  readonly name?: string | undefined
  /** The name if `name` is missing, otherwise an alias. */
  readonly lc_name?: unknown
  readonly description?: string | undefined
  readonly schema: unknown
  /** `toolyard` holds further keys of a definition: `effect`, `timeout_ms`, `permissions` and so on. */
  readonly metadata?: unknown
  readonly responseFormat?: unknown
  /** Absent, unlike in a ToolDefinition. */
  readonly implementation?: undefined
  readonly parameters?: undefined
  invoke(args: never, options: never): unknown
}

export type RegisteredTool = ToolDefinition | LangchainTool

/** A LangChain tool as a definition. */
export interface ToolView extends ToolDefinition {
  readonly source: LangchainTool
}

const NO_SCHEMA = Object.freeze({})

let views = 0

/** The definition of a tool, unchecked. LangChain tools are converted. */
export function toolView(tool: RegisteredTool, convert?: ConvertSchema): ToolDefinition {
  if (!isLangchainTool(tool)) return tool
  const name = isText(tool.name) ? tool.name : (langchainName(tool) ?? '')
  const { toolyard } = Object(tool.metadata) as { toolyard?: object }
  const view: ToolView = {
    ...toolyard,
    name,
    description: isAdapted(tool) && !isText(tool.description) ? `The tool ${name}.` : (tool.description ?? ''),
    parameters: jsonSchemaOf(tool.schema, convert) ?? NO_SCHEMA,
    // The number makes cache keys of tools differ that differ only in code.
    implementation: { type: 'langchain', view: ++views },
    source: tool,
  }
  return view
}

/** The LangChain tool behind a definition, if there is one. */
export function sourceOf(tool: ToolDefinition): LangchainTool | undefined {
  const { source } = tool as Partial<ToolView>
  return typeof source?.invoke === 'function' ? source : undefined
}

export function langchainName(tool: object): string | undefined {
  const name = 'lc_name' in tool ? tool.lc_name : undefined
  return isText(name) ? name : undefined
}

/**
 * Whether `@langchain/mcp-adapters` created the tool. Only its tools combine server annotations in `metadata`, content
 * with artifacts, and plain JSON Schema.
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
