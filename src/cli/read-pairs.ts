import { printableLine } from './printable.ts'
import { UsageError } from './usage-error.ts'

const PAIR = /^([^=]+)=(.*)$/s

/** What an option that is given as `key=value`, once or more often, says. */
export function readPairs(option: string, words: readonly string[]): Readonly<Record<string, string>> {
  const pairs = new Map<string, string>()
  for (const word of words) {
    const [, key, value] = PAIR.exec(word) ?? []
    if (key === undefined || value === undefined) {
      throw new UsageError(`${option} takes key=value, not '${printableLine(word)}'.`)
    }
    if (pairs.has(key)) throw new UsageError(`${option} is given twice for '${printableLine(key)}'.`)
    pairs.set(key, value)
  }
  // As own properties even where a key is `__proto__`: refusing it is the executor's business.
  return Object.fromEntries(pairs)
}

/** For options that may be given more than once. */
export const collect = (word: string, words: readonly string[] = []): string[] => [...words, word]
