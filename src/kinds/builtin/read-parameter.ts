import type { Params } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'

/**
 * Reads one parameter of a builtin. Whoever configures a tool writes its schema, so a handler cannot count on one: it
 * checks what it uses, in the words of validation.
 */
export function readText(params: Params, name: string, longest: number): string | undefined {
  const value = own(params, name)
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw badParameter(`${name} must be a string`)
  if (value.length > longest) throw badParameter(`${name} must not be longer than ${longest} characters`)
  return value
}

/** Like `readText`, for a parameter that the operation cannot do without. */
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

/** A value that a schema of types and limits lets through, and the operation cannot use. */
export function badParameter(problem: string): ToolExecutionError {
  return new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)
}

/** A value as a message quotes it. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`
}

const own = (params: Params, name: string): unknown => (Object.hasOwn(params, name) ? params[name] : undefined)
