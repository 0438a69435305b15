import { describedOptions, mentioned } from './described-options.ts'

/** The values that a description says are all there are: "one of "hall" or "kitchen"". Empty where it does not. */
export const listedValues = (description: string): string[] =>
  /\bone of ["'“‘]/i.test(description) ? describedOptions(description).map(({ value }) => value) : []

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
  const between = new RegExp(`^(?:\\s|,|&|and\\b|the\\b|in\\b|lamps?\\b|${name}s?\\b)+$`, 'i')
  const joined = places.every(({ value, from }, at) => {
    const next = places[at + 1]
    return next === undefined || between.test(said.slice(from + value.length, next.from))
  })
  return joined ? places.map(({ value }) => value) : []
}
