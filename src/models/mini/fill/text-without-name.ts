import { wordsOfName } from '../pair-texts.ts'

/** "theft crimes" for a `crime_type` is theft; names of things keep theirs: "Natural History Museum". */
export function textWithoutName(text: string, name: string): string {
  const words = text.split(' ')
  const last = words.at(-1) as string
  const names = wordsOfName(name).split(' ').map(singular)
  const says = words.length > 1 && names.length > 1 && /^[a-z]/.test(last) && names.includes(singular(last))
  return says ? words.slice(0, -1).join(' ') : text
}

const singular = (word: string): string => word.toLowerCase().replace(/s$/, '')
