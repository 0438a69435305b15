import type { Effect, JsonSchema } from '../../core/tool.ts'

/** A tool as the page lists it: everything but its schema, because there may be thousands. */
export interface PageTool {
  readonly name: string
  readonly description: string
  readonly kind: string
  readonly effect: Effect
  /** Where it comes from: `configuration`, or the MCP server that brought it. */
  readonly origin: string
  /** What a tenant must have been given to use it. */
  readonly permissions: readonly string[]
  /** Why it cannot be called; absent where it can. */
  readonly broken?: string
}

/** A tool with its schema. */
export interface WholePageTool extends PageTool {
  readonly parameters: JsonSchema
}
