import type { CallContext } from '../call-context.ts'
import { described } from '../check-options.ts'
import { foreignText } from '../json/json-depth.ts'
import { quoted } from '../schema/problem-words.ts'
import type { ToolDefinition } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'
import { isText, OPEN, viewOf } from './tool-view.ts'

type Flags = Readonly<Record<string, boolean>>

export const NO_FLAGS: Flags = Object.freeze({})

const OUTSIDE_KEY = Symbol('The key is limited to other tools')

/**
 * The first missing permission, if any. A key may be limited to some tools. A tool with permissions needs each flag to be
 * exactly `true`; any tool can be switched off by its own flag, and is if that is no boolean.
 */
export function missingPermission(
  tool: ToolDefinition,
  { flags = NO_FLAGS, tools }: Pick<CallContext, 'flags' | 'tools'>,
): string | typeof OUTSIDE_KEY | undefined {
  if (tools !== undefined && viewOf(tool)[OPEN] !== true && !matchesGlobs(tools, tool.name)) return OUTSIDE_KEY
  if (flags === NO_FLAGS && tool.permissions === undefined) return undefined
  const own: unknown = flags[tool.name]
  if (own !== undefined && own !== true && Object.hasOwn(flags, tool.name)) return tool.name
  const required = tool.permissions
  if (required === undefined) return undefined
  // Anything but a list is one name, so that an invalid definition fails closed.
  for (const name of Array.isArray(required) ? required : [required]) {
    const permission = foreignText(name)
    if (!Object.hasOwn(flags, permission) || flags[permission] !== true) return permission
  }
  return undefined
}

/** Throws if the permissions of a definition are no list of names, such as one with a misspelled constant. */
export function checkPermissions({ name, permissions }: ToolDefinition): void {
  if (permissions === undefined) return
  const isList = Array.isArray(permissions)
  const wrong = isList ? Array.from(permissions).find((one) => !isText(one)) : permissions
  if (isList && Array.from(permissions).every(isText)) return
  const message = `Tool '${name}' has invalid permissions: they must be a list of names, not ${quoted(wrong)}`
  throw new ToolExecutionError('EXECUTION_ERROR', message)
}

export function permit(
  tool: ToolDefinition,
  { context, tenant }: { readonly context: CallContext; readonly tenant: string },
): void {
  const missing = missingPermission(tool, context)
  if (missing === undefined) return
  if (missing === OUTSIDE_KEY) {
    throw new ToolExecutionError('PERMISSION_DENIED', `Tool '${tool.name}' is not one of the tools of this API key`)
  }
  const flag: unknown = context.flags?.[missing]
  if (flag !== undefined && typeof flag !== 'boolean' && Object.hasOwn(context.flags as Flags, missing)) {
    const problem = `flags.${missing} must be true or false, not ${described(flag)}`
    throw new ToolExecutionError('INVALID_PARAMETERS', `The context of the call: ${problem}`)
  }
  throw new ToolExecutionError(
    'PERMISSION_DENIED',
    missing === tool.name
      ? `Tool '${tool.name}' is switched off for tenant '${tenant}'`
      : `Tool '${tool.name}' requires the permission '${missing}', which tenant '${tenant}' does not have`,
  )
}

/** Between two lists of patterns that a name must both match. No pattern contains spaces. */
const AND = ' and '

/** The patterns of names that match both lists; undefined matches every name. */
export const inBoth = (one?: readonly string[], other?: readonly string[]): readonly string[] | undefined =>
  one === undefined || other === undefined ? (one ?? other) : [...one, AND, ...other]

/** Whether a name matches one of the patterns, in which `*` stands for any characters, or none. */
export function matchesGlobs(patterns: readonly string[], name: string): boolean {
  let matches = false
  for (const pattern of patterns) {
    if (pattern !== AND) matches ||= matchesGlob(pattern, name)
    else if (matches) matches = false
    else return false
  }
  return matches
}

/** Patterns for people. */
export const shownGlobs = (patterns: readonly string[]): string => patterns.join(', ').replaceAll(`, ${AND}, `, AND)

/** Searches for the parts between the stars one after the other, so that the time grows with the lengths only. */
function matchesGlob(pattern: string, name: string): boolean {
  const [first = '', ...between] = pattern.split('*')
  const last = between.pop()
  if (last === undefined) return name === pattern
  const end = name.length - last.length
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const part of between) {
    const found = name.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= end
}
