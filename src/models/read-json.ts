import { parseJson } from '../core/json/json-depth.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import { LIMITS } from '../core/snapshot.ts'

/** Parses JSON that a model wrote; undefined if it is invalid or nested too deeply. */
export function readJson(text: string, depth: number = LIMITS.bodyDepth): unknown {
  try {
    return parseJson(text, depth)
  } catch {
    return undefined
  }
}

/** Parses a JSON object; undefined if the text is anything else. */
export function readObject(text: string, depth?: number): Record<string, unknown> | undefined {
  const value = readJson(text, depth)
  return isObject(value) ? value : undefined
}
