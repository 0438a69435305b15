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

/** A longer JSON text is shown in part. */
const LARGE = 20_000
/** Each level is a row, even in a short text. */
const MOST_LEVELS = 512

/** What a page shows of a value, and its JSON. */
export function shownPart(value: unknown): { shown: unknown; isPart: boolean; text: string } {
  const text = jsonText(value)
  const isPart = text.length > LARGE || isDeep(value)
  return { shown: isPart ? shortened(value) : value, isPart, text }
}

/** A text as it is, and any other value as JSON: in part if the stack can't hold it. */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? 'nothing'
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return JSON.stringify(shortened(value))
  }
}

function isDeep(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth < MOST_LEVELS && level.length > 0; depth++) {
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return level.length > 0
}

const shortText = (text: string): string =>
  text.length <= MOST_CHARACTERS
    ? text
    : `${text.slice(0, MOST_CHARACTERS)} … (${count(text.length - MOST_CHARACTERS, 'more character')})`

/** The start of a text, cut after a whole word. */
export const excerpt = (text: string, most: number): string =>
  text.length <= most ? text : `${/^.*\S(?=\s)/s.exec(text.slice(0, most))?.[0] ?? text.slice(0, most)}…`
