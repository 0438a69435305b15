import { refuseNul } from '../nul.ts'
import { refused } from './refused.ts'

/** A text that every engine keeps as it is: no NUL, no half of a character, no longer than it may be. */
export function checkText(what: string, text: unknown, most: number): string {
  if (typeof text !== 'string') throw refused(`${what} must be a text`)
  if (text.length > most) {
    throw refused(`${what} has ${text.length} characters: the store takes ${most}, so make it shorter`)
  }
  refuseNul([text])
  return text.toWellFormed()
}

/** A text that names something. */
export function checkName(what: string, name: unknown, most: number): string {
  if (name === '') throw refused(`${what} must not be empty`)
  return checkText(what, name, most)
}

export function checkCount(what: string, count: unknown, least: number, most: number): number {
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= least && count <= most) return count
  throw refused(`${what} must be a whole number from ${least} to ${most}, not ${count}`)
}
