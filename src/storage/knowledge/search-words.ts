import { KNOWLEDGE_BOUNDS as MOST } from './knowledge-bounds.ts'
import { STOP_WORDS } from './stop-words.ts'

const DIACRITICS = /[\u0300-\u036f]/g
const WORD = /[\p{L}\p{N}\p{M}]+/gu
/** Scripts that put no space between words, or much of a sentence in one word. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu
/** What is longer is no word: a key, a picture, a line of numbers. */
const LONGEST = 64

/**
 * The words of a text as they are indexed and looked for, the same for every engine: small letters without accents, split
 * where there is neither letter nor digit, so that `max_iterations` and `config.json` are found by their parts. Where a
 * script has no spaces, every two characters next to each other count as a word.
 */
export function searchWords(text: string): string[] {
  const folded = text.toLowerCase().normalize('NFKD').replace(DIACRITICS, '').normalize('NFC')
  return (folded.match(WORD) ?? []).flatMap((run) => (run.search(UNSPACED) === -1 ? [run] : splitRun(run))).map(cut)
}

/** The different words of a question that say what it is about. */
export function queryWords(text: string): string[] {
  const words = new Set(searchWords(text.slice(0, MOST.query)))
  return [...words].filter((word) => !STOP_WORDS.has(word)).slice(0, MOST.queryWords)
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

const cut = (word: string): string => (word.length > LONGEST ? word.slice(0, LONGEST).toWellFormed() : word)
