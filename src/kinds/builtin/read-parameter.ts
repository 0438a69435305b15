import type { Params } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'

/**
 * Reads one parameter of a builtin. Operators write the schema of a tool, so a handler can't rely on it and checks its
 * own parameters.
 */
export function readText(params: Params, name: string, maxLength: number): string | undefined {
  const value = own(params, name)
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw badParameter(`${name} must be a string`)
  if (value.length > maxLength) throw badParameter(`${name} must not be longer than ${maxLength} characters`)
  return value
}

export function requireText(params: Params, name: string, maxLength: number): string {
  const value = readText(params, name, maxLength)
  if (value === undefined) throw badParameter(`missing '${name}'`)
  return value
}

export function readInteger(params: Params, name: string): number | undefined {
  const value = own(params, name)
  if (value !== undefined && !Number.isInteger(value)) throw badParameter(`${name} must be an integer`)
  return value as number | undefined
}

export function badParameter(problem: string): ToolExecutionError {
  return new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)
}

const own = (params: Params, name: string): unknown => (Object.hasOwn(params, name) ? params[name] : undefined)
