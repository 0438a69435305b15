import { quotesIn } from '../values/quotes-in.ts'

/** A piece of what was said. */
export interface Piece {
  readonly from: number
  readonly to: number
}

/** What stands around the text of a request and is no part of it. */
const BEFORE =
  /^(?:(?:please|can you|could you|would you|what(?:['’]?s| is| are)|how|make|write|put|turn|convert|change|tell me|give me|show me|the|this|an?|my|it|word|words|string|text|sentence|phrase|letters?|of|in|to|for|is|are|do|does|from|you)(?![\p{L}\p{N}'’])[\s,:]*)+/iu
const LAST = /(?:[\s,.;:?!]|\s(?:please|for me|in|to|as|into|by|with|of|is|are|all|the|case|letters?|thanks))$/i
/** With the space before it. */
const LONGEST_LAST = 8

/** The text that something is to be done with: what was said without the words that say what to do. */
export function restOf(said: string, words: readonly Piece[]): string | undefined {
  const [quote] = quotesIn(said)
  if (quote !== undefined) return said.slice(quote.from, quote.to)
  const rest = trimmed(said, { from: 0, to: said.length }, words)
  return rest === undefined ? undefined : said.slice(rest.from, rest.to)
}

/** A piece without such words at its ends; undefined where nothing else is in it. */
export function trimmed(said: string, piece: Piece, words: readonly Piece[]): Piece | undefined {
  let { from, to } = piece
  for (;;) {
    const text = said.slice(from, to)
    const first = words.find((word) => word.from <= from + leading(text) && word.to > from + leading(text))
    const last = words.find((word) => word.to >= to - trailing(text) && word.from < to - trailing(text))
    const next = {
      from: first !== undefined ? first.to : from + (BEFORE.exec(text)?.[0].length ?? leading(text)),
      to: last !== undefined ? last.from : to - after(text),
    }
    if (next.from >= next.to) return undefined
    if (next.from === from && next.to === to) return next
    ;({ from, to } = next)
  }
}

const leading = (text: string): number => text.length - text.trimStart().length
/** How much at the end of a text is no part of it, found word by word: a pattern for all would start over at each. */
function after(text: string): number {
  let end = text.length
  for (let last = LAST.exec(text.slice(-LONGEST_LAST)); last !== null; ) {
    end -= last[0].length
    last = LAST.exec(text.slice(Math.max(0, end - LONGEST_LAST), end))
  }
  return text.length - end
}

const trailing = (text: string): number => text.length - text.trimEnd().length
