import { wordsOfName } from '../pair-texts.ts'

/** "turn on the light" names no `light`, and "calculate" nothing to calculate: a name alone is no value. */
export function saysNothing(value: unknown, parameter: string, tool: string): boolean {
  if (typeof value !== 'string') return false
  const said = plain(value)
  return said === plain(wordsOfName(parameter)) || said === plain(wordsOfName(tool))
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/^(?:the|an?|my|some|any)\s+/, '')
    .replace(/s$/, '')
    .trim()
