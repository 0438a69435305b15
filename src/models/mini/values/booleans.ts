import { wordsOfName } from '../pair-texts.ts'
import { says } from './described-options.ts'
import { wordStem } from './word-stem.ts'

const NOT =
  "(?:do(?:es)?n['’]?t|do not|does not|not|no|without|never|exclud(?:e|ing)|disabl(?:e|ing)|skip(?:ping)?|avoid|omit(?:ting)?|leave out|turn off|switch off|false|off)"
const EMPTY = new Set(
  'is are has have include includes including allow use with the a an of to for and or return get show enable enabled should only whether in on by flag'.split(
    ' ',
  ),
)
const PLAIN = new Set(
  'true false default defaults indicates indicating boolean also that this will would when than then they them optional specify specifies result results from user users'.split(
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
  const found = words.map((word) => text.search(new RegExp(`\\b${asPattern(wordStem(word))}`)))
  if (found.some((at) => at < 0)) return undefined
  return !negated(text, Math.min(...found))
}

/** What a description like "True for delivery, false for pick-up" makes of a sentence. */
export function describedBoolean(description: string, said: string): boolean | undefined {
  for (const { 1: value = '', 2: words = '' } of description.matchAll(
    /\b(true|false)\b['"]?(?: is| means)? (?:for|if|when|to) (?:the |an? |it is )?([\p{L}][\p{L} -]{2,30})/giu,
  )) {
    if (says(said, words)) return value.toLowerCase() === 'true'
  }
  return undefined
}

/** Whether a sentence speaks of a yes-or-no parameter at all: a word of its name or description is in it. */
export function namesBoolean(parameter: string, description: string, said: string): boolean {
  const text = said.toLowerCase()
  return `${wordsOfName(parameter)} ${description.toLowerCase()}`
    .split(/[^\p{L}]+/u)
    .filter((word) => word.length > 3 && !EMPTY.has(word) && !PLAIN.has(word))
    .some((word) => new RegExp(`(?<!\\p{L})${wordStem(word)}`, 'u').test(text))
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
const asPattern = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, '.')
