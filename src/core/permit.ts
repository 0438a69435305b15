import type { ToolDefinition } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'

type Flags = Readonly<Record<string, boolean>>

/** The flags of callers that bring none. */
export const NO_FLAGS: Flags = Object.freeze({})

/**
 * The first permission that is missing; undefined where the caller may use the tool. A tool that requires
 * permissions needs each to be exactly `true`; one that requires none is open unless its own flag is `false`.
 */
export function missingPermission(tool: ToolDefinition, flags: Flags): string | undefined {
  if (flags === NO_FLAGS && tool.permissions === undefined) return undefined
  if (flags[tool.name] === false && Object.hasOwn(flags, tool.name)) return tool.name
  const required = tool.permissions
  if (required === undefined) return undefined
  // What is no list is one name, so that a definition written wrong is closed, not open.
  for (const permission of Array.isArray(required) ? required : [String(required)]) {
    if (!Object.hasOwn(flags, permission) || flags[permission] !== true) return permission
  }
  return undefined
}

/** Throws `PERMISSION_DENIED` where the caller may not use the tool. */
export function permit(
  tool: ToolDefinition,
  { flags, tenant }: { readonly flags: Flags; readonly tenant: string },
): void {
  const missing = missingPermission(tool, flags)
  if (missing === undefined) return
  throw new ToolExecutionError(
    'PERMISSION_DENIED',
    missing === tool.name
      ? `Tool '${tool.name}' is switched off for tenant '${tenant}'`
      : `Tool '${tool.name}' requires the permission '${missing}', which tenant '${tenant}' does not have`,
  )
}
