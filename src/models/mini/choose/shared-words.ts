import { wordStem } from '../values/word-stem.ts'

/** A word of a description that was said, and where. */
export interface SharedWord {
  readonly from: number
  readonly to: number
}

const EMPTY = new Set(
  'the and are its was has have had for from with this that what which who how not you your can will its one two each only into off out between until since about where when under there some any all'.split(
    ' ',
  ),
)
const LEAST_LETTERS = 3

/** The words of a description that stand in what was said, in any form: "letters" for letter. */
export function sharedWords(description: string, said: string): SharedWord[] {
  const words = new Set(wordsIn(description).map(({ word }) => wordStem(word)))
  return wordsIn(said).filter(({ word }) => words.has(wordStem(word)))
}

interface Word extends SharedWord {
  readonly word: string
}

const wordsIn = (text: string): Word[] =>
  [...text.matchAll(/\p{L}+/gu)]
    .map(({ index, 0: word }) => ({ word: word.toLowerCase(), from: index, to: index + word.length }))
    .filter(({ word }) => word.length >= LEAST_LETTERS && !EMPTY.has(word))
