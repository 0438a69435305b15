import type { FoundValue } from './codes.ts'

/** One letter by itself. "a" and "I" are words as well, except where a word would not stand so. */
const LONE = /(?<=^|\s)\p{L}(?=['’]s(?![\p{L}\p{N}])|[?.!,]*(?:\s|$))|(?<=["'“‘])\p{L}(?=["'”’])/gu
const NO_WORD_AFTER = /^(?:['’"”]|\s*(?:$|[?.!,]|(?:with|by|in|and|to|are|is|does|appears?|occurs?)\b))/i
/** Longer than the word before and any space after it. */
const LOOK_BACK = 50
const LETTER_BEFORE = /\bletters?\s+["'“‘]?$/i

/** Whether a parameter says that it takes a letter. */
export const takesLetter = ({ description }: { readonly description: string }): boolean =>
  /^(?:For [^:]{1,80}: )?(?:the|an?) (?:single )?letter\b/i.test(description)

/** The letters that stand by themselves: "How many r's are there?". */
export function lettersIn(said: string): FoundValue[] {
  return [...said.matchAll(LONE)]
    .filter(({ index, 0: letter }) => !/[ai]/i.test(letter) || named(said, index))
    .map(({ index, 0: value }) => ({ from: index, to: index + value.length, value }))
}

const named = (said: string, at: number): boolean =>
  LETTER_BEFORE.test(said.slice(Math.max(0, at - LOOK_BACK), at)) || NO_WORD_AFTER.test(said.slice(at + 1))
