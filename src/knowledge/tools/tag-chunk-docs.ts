import type { Handler, HandlerContext } from '../../core/handler.ts'
import { writeLog } from '../../core/log.ts'
import { readInteger, requireText } from '../../kinds/builtin/read-parameter.ts'
import {
  DEFAULT_CHUNK_SIZE,
  MAX_CHUNK_SIZE,
  MIN_CHUNK_SIZE,
  type Piece,
  splitDocument,
} from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'
import { inTurns, isSilent, stem, type Turn, windows } from './embedded/prose.ts'
import {
  answerSchema,
  askFor,
  builtinDefinition,
  listed,
  MAX_NAME,
  MAX_TEXT,
  type Method,
  MODEL_TOOL_TIMEOUT_MS,
  ModelAsker,
  type ModelTool,
  type ModelToolParts,
  propertyOf,
} from './model-tool.ts'

const CALLS_AT_A_TIME = 5
/** The model is considered unavailable. */
const MAX_FAILURES = 5
/** Returns partial results before the tool's timeout discards them. */
const BUDGET_MS = MODEL_TOOL_TIMEOUT_MS - 3_000
const MAX_TAGS = 10

const TAGS = { type: 'array', items: { type: 'string' } }
/** Without a limit, small models continue a list endlessly. */
const ASKED = answerSchema({ tags: { ...TAGS, maxItems: MAX_TAGS } })
const TAKEN = answerSchema({ tags: TAGS })

/** `tag_chunk_docs`: splits a document and tags its chunks, by a model or by their keywords. */
export function tagChunkDocsTool({ model, clock }: ModelToolParts): ModelTool {
  const shared = new ModelAsker('tag_chunk_docs', model)
  const handler: Handler = async (params, context) => {
    const asker = shared.for(context)
    const content = requireText(params, 'content', MAX_TEXT)
    const chunkSize = readInteger(params, 'chunk_size') ?? DEFAULT_CHUNK_SIZE
    // Without overlap, the chunks add up to the document.
    const pieces = splitDocument(textDocument(content, 'document'), { chunkSize, overlap: 0 })
    if (!(await asker.hasModel())) {
      return tagged(pieces, await keywordTags(pieces, inTurns(context.signal)), 'embedded')
    }
    const budget = new AbortController()
    const cancelTimer = clock.after(BUDGET_MS, () => budget.abort())
    try {
      const tags = await tagsOf(asker, pieces, context, budget.signal)
      return tagged(pieces, tags, 'model')
    } finally {
      cancelTimer()
    }
  }
  return { definition, handler }
}

const tagged = (pieces: readonly Piece[], tags: readonly (readonly string[])[], method: Method) => ({
  chunks: pieces.map(({ text }, index) => ({ index, text, tags: tags[index] ?? [] })),
  method,
})

/** Chunks without an answer in time get no tags. Throws if the model never answered. */
async function tagsOf(
  asker: ModelAsker,
  pieces: readonly Piece[],
  context: HandlerContext,
  late: AbortSignal,
): Promise<(readonly string[])[]> {
  const signal = AbortSignal.any([context.signal, late])
  const tags: string[][] = []
  let [answered, failed, inARow] = [0, 0, 0]
  let failure: unknown
  const waiting = pieces.entries()
  const work = async (): Promise<void> => {
    for (const [index, piece] of waiting) {
      if (inARow >= MAX_FAILURES) return
      try {
        tags[index] = await tagsOfPiece(asker, piece, signal)
        answered++
        inARow = 0
      } catch (error) {
        context.signal.throwIfAborted()
        if (late.aborted) return
        failure ??= error
        failed++
        inARow++
      }
      context.report({ progress: answered + failed, total: pieces.length })
    }
  }
  await Promise.all(Array.from({ length: CALLS_AT_A_TIME }, work))
  if (answered === 0 && failure !== undefined) throw failure
  const untagged = pieces.length - answered
  if (untagged > 0) {
    const fields = { tool: asker.tool, chunks: pieces.length, untagged, failed, err: failure }
    writeLog(context.log, 'warn', fields, 'Some chunks have no tags: the model failed, or time ran out')
  }
  return tags
}

async function tagsOfPiece(asker: ModelAsker, { text, heading }: Piece, signal: AbortSignal): Promise<string[]> {
  const { answer } = await askFor<{ tags: string[] }>(
    asker,
    {
      document: heading === '' ? text : `[${heading}]\n${text}`,
      instructions:
        `You tag parts of documents for search. Give two to five tags for what this part is about, at most ${MAX_TAGS}: ` +
        'short, in lower case, in the language of the document, the most telling first.',
      asked: ASKED,
      taken: TAKEN,
      straighten: (value) => {
        const tags = Array.isArray(value) ? value : propertyOf(value, 'tags')
        return { tags: listed(tags)?.filter((tag) => tag.length <= MAX_NAME) ?? tags }
      },
    },
    signal,
  )
  return answer?.tags.slice(0, MAX_TAGS) ?? []
}

const definition = builtinDefinition(
  'tag_chunk_docs',
  'Splits a document into chunks at headings, paragraphs and sentences, and tags each chunk with its topics.',
  {
    content: { type: 'string', maxLength: MAX_TEXT, description: 'The document: plain text or Markdown.' },
    chunk_size: {
      type: 'integer',
      minimum: MIN_CHUNK_SIZE,
      maximum: MAX_CHUNK_SIZE,
      default: DEFAULT_CHUNK_SIZE,
      description: 'The maximum number of characters per chunk.',
    },
  },
  ['content'],
)

const MAX_KEYWORDS = 5
const MAX_PHRASE_WORDS = 3
/** A phrase counts up to this often, so that a word in every line doesn't fill the list. */
const MAX_PHRASE_COUNT = 5
/** What a phrase in the headings, and one that the document has once, count. */
const [HEADING, ONCE] = [2, 0.4]
const WORD = /[\p{L}\p{N}]+(?:['’_-][\p{L}\p{N}]+)*/gu
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u
const NOISE = /https?:\/\/[^\s<>"')\]]{1,2000}|\]\([^()]{0,1000}\)|<\/?[a-zA-Z!][^<>]{0,300}>/g
const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

interface Tagged {
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
async function keywordTags(chunks: readonly Tagged[], turn: Turn = () => {}): Promise<string[][]> {
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
    if (run.length > 1 && run.length <= MAX_PHRASE_WORDS) add(phrases, run, headed)
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
    const score = Math.min(MAX_PHRASE_COUNT, phrase.count) * rarity * length * once * (phrase.headed ? HEADING : 1)
    return { ...phrase, score }
  })
  const chosen: typeof scored = []
  for (const phrase of scored.sort((a, b) => b.score - a.score)) {
    // A tag must not repeat the words of a better one.
    if (!chosen.some((one) => phrase.words.some((word) => one.words.includes(word)))) chosen.push(phrase)
    if (chosen.length >= MAX_KEYWORDS) break
  }
  return chosen.map(({ shown }) => shown)
}
