import { partsOf, plainText } from './lists.ts'
import { type FoundNumber, numbersIn } from './numbers-in.ts'
import { quotesIn } from './quotes-in.ts'

/** What may stand between two numbers of one list: "1, 2 and 3", "from x=1 to x=3", "(33.4 N, 112.0 W". */
const BETWEEN_NUMBERS =
  /^[\s,;%°)]*(?:[NESW]\b(?:[\s,;]*(?:and|to|through|until|or|&|-|–))?[\s,;(]*|(?:and|to|through|until|or|&|-|–)[\s,;(]*|\([\s,;(]*)?(?:[a-z]\s?=\s?)?[$€£]?$/i
const BETWEEN_QUOTES = /^["'”’]?\s*(?:(?:,\s*)?(?:and|or|&)|,)\s*["'“‘]?$/
/** One more item of names: ", Google", " and the Dow Jones". */
const ONE_MORE_NAME =
  /^(?:,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+)(?:the\s+)?(\p{Lu}[\p{L}\p{N}&.'-]*(?:\s+\p{Lu}[\p{L}\p{N}&.'-]*)*)/u

/** The inside of the brackets around a piece, where there are any and they hold an enumeration. */
export function bracketsAround(said: string, from: number, to: number): string | undefined {
  for (const [opening, closing] of [
    ['[', ']'],
    ['(', ')'],
  ] as const) {
    const open = said.lastIndexOf(opening, from)
    const close = said.indexOf(closing, Math.max(to - 1, open))
    if (open < 0 || close < 0 || close - open > 1000 || said.slice(open, from).includes(closing)) continue
    const inside = said.slice(open + 1, close)
    if (inside.includes(',') && !inside.includes(opening)) return inside
  }
  return undefined
}

/** The numbers of a list of which a piece is known. */
export function numberList(said: string, from: number, to: number, fraction: boolean): number[] {
  const numbers = numbersIn(said)
  let first = numbers.findIndex((number) => number.from < to && from < number.to)
  if (first < 0) return []
  let last = first
  const near = (index: number): boolean => {
    const [left, right] = [numbers[index], numbers[index + 1]] as [FoundNumber, FoundNumber | undefined]
    return right !== undefined && BETWEEN_NUMBERS.test(said.slice(left.to, right.from))
  }
  while (near(last) || (numbers[last + 1]?.from ?? to) < to) last++
  while (first > 0 && near(first - 1)) first--
  return numbers.slice(first, last + 1).map(({ value, percent }) => (percent && fraction ? value / 100 : value))
}

/** The texts of a list of which a piece is known: the rest of an enumeration of quotes or names goes with it. */
export function textList(said: string, from: number, to: number): string[] {
  const quotes = quotesIn(said)
  let first = quotes.findIndex((quote) => quote.from < to && from < quote.to)
  if (first >= 0) {
    let last = first
    const joined = (left: number): boolean =>
      BETWEEN_QUOTES.test(said.slice(quotes[left]?.to, quotes[left + 1]?.from ?? said.length))
    while (last + 1 < quotes.length && joined(last)) last++
    while (first > 0 && joined(first - 1)) first--
    const found = quotes.slice(first, last + 1).map((quote) => said.slice(quote.from, quote.to).trim())
    return found.length === 1 ? partsOf(found[0] as string) : found
  }
  const parts = partsOf(said.slice(from, to))
  if (!/^\p{Lu}/u.test(parts.at(-1) ?? '')) return parts
  for (let at = to; parts.length < 50; ) {
    const more = ONE_MORE_NAME.exec(said.slice(at, at + 100))
    if (more === null) return parts
    parts.push(plainText(more[1] as string))
    at += more[0].length
  }
  return parts
}
