import { sameMeasure, unitNamed } from './measures.ts'

/** A measure that somebody wants in another unit, as an expression, and how the question is repeated. */
export interface Conversion {
  readonly expression: string
  readonly phrase: string
}

const NUMBER = String.raw`-?\d+(?:,\d{3})*(?:\.\d+)?`
const UNIT = String.raw`[°\p{L}][\p{L}°/ ]{0,24}?`
/** "5 miles to km", "convert 100 °F into Celsius". */
const INTO = new RegExp(
  `^(?:convert\\s+|change\\s+|turn\\s+)?(${NUMBER})\\s*(${UNIT})\\s+(?:to|in|into|as)\\s+(${UNIT})$`,
  'iu',
)
/** "how many cm is 5 inches", "how many minutes are there in a day". */
const HOW_MANY = new RegExp(
  `^how (?:many|much)\\s+(${UNIT})\\s+(?:is|are|in|make|makes|are there in|are in|is in|does)\\s+(?:there in\\s+)?(${NUMBER}|an?|one)\\s*(${UNIT})(?:\\s+(?:have|has))?$`,
  'iu',
)

/** The conversion that is all of what was said; undefined where it is anything else. */
export function conversionIn(asked: string): Conversion | undefined {
  const into = INTO.exec(asked)
  if (into !== null) return conversion(into[1] as string, into[2] as string, into[3] as string)
  const many = HOW_MANY.exec(asked)
  return many === null ? undefined : conversion(many[2] as string, many[3] as string, many[1] as string)
}

function conversion(amount: string, from: string, to: string): Conversion | undefined {
  const [unit, wanted] = [unitNamed(from), unitNamed(to)]
  if (unit === undefined || wanted === undefined || unit === wanted || !sameMeasure(unit, wanted)) return undefined
  const number = /^\p{L}/u.test(amount) ? '1' : amount.replaceAll(',', '')
  return { expression: `${number} ${unit} to ${wanted}`, phrase: `${number} ${from.trim()}` }
}
