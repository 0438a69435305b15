import type { StoredRun } from '../../core/storage/run-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'

/** PostgreSQL cannot store NUL in text. All engines reject it, so that they behave the same. */
export function refuseNul(values: readonly unknown[]): void {
  for (const value of values) {
    if (typeof value === 'string' && value.includes('\0')) {
      const shown = JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
      throw new ToolExecutionError('INVALID_PARAMETERS', `NUL characters cannot be stored: remove them from ${shown}`)
    }
  }
}

/** For records that must not be lost. */
export function replaceNul(text: string): string
export function replaceNul(text: string | null): string | null
export function replaceNul(text: string | null): string | null {
  return text?.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text
}

const MAX_CHARACTERS = 200

/**
 * A text that every engine returns unchanged. Texts come from callers: long ones are cut, and characters that
 * PostgreSQL (NUL) or UTF-8 (half a surrogate pair) cannot represent are replaced.
 */
export function storableText(text: string): string
export function storableText(text: string | null): string | null
export function storableText(text: string | null): string | null {
  if (text === null) return null
  const cut = text.length > MAX_CHARACTERS ? text.slice(0, MAX_CHARACTERS) : text
  return replaceNul(cut.isWellFormed() ? cut : cut.toWellFormed())
}

const COUNTS = ['duration_ms', 'iterations', 'tool_calls', 'prompt_tokens', 'completion_tokens'] as const

/** A run that every engine can store: without NUL, half surrogate pairs and invalid numbers. */
export function storableRun(run: StoredRun): StoredRun {
  const text = JSON.stringify(run)
  // In JSON both are escapes. An escaped backslash before `u0000` only costs the slower path.
  const clean = /\\u0000|\\ud[89a-f]/.test(text) ? (cleaned(JSON.parse(text)) as StoredRun) : run
  if (COUNTS.every((name) => isCount(clean[name])) && (clean.cost === null || Number.isFinite(clean.cost))) return clean
  const counts = COUNTS.map((name) => [name, isCount(clean[name]) ? clean[name] : 0])
  const cost = Number.isFinite(clean.cost) ? clean.cost : null
  return { ...clean, ...Object.fromEntries(counts), cost }
}

const isCount = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return replaceNul(value.toWellFormed())
  if (Array.isArray(value)) return value.map(cleaned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [cleaned(key), cleaned(one)]))
}
