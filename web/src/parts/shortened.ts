import { count, inNumber } from './figures.ts'

const MOST_ENTRIES = 100
const MOST_CHARACTERS = 5_000
const MOST_DEPTH = 40

/** A value with what no eye takes in left out of its lists and texts, each with a word on how much that is. */
export function shortened(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shortText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MOST_DEPTH) return '… (deeper than is shown)'
  const entries = Object.entries(value)
  const left = entries.length - MOST_ENTRIES
  const kept = entries.slice(0, MOST_ENTRIES).map(([key, inner]) => [key, shortened(inner, depth + 1)] as const)
  if (Array.isArray(value)) {
    return [...kept.map(([, inner]) => inner), ...(left > 0 ? [`… (${inNumber(left)} more)`] : [])]
  }
  return Object.fromEntries(left > 0 ? [...kept, ['…', `${inNumber(left)} more`]] : kept)
}

const shortText = (text: string): string =>
  text.length <= MOST_CHARACTERS
    ? text
    : `${text.slice(0, MOST_CHARACTERS)} … (${count(text.length - MOST_CHARACTERS, 'more character')})`

/** The beginning of a text; it ends after a whole word. */
export const excerpt = (text: string, most: number): string =>
  text.length <= most ? text : `${/^.*\S(?=\s)/s.exec(text.slice(0, most))?.[0] ?? text.slice(0, most)}…`
