import type { FoundValue } from './codes.ts'

/** An example in quotes, or after "e.g.", that is one word with marks in it: 'vm-0a1b2c', 'owner/name', eu-west-1. */
const EXAMPLE =
  /(?:['"‘“`]|\b(?:e\.g\.,?|such as|like|as) )((?=[\w.:#/-]*[\d/_#])[\p{L}\p{N}]+(?:[-_/:#][\p{L}\p{N}]+)+)(?:['"’”`]|(?=[\s,.;)]|$))/iu
const MARKS = /[-_/:#]/

/** The shape of a parameter's values, if its description has an example: w-w for 'vm-0a1b2c'. */
export function shapeWanted(description: string): string | undefined {
  const example = EXAMPLE.exec(description)?.[1]
  // Dates and times have forms of their own.
  return example === undefined || /^[\d/:-]+$|yyyy|hh:mm|mm[-/]/i.test(example) ? undefined : shapeOf(example)
}

/** The words of a message with this shape. */
export function shapesIn(shape: string, said: string): FoundValue[] {
  return [...said.matchAll(/[\p{L}\p{N}][\p{L}\p{N}_.:#/-]*[\p{L}\p{N}]/gu)]
    .filter(({ 0: word }) => MARKS.test(word) && shapeOf(word) === shape && !word.includes('://'))
    .map(({ index, 0: value }) => ({ from: index, to: index + value.length, value }))
}

const shapeOf = (word: string): string => word.replaceAll(/[\p{L}\p{N}.]+/gu, 'w')
