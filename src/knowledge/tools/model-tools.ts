import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { Handler, HandlerContext } from '../../core/handler.ts'
import { writeLog } from '../../core/log.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import { badParameter, readInteger, readText, requireText } from '../../kinds/builtin/read-parameter.ts'
import type { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { Collections } from '../collections/collections.ts'
import {
  DEFAULT_CHUNK_SIZE,
  MAX_CHUNK_SIZE,
  MIN_CHUNK_SIZE,
  type Piece,
  splitDocument,
} from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'
import { ingestDocsTool, ragQueryHandler } from './collection-tools.ts'
import {
  answerSchema,
  askFor,
  builtinDefinition,
  listed,
  MAX_NAME,
  MAX_TEXT,
  MODEL_TOOL_TIMEOUT_MS,
  ModelAsker,
  type ModelTool,
  type ModelToolParts,
  namesSchema,
  propertyOf,
  readNames,
  type Wanted,
} from './model-tool.ts'

/** The knowledge tools that only need a model. */
export const modelTools = (parts: ModelToolParts): ModelTool[] => [
  summarizeTool(parts),
  extractEntitiesTool(parts),
  classifyIntentTool(parts),
  tagChunkDocsTool(parts),
]

type Format = 'paragraph' | 'bullet_points'

const FORMATS: Readonly<Record<Format, string>> = {
  paragraph: 'as one paragraph of plain text, without headings and lists',
  bullet_points: 'as a list of its main points: one line each, every line beginning with "- "',
}

const SUMMARY_SCHEMA = answerSchema({ summary: { type: 'string' } })

function summarizeTool({ model }: ModelToolParts): ModelTool {
  const asker = new ModelAsker('summarize', model)
  const handler: Handler = async (params, { signal }) => {
    const text = requireText(params, 'text', MAX_TEXT)
    const format = readFormat(readText(params, 'format', 100) ?? 'paragraph')
    const summary = text.trim() === '' ? '' : await summaryOf(asker, text, format, signal)
    return { summary, format, metadata: { input_length: text.length, summary_length: summary.length } }
  }
  return { definition: summarizeDefinition, handler }
}

async function summaryOf(asker: ModelAsker, document: string, format: Format, signal: AbortSignal): Promise<string> {
  const { answer, reply } = await askFor<{ summary: string }>(
    asker,
    {
      document,
      instructions:
        `You summarize documents. Say what the document says, in its own language, ${FORMATS[format]}. Keep names, ` +
        'numbers and decisions; add nothing that is not in it, and no opinion.',
      asked: SUMMARY_SCHEMA,
      taken: SUMMARY_SCHEMA,
      straighten: (value) => ({ summary: joined(propertyOf(value, 'summary'), format) }),
      prose: (summary) => ({ summary }),
    },
    signal,
  )
  return (answer?.summary ?? reply).trim()
}

/** Models sometimes return a list of points. */
function joined(summary: unknown, format: Format): unknown {
  if (!Array.isArray(summary) || !summary.every((line) => typeof line === 'string')) return summary
  if (format === 'paragraph') return summary.join(' ')
  return summary.map((line) => (/^\s*[-*•]/.test(line) ? line : `- ${line}`)).join('\n')
}

function readFormat(format: string): Format {
  if (Object.hasOwn(FORMATS, format)) return format as Format
  throw badParameter(`format must be one of: ${Object.keys(FORMATS).join(', ')}, not ${quoted(format)}`)
}

const summarizeDefinition = builtinDefinition(
  'summarize',
  'Summarizes a text in its own language, as a paragraph or as bullet points.',
  {
    text: { type: 'string', maxLength: MAX_TEXT, description: 'The text to summarize.' },
    format: {
      type: 'string',
      enum: Object.keys(FORMATS),
      default: 'paragraph',
      description: 'How the summary is written.',
    },
  },
  ['text'],
)

type Entities = Readonly<Record<string, readonly string[]>>

const DEFAULT_TYPES = ['people', 'places', 'organizations']
const NAMES = { type: 'array', items: { type: 'string' } }
const ENTITIES_SCHEMA = answerSchema({ entities: { type: 'object', additionalProperties: NAMES } })

function extractEntitiesTool({ model }: ModelToolParts): ModelTool {
  const asker = new ModelAsker('extract_entities', model)
  const handler: Handler = async (params, { signal }) => {
    const text = requireText(params, 'text', MAX_TEXT)
    const types = readNames(params, 'entity_types') ?? DEFAULT_TYPES
    const found = text.trim() === '' ? undefined : await askFor(asker, wantedEntities(text, types), signal)
    const entities = found?.answer?.entities ?? {}
    return { entities: Object.fromEntries(types.map((type) => [type, entities[type] ?? []])) }
  }
  return { definition: entitiesDefinition, handler }
}

const wantedEntities = (document: string, types: readonly string[]): Wanted<{ entities: Entities }> => ({
  document,
  instructions:
    `You find the entities that a document names, of these types: ${JSON.stringify(types)}. List each entity once, ` +
    'under its type, written as in the document. A type of which there are none gets an empty list. Add none that the ' +
    'document does not name.',
  asked: answerSchema({ entities: answerSchema(Object.fromEntries(types.map((type) => [type, NAMES]))) }),
  taken: ENTITIES_SCHEMA,
  straighten: (value) => straighten(value, types),
})

/** Accepts the lists with or without `entities` around them. */
function straighten(value: object, types: readonly string[]): unknown {
  const inner = propertyOf(value, 'entities')
  const lists = typeof inner === 'object' && inner !== null ? inner : value
  const named = types.map((type) => [type, propertyOf(lists, type)] as const)
  const given = named.filter(([, list]) => list !== undefined)
  if (given.length === 0 && Object.keys(lists).length > 0) return {}
  return { entities: Object.fromEntries(given.map(([type, list]) => [type, listed(list) ?? list])) }
}

const entitiesDefinition = builtinDefinition(
  'extract_entities',
  'Lists the entities in a text by type, such as people, places and organizations.',
  {
    text: { type: 'string', maxLength: MAX_TEXT, description: 'The text to search.' },
    entity_types: {
      ...namesSchema,
      default: DEFAULT_TYPES,
      description: 'The types to look for, such as "people", "products" or "dates".',
    },
  },
  ['text'],
)

interface Classified {
  readonly intent: string
  readonly confidence: number
}

const UNKNOWN: Classified = { intent: 'unknown', confidence: 0 }
/** If the model states no confidence. */
const UNSAID = 0.5

const INTENT_SCHEMA = answerSchema({
  intent: { type: 'string', minLength: 1, maxLength: MAX_NAME },
  confidence: { type: 'number', minimum: 0, maximum: 1 },
})

function classifyIntentTool({ model }: ModelToolParts): ModelTool {
  const asker = new ModelAsker('classify_intent', model)
  const handler: Handler = async (params, { signal }) => {
    const text = requireText(params, 'text', MAX_TEXT)
    const categories = readNames(params, 'categories')
    if (text.trim() === '') return UNKNOWN
    const { answer = UNKNOWN } = await askFor(asker, wantedIntent(text, categories), signal)
    const fits = answer.intent !== UNKNOWN.intent || categories?.includes(UNKNOWN.intent)
    return fits ? answer : UNKNOWN
  }
  return { definition: intentDefinition, handler }
}

function wantedIntent(document: string, categories: readonly string[] | undefined): Wanted<Classified> {
  const intents = categories && [...new Set([...categories, UNKNOWN.intent])]
  return {
    document,
    instructions:
      "You classify the intent of the document's author, and say how sure you are, from 0 (a guess) to 1 " +
      `(certain). ${choice(intents)}`,
    asked: answerSchema({
      intent: { type: 'string', ...(intents && { enum: intents }) },
      confidence: { type: 'number' },
    }),
    taken: INTENT_SCHEMA,
    straighten: (value) => ({
      intent: intentOf(propertyOf(value, 'intent'), intents),
      confidence: confidenceOf(propertyOf(value, 'confidence')),
    }),
    problem: ({ intent }) =>
      intents === undefined || intents.includes(intent) ? undefined : `intent must be one of: ${intents.join(', ')}`,
  }
}

const choice = (intents: readonly string[] | undefined): string =>
  intents === undefined
    ? 'Name the intent by one to three words in snake_case, such as "cancel_order".'
    : `The intent is one of these: ${JSON.stringify(intents)}. It is "${UNKNOWN.intent}" only where none of the others fits.`

function intentOf(given: unknown, intents: readonly string[] | undefined): unknown {
  if (typeof given !== 'string') return given
  const intent = given.trim()
  return intents?.find((one) => one.toLowerCase() === intent.toLowerCase()) ?? intent
}

function confidenceOf(given: unknown): number {
  const written = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  if (typeof written !== 'number' || Number.isNaN(written)) return UNSAID
  return Math.min(1, Math.max(0, written))
}

const intentDefinition = builtinDefinition(
  'classify_intent',
  'Classifies the intent of a text as one of the given categories or a short name, with a confidence from 0 to 1.',
  {
    text: { type: 'string', maxLength: MAX_TEXT, description: 'The text to classify.' },
    categories: {
      ...namesSchema,
      description: 'The intents to choose from. Without them the intent is named freely.',
    },
  },
  ['text'],
)

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

function tagChunkDocsTool({ model, clock }: ModelToolParts): ModelTool {
  const asker = new ModelAsker('tag_chunk_docs', model)
  const handler: Handler = async (params, context) => {
    const content = requireText(params, 'content', MAX_TEXT)
    const chunkSize = readInteger(params, 'chunk_size') ?? DEFAULT_CHUNK_SIZE
    // Without overlap, the chunks add up to the document.
    const pieces = splitDocument(textDocument(content, 'document'), { chunkSize, overlap: 0 })
    const budget = new AbortController()
    const cancelTimer = clock.after(BUDGET_MS, () => budget.abort())
    try {
      const tags = await tagsOf(asker, pieces, context, budget.signal)
      return { chunks: pieces.map(({ text }, index) => ({ index, text, tags: tags[index] ?? [] })) }
    } finally {
      cancelTimer()
    }
  }
  return { definition, handler }
}

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

/** Distinguishes our handlers from those of the host application. */
const ours = new WeakSet<object>()

/** Adds the handlers of the knowledge tools, but keeps handlers of the host application. */
export function addKnowledgeHandlers(handlers: ToolHandlers, collections: Collections, parts: ModelToolParts): void {
  const add = (name: string, handler: Handler, effect: Effect): void => {
    const there = handlers.get(name)
    if (there !== undefined && !ours.has(there)) return
    ours.add(handler)
    handlers.register(name, handler, { effect })
  }
  add('rag_query', ragQueryHandler(collections), 'read')
  for (const { definition, handler } of knowledgeTools(collections, parts)) {
    add(definition.name, handler, definition.effect ?? 'write')
  }
}

/** Registers the knowledge tools that ask a model, unless a tool of that name exists. */
export function registerModelTools(registry: ToolRegistry, parts: ModelToolParts): void {
  for (const { definition } of modelTools(parts)) if (!registry.has(definition.name)) registry.register(definition)
}

/** For configurations that list a tool by name only. */
export const knowledgeDefinitions = (
  collections: Collections,
  parts: ModelToolParts,
): ReadonlyMap<string, ToolDefinition> =>
  new Map(knowledgeTools(collections, parts).map(({ definition }) => [definition.name, definition]))

const knowledgeTools = (collections: Collections, parts: ModelToolParts) => [
  ...modelTools(parts),
  ingestDocsTool(collections),
]
