import { hash } from 'node:crypto'

/** A few letters and digits that stand for a text, always the same for the same text. */
export function shortHash(text: string, length = 8): string {
  return hash('sha256', text.toWellFormed()).slice(0, length)
}
