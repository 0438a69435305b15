import { count, inNumber } from './figures.ts'

const MOST_ENTRIES = 100
const MOST_CHARACTERS = 5_000
const MOST_DEPTH = 40

/** Shortens long lists and strings, and says how much was left out. */
export function shortened(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shortText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MOST_DEPTH) return '… (nested deeper)'
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

/** The start of a text, cut after a whole word. */
export const excerpt = (text: string, most: number): string =>
  text.length <= most ? text : `${/^.*\S(?=\s)/s.exec(text.slice(0, most))?.[0] ?? text.slice(0, most)}…`
