import { describedOptions, mentioned } from './described-options.ts'

/** The values that a description says are all there are: "one of "hall" or "kitchen"". Empty where it does not. */
export const listedValues = (description: string): string[] =>
  /\bone of ["'“‘]/i.test(description) ? describedOptions(description).map(({ value }) => value) : []

const BETWEEN = ['', 'and', 'the', 'in', 'lamp', 'lamps']
const wordsOf = (text: string): string[] => text.toLowerCase().split(/[\s,&]+/)

/** Those of them that were said one after the other, in their order: "the kitchen and the hall light". */
export function listedTogether(description: string, name: string, said: string): string[] {
  const values = listedValues(description)
  const named = mentioned(
    values.map((value) => ({ value, words: [value] })),
    said,
  )
  const places = named
    .map(({ value }) => ({ value, from: said.toLowerCase().indexOf(value.toLowerCase()) }))
    .sort((left, right) => left.from - right.from)
  const between = new Set([...BETWEEN, name.toLowerCase(), `${name.toLowerCase()}s`])
  const joined = places.every(({ value, from }, at) => {
    const next = places[at + 1]
    if (next === undefined) return true
    const text = said.slice(from + value.length, next.from)
    return text !== '' && wordsOf(text).every((word) => between.has(word))
  })
  return joined ? places.map(({ value }) => value) : []
}
