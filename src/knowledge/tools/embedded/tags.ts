import { isSilent, stem, type Turn, windows } from './prose.ts'

const MAX_TAGS = 5
const MAX_WORDS = 3
/** A phrase counts up to this often, so that a word in every line doesn't fill the list. */
const MAX_COUNT = 5
/** What a phrase in the headings, and one that the document has once, count. */
const [HEADING, ONCE] = [2, 0.4]
const WORD = /[\p{L}\p{N}]+(?:['’_-][\p{L}\p{N}]+)*/gu
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u
const NOISE = /https?:\/\/[^\s<>"')\]]{1,2000}|\]\([^()]{0,1000}\)|<\/?[a-zA-Z!][^<>]{0,300}>/g
const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

export interface Tagged {
  readonly text: string
  readonly heading: string
}

interface Phrase {
  readonly shown: string
  readonly words: readonly string[]
  count: number
  headed: boolean
}

type Phrases = Map<string, Phrase>

/** How often a phrase occurs in the document, and in how many chunks. */
interface Spread {
  count: number
  chunks: number
}

/**
 * The keywords of each chunk: words and the phrases between stop words (RAKE), rated by how often the chunk has them, how
 * rare they are in the other chunks, and whether a heading has them.
 */
export async function keywordTags(chunks: readonly Tagged[], turn: Turn = () => {}): Promise<string[][]> {
  const found: Phrases[] = []
  const spread = new Map<string, Spread>()
  for (const { text, heading } of chunks) {
    const phrases: Phrases = new Map()
    for (const part of windows(withoutCode(text))) {
      addPhrases(phrases, part, false)
      await turn()
    }
    addPhrases(phrases, heading, true)
    for (const [key, { count }] of phrases) {
      const known = spread.get(key) ?? { count: 0, chunks: 0 }
      spread.set(key, { count: known.count + count, chunks: known.chunks + 1 })
    }
    found.push(phrases)
    await turn()
  }
  const tags: string[][] = []
  for (const phrases of found) {
    tags.push(best(phrases, spread, chunks.length))
    await turn()
  }
  return tags
}

/** Text beside code says better what it is about. */
function withoutCode(text: string): string {
  const prose = text
    .split('```')
    .filter((_, at) => at % 2 === 0)
    .join('\n')
  return /\p{L}{3}/u.test(prose) ? prose : text
}

/** Single words and the phrases that they stand in. */
function addPhrases(phrases: Phrases, text: string, headed: boolean): void {
  let run: string[] = []
  const close = (): void => {
    for (const word of run) add(phrases, [word], headed)
    if (run.length > 1 && run.length <= MAX_WORDS) add(phrases, run, headed)
    run = []
  }
  let end = 0
  const clean = text.replaceAll(NOISE, ' . ')
  for (const { word, at } of wordsIn(clean)) {
    // Anything but a space or a hyphen ends a phrase.
    if (!/^[ \t\n-]*$/.test(clean.slice(end, at))) close()
    end = at + word.length
    const lower = word.toLowerCase().replace(/['’]s$/, '')
    if (isSilent(lower) || /^[\d_]+$/.test(lower) || (lower.length < 3 && !UNSPACED.test(lower))) close()
    else run.push(lower)
  }
  close()
}

function* wordsIn(text: string): Generator<{ readonly word: string; readonly at: number }> {
  if (UNSPACED.test(text)) {
    for (const { segment, index, isWordLike } of segmenter.segment(text))
      if (isWordLike) yield { word: segment, at: index }
  } else for (const { 0: word, index } of text.matchAll(WORD)) yield { word, at: index }
}

function add(phrases: Phrases, words: readonly string[], headed: boolean): void {
  const stems = words.map(stem)
  const key = stems.join(' ')
  const known = phrases.get(key)
  if (known === undefined) phrases.set(key, { shown: words.join(' '), words: stems, count: 1, headed })
  else {
    known.count++
    known.headed ||= headed
  }
}

/** A word that the document has once is as often an accident as a subject: it counts only if others are missing. */
function best(phrases: Phrases, spread: ReadonlyMap<string, Spread>, chunks: number): string[] {
  const scored = [...phrases].map(([key, phrase]) => {
    const { count, chunks: among } = spread.get(key) as Spread
    const once = count === 1 ? ONCE : 1
    const length = phrase.words.length > 1 && count > 1 ? 1 + phrase.words.length / 2 : 1
    const rarity = Math.log(1 + chunks / among)
    const score = Math.min(MAX_COUNT, phrase.count) * rarity * length * once * (phrase.headed ? HEADING : 1)
    return { ...phrase, score }
  })
  const chosen: typeof scored = []
  for (const phrase of scored.sort((a, b) => b.score - a.score)) {
    // A tag must not repeat the words of a better one.
    if (!chosen.some((one) => phrase.words.some((word) => one.words.includes(word)))) chosen.push(phrase)
    if (chosen.length >= MAX_TAGS) break
  }
  return chosen.map(({ shown }) => shown)
}
