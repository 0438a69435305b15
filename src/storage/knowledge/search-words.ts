import { withoutAccents } from '../../core/suggest.ts'
import { KNOWLEDGE_BOUNDS } from './checks.ts'

const WORD = /[\p{L}\p{N}\p{M}]+/gu
/** Scripts without spaces between words, or with very long words. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu
/** Longer strings are not words but keys, pictures or numbers. */
const MAX_WORD_LENGTH = 64

/**
 * The words of a text for the index and for queries of every engine: lower case, without accents, split at everything but
 * letters and digits, so that `max_iterations` and `config.json` are found by their parts. In scripts without spaces,
 * every two adjacent characters count as a word.
 */
export function searchWords(text: string): string[] {
  const folded = withoutAccents(text.toLowerCase())
  return (folded.match(WORD) ?? []).flatMap((run) => (run.search(UNSPACED) === -1 ? [run] : splitRun(run))).map(cut)
}

/** The different words of a question, without stop words. */
export function queryWords(text: string): string[] {
  const words = new Set(searchWords(text.slice(0, KNOWLEDGE_BOUNDS.query)))
  return [...words].filter((word) => !STOP_WORDS.has(word)).slice(0, KNOWLEDGE_BOUNDS.queryWords)
}

function splitRun(run: string): string[] {
  const words: string[] = []
  let at = 0
  for (const { 0: unspaced, index } of run.matchAll(UNSPACED)) {
    if (index > at) words.push(run.slice(at, index))
    words.push(...pairsOf(unspaced))
    at = index + unspaced.length
  }
  if (at < run.length) words.push(run.slice(at))
  return words
}

function pairsOf(run: string): string[] {
  const characters = [...run]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

const cut = (word: string): string =>
  word.length > MAX_WORD_LENGTH ? word.slice(0, MAX_WORD_LENGTH).toWellFormed() : word

/**
 * English stop words, including the parts of `don't` and `it's`. They are indexed but not searched for. The list is that
 * of PostgreSQL.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
   itself they them their theirs themselves what which who whom this that these those am is are was were be been being have
   has had having do does did doing a an the and but if or because as until while of at by for with about against between
   into through during before after above below to from up down in out on off over under again further then once here there
   when where why how all any both each few more most other some such no nor not only own same so than too very s t can will
   just don should now`.split(/\s+/),
)
