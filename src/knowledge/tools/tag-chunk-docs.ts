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
import { inTurns } from './embedded/prose.ts'
import { keywordTags } from './embedded/tags.ts'
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
