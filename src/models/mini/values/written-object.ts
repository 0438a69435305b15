import { jsonrepair } from 'jsonrepair'
import { isObject } from '../../../core/schema/schema-keywords.ts'

/** An object that somebody wrote out in braces, in JSON or nearly so. */
export function writtenObject(said: string): Record<string, unknown> | undefined {
  const found = /\{[^{}]{2,2000}\}/.exec(said)
  if (found === null) return undefined
  try {
    const value: unknown = JSON.parse(jsonrepair(found[0]))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
