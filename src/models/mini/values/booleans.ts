import { wordsOfName } from '../pair-texts.ts'

const NOT =
  "(?:do(?:es)?n['’]?t|do not|does not|not|no|without|never|exclud(?:e|ing)|disabl(?:e|ing)|skip(?:ping)?|avoid|omit(?:ting)?|leave out|turn off|switch off|false|off)"
const EMPTY = new Set(
  'is are has have include includes including allow use with the a an of to for and or return get show enable enabled should only whether in on by flag'.split(
    ' ',
  ),
)

/** What a sentence says of a yes-or-no parameter by its own words; undefined where it does not name it. */
export function saidBoolean(parameter: string, said: string): boolean | undefined {
  const words = wordsOfName(parameter)
    .split(' ')
    .filter((word) => word.length > 2 && !EMPTY.has(word))
  if (words.length === 0) return undefined
  const text = said.toLowerCase()
  const found = words.map((word) => text.search(new RegExp(`\\b${asPattern(stem(word))}`)))
  if (found.some((at) => at < 0)) return undefined
  return !negated(text, Math.min(...found))
}

/** Whether a negation stands in the same clause, before this place. */
export function negated(said: string, at: number): boolean {
  const clause = said
    .slice(0, at)
    .split(/[.;!?]|,\s|\bbut\b/)
    .at(-1) as string
  return new RegExp(`\\b${NOT}\\b[^.;!?]{0,30}$`, 'i').test(clause)
}

/** Whether anything at all is negated. */
export const negates = (said: string): boolean => new RegExp(`\\b${NOT}\\b`, 'i').test(said)

const stem = (word: string): string => (word.length > 4 ? word.replace(/(?:ing|ed|es|s|e)$/, '') : word)
const asPattern = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, '.')
