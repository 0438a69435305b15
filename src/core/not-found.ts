import type { Call } from './call.ts'
import { missingPermission } from './permit.ts'
import { suggest } from './suggest.ts'
import type { ToolDefinition } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'

const LONGEST_NAME = 200

/** Says that there is no such tool, and which the caller may have meant; only what it may use is named. */
export function notFound(call: Call, definitions: readonly ToolDefinition[]): ToolExecutionError {
  const { visible } = call.context
  const names = definitions
    .filter((tool) => visible?.has(tool.name) !== false && missingPermission(tool, call.flags) === undefined)
    .map((tool) => tool.name)
  const suggestions = suggest(call.tool, names)
  return new ToolExecutionError(
    'TOOL_NOT_FOUND',
    `Tool '${call.tool.length > LONGEST_NAME ? `${call.tool.slice(0, LONGEST_NAME)}…` : call.tool}' not found`,
    suggestions.length > 0 ? { suggestions } : {},
  )
}
