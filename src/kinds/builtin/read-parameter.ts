import type { Params } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'

/**
 * Reads one parameter of a builtin. Operators write the schema of a tool, so a handler can't rely on it and checks its
 * own parameters.
 */
export function readText(params: Params, name: string, longest: number): string | undefined {
  const value = own(params, name)
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw badParameter(`${name} must be a string`)
  if (value.length > longest) throw badParameter(`${name} must not be longer than ${longest} characters`)
  return value
}

/** Like `readText`, for a required parameter. */
export function requireText(params: Params, name: string, longest: number): string {
  const value = readText(params, name, longest)
  if (value === undefined) throw badParameter(`missing '${name}'`)
  return value
}

/** Reads a whole number. */
export function readInteger(params: Params, name: string): number | undefined {
  const value = own(params, name)
  if (value !== undefined && !Number.isInteger(value)) throw badParameter(`${name} must be an integer`)
  return value as number | undefined
}

/** Error for a value that the operation can't use. */
export function badParameter(problem: string): ToolExecutionError {
  return new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)
}

/** Quotes a value in a message. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`
}

const own = (params: Params, name: string): unknown => (Object.hasOwn(params, name) ? params[name] : undefined)
