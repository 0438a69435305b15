import type { FoundValue } from './codes.ts'

/** Values that are known by how they are written. */
type Pattern = 'email' | 'airport'

const PATTERNS: Readonly<Record<Pattern, RegExp>> = {
  email: /[^\s@<>,;:'"()]{1,64}@[^\s@<>,;'"()]{1,200}\.[\p{L}\d-]{2,30}/gu,
  airport: /\b[A-Z]{3}\b/g,
}

/** The pattern of a parameter's values, if its name or description has one. */
export function patternWanted(name: string, description: string, format?: string): Pattern | undefined {
  if (format === 'email' || /e-?mail$/i.test(name) || /\be-?mail address/i.test(description)) return 'email'
  return /\biata\b|airport code/i.test(`${name.replaceAll('_', ' ')} ${description}`) ? 'airport' : undefined
}

/** The values in a message that match the pattern. */
export const patternsIn = (pattern: Pattern, said: string): FoundValue[] =>
  [...said.matchAll(PATTERNS[pattern])].map(({ index, 0: value }) => ({ from: index, to: index + value.length, value }))
