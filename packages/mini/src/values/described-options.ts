import type { FoundValue } from './codes.ts'

/** A value in a description, and the words for it. */
interface DescribedOption {
  readonly value: string
  readonly words: readonly string[]
}

const QUOTED = /['"‘“]([\p{L}\p{N}][\p{L}\p{N} _/-]{0,29})['"’”](?:\s*(?:for|:|=|means)\s*([\p{L}]+))?/gu

/** The values that a description puts in quotes, where it names at least two: "'c' for Celsius, 'f' for Fahrenheit". */
export function describedOptions(description: string): DescribedOption[] {
  const found = new Map<string, string[]>()
  for (const { 1: value = '', 2: meaning } of description.matchAll(QUOTED)) {
    const words = found.get(value) ?? (value.length > 1 ? [value] : [])
    if (meaning !== undefined && meaning.length > 3) words.push(meaning)
    found.set(value, words)
  }
  return found.size < 2 ? [] : [...found].map(([value, words]) => ({ value, words }))
}

/** Words that are said in any sentence. */
const EMPTY = new Set('it all any is in on to no a an the or and of for us me i so do as at by'.split(' '))

/** The mentioned ones, in any case, singular or plural. */
export function mentioned<Option extends { readonly words: readonly string[] }>(
  options: readonly Option[],
  said: string,
): Option[] {
  return options.filter(({ words }) => words.some((word) => !EMPTY.has(word.toLowerCase()) && says(said, word)))
}

/** The words of one message are compared with those of every option. */
let last = { said: '', words: '' }

/** Whether a text holds these words, whole. */
export function says(said: string, words: string): boolean {
  const wanted = words.toLowerCase().replaceAll(/[_-]+/g, ' ').trim()
  if (wanted === '') return false
  if (said !== last.said) last = { said, words: ` ${said.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ')} ` }
  const text = last.words
  const plain = wanted.replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
  return [plain, `${plain}s`, plain.length > 3 ? plain.replace(/s$/, '') : plain].some(
    (form) => form.trim() !== '' && text.includes(` ${form} `),
  )
}

/** The closed list of values in a description: "one of "hall" or "kitchen"". Otherwise empty. */
export const listedValues = (description: string): string[] =>
  /\bone of ["'“‘]/i.test(description) ? describedOptions(description).map(({ value }) => value) : []

/** Where a text names these values, in its order. */
export const placesOf = (values: readonly string[], said: string): FoundValue[] =>
  values
    .filter((value) => says(said, value))
    .map((value) => ({ value, from: said.toLowerCase().indexOf(value.toLowerCase()) }))
    .map(({ value, from }) => ({ value, from, to: from + value.length }))
    .sort((left, right) => left.from - right.from)
