import { setImmediate as nextTurn } from 'node:timers/promises'
import { STOP_WORDS, searchWords } from '../../../storage/knowledge/search-words.ts'
import type { BlockKind } from '../../documents/document.ts'
import { textDocument } from '../../documents/text-document.ts'
import { endingAt } from '../../documents/text-scan.ts'

/** Gives other work a turn. Throws if the call has ended. */
export type Turn = () => void | Promise<void>

/** How long the rules run before the event loop gets a turn. */
const SLICE_MS = 8

/** Called between the steps of long work. */
export function inTurns(signal: AbortSignal): Turn {
  let began = performance.now()
  return () => {
    if (performance.now() - began < SLICE_MS) return
    return nextTurn().then(() => {
      signal.throwIfAborted()
      began = performance.now()
    })
  }
}

export interface Sentence {
  readonly text: string
  /** Whether it is the first of its paragraph or list item. */
  readonly first: boolean
  readonly kind: BlockKind
  /** The headings above it, outermost first. */
  readonly path: readonly string[]
}

/** Longer runs without an end are tables, keys or noise. */
const MAX_SENTENCE = 1_000
/** Short and always followed by more of the sentence. */
const ABBREVIATIONS = new Set(
  'mr mrs ms dr prof st sr jr vs no nos vol fig inc ltd co corp gen col capt lt sen rep gov rev hon approx dept est e.g i.e u.s u.k'.split(
    ' ',
  ),
)

/** The sentences of a text or a Markdown document without its markup, in order. */
export async function readSentences(
  content: string,
  kinds: ReadonlySet<BlockKind>,
  turn: Turn = () => {},
): Promise<Sentence[]> {
  const { text, blocks } = textDocument(content, '')
  const sentences: Sentence[] = []
  for (const { kind, start, end, path } of blocks) {
    if (!kinds.has(kind)) continue
    for (const part of partsOf(kind, text.slice(start, end))) {
      let first = true
      for (const sentence of splitSentences(plain(part))) {
        sentences.push({ text: sentence, first, kind, path })
        first = false
      }
      await turn()
    }
  }
  return sentences
}

/** The lines of a list or a table stand for themselves; those of a paragraph continue each other. */
function partsOf(kind: BlockKind, text: string): string[] {
  if (kind === 'table') return text.split(/[|\n]/).filter((cell) => /[\p{L}\p{N}]/u.test(cell))
  if (kind !== 'list') return windows(text)
  const items: string[] = []
  for (const line of text.split('\n')) {
    const item = line.trim().replace(ITEM, '')
    if (items.length === 0 || item !== line.trim()) items.push(item)
    else items.push(`${items.pop()} ${item}`)
  }
  return items.flatMap(windows)
}

/** A paragraph of this length is worked on at once. */
const WINDOW = 4_000
const ITEM = /^(?:[-*+]|\d{1,10}[.)])\s(?:\[[ xX]\] )?/

/** Cuts a very long paragraph at white space. */
export function windows(text: string): string[] {
  const parts: string[] = []
  let at = 0
  while (text.length - at > WINDOW) {
    const space = text.lastIndexOf(' ', at + WINDOW)
    const end = space > at + WINDOW / 2 ? space : at + WINDOW
    parts.push(text.slice(at, end).toWellFormed())
    at = end
  }
  parts.push(text.slice(at))
  return parts
}

const LINK = /!?\[([^[\]]{0,300})\](?:\([^()]{0,1000}\)|\[[^[\]]{0,100}\])/g
const TAG = /<\/?[a-zA-Z!][^<>]{0,300}>/g
const MARKS = /\*\*|__|~~|`|(?<![\p{L}\p{N}])[*_](?=[\p{L}\p{N}])|(?<=[\p{L}\p{N}.,!?])[*_](?![\p{L}\p{N}])/gu
const QUOTE = /^> ?/gm
const SPACES = /\s+/g

/** Text without the marks of Markdown; a link becomes its words, an image what it shows is dropped. */
function plain(text: string): string {
  return text
    .replaceAll(QUOTE, '')
    .replaceAll(LINK, (link: string, words: string) => (link.startsWith('!') ? '' : words))
    .replaceAll(TAG, ' ')
    .replaceAll(MARKS, '')
    .replaceAll(SPACES, ' ')
    .trim()
}

function* splitSentences(text: string): Generator<string> {
  let start = 0
  for (let at = 1; at <= text.length; at++) {
    const long = at - start >= MAX_SENTENCE && text.charAt(at) === ' '
    const ends = at === text.length || long || (endingAt(text, at) === 'sentence' && !abbreviated(text, start, at))
    if (!ends) continue
    const sentence = text
      .slice(start, at)
      .trim()
      .slice(0, 2 * MAX_SENTENCE)
      .toWellFormed()
    if (sentence !== '') yield sentence
    start = at
  }
}

/** "Dr. Smith" and "J. Smith" go on. */
function abbreviated(text: string, start: number, at: number): boolean {
  if (text.charAt(at - 1) !== '.') return false
  const word = text.slice(Math.max(start, text.lastIndexOf(' ', at - 1) + 1), at - 1).replace(/^[("'“‘[]/, '')
  return ABBREVIATIONS.has(word.toLowerCase()) || /^\p{Lu}$/u.test(word)
}

/** The commonest words of the languages that are written most, besides English. */
const OTHER_STOP_WORDS = `der die das und ist nicht ein eine einen einem einer den dem des mit von für auf im zu sich auch als
  sind war wird werden haben hat bei aus nach wie oder aber wenn nur noch dass es er sie wir ihr ich
  le la les un une des du de et est pas que qui dans pour sur avec au aux ce cette ces son sa ses il elle nous vous ils ne se par plus ou
  el los las del y en por con para una lo su al como más pero sus o este ha si está`

/** English words that say nothing about a subject. */
const COMMON = `also would could may might must shall one two many much every another however therefore thus still yet already even
  get gets got make makes made use uses used using say says said see seen like well way new first last since without within
  among per via etc ie eg let us upon whether either neither yes please thing things something anything nothing everything told
  whose never ever whole away enough left else around always often soon later good better best great able need needs want wants
  come comes came go goes went gone take takes took taken give gives gave given put puts keep keeps kept`

const SILENT: ReadonlySet<string> = new Set([
  ...STOP_WORDS,
  ...OTHER_STOP_WORDS.split(/\s+/),
  ...COMMON.split(/\s+/).filter((word) => word !== ''),
])

/** Whether a word in lower case says nothing about the subject of a text. */
export const isSilent = (word: string): boolean => SILENT.has(word)

/** The words of a text that say what it is about, without their endings. */
export const tellingWords = (text: string): string[] =>
  searchWords(text)
    .filter((word) => !SILENT.has(word) && (word.length > 1 || word > '\u3000') && !/^\d+$/.test(word))
    .map(stem)

/** A word without its English ending, so that "charges" and "charged" are the same. */
export function stem(word: string): string {
  if (word.length < 5) return word.length === 4 && /[^s]s$/.test(word) ? word.slice(0, -1) : word
  const bare = word.replace(/(?:ations?|ing|ies|ied|ed|es|s|ly|e|y)$/, '')
  return bare.length < 3 ? word : bare.replace(/([bdfgklmnprt])\1$/, '$1')
}
