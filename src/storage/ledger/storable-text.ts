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
