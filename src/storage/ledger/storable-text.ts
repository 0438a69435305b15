import type { StoredRun } from '../../core/storage/run-store.ts'
import { replaceNul } from '../nul.ts'

const MOST_CHARACTERS = 200

/**
 * A text that every engine gives back as it was written. Names come from callers: what is too long is cut, and what
 * PostgreSQL (NUL) or UTF-8 (half a surrogate pair) cannot hold is marked.
 */
export function storableText(text: string): string
export function storableText(text: string | null): string | null
export function storableText(text: string | null): string | null {
  if (text === null) return null
  const cut = text.length > MOST_CHARACTERS ? text.slice(0, MOST_CHARACTERS) : text
  return replaceNul(cut.isWellFormed() ? cut : cut.toWellFormed())
}

const COUNTS = ['duration_ms', 'iterations', 'tool_calls', 'prompt_tokens', 'completion_tokens'] as const

/** A run that every engine can keep: no NUL, no half surrogate pairs, no number that is none. */
export function storableRun(run: StoredRun): StoredRun {
  const text = JSON.stringify(run)
  // In JSON text both are written as escapes; one that is itself quoted costs only the slower way.
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
