import type { Handler } from '../../core/handler.ts'
import { ownValue } from '../../core/json/json-type.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import { badParameter, readText, requireText } from '../../kinds/builtin/read-parameter.ts'
import type { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { Collections } from '../collections/collections.ts'
import { ingestDocsTool, ragQueryHandler } from './collection-tools.ts'
import { ENTITY_TYPES, entityType, findEntities } from './embedded/entities.ts'
import { classifyIntent, DEFAULT_INTENTS, type Intent, UNKNOWN } from './embedded/intent.ts'
import { inTurns } from './embedded/prose.ts'
import { keySentences } from './embedded/summary.ts'
import {
  answerSchema,
  askFor,
  builtinDefinition,
  listed,
  MAX_NAME,
  MAX_TEXT,
  type Method,
  ModelAsker,
  type ModelTool,
  type ModelToolParts,
  namesSchema,
  propertyOf,
  readNames,
  type Wanted,
} from './model-tool.ts'
import { tagChunkDocsTool } from './tag-chunk-docs.ts'

/** The knowledge tools that work on a text: by a configured model, otherwise by rules. */
export const modelTools = (parts: ModelToolParts): ModelTool[] => [
  summarizeTool(parts),
  extractEntitiesTool(parts),
  classifyIntentTool(parts),
  tagChunkDocsTool(parts),
]

const methodOf = async (asker: ModelAsker): Promise<Method> => ((await asker.hasModel()) ? 'model' : 'embedded')

type Format = 'paragraph' | 'bullet_points'

const FORMATS: Readonly<Record<Format, string>> = {
  paragraph: 'as one paragraph of plain text, without headings and lists',
  bullet_points: 'as a list of its main points: one line each, every line beginning with "- "',
}

const SUMMARY_SCHEMA = answerSchema({ summary: { type: 'string' } })

function summarizeTool({ model }: ModelToolParts): ModelTool {
  const shared = new ModelAsker('summarize', model)
  const handler: Handler = async (params, context) => {
    const { signal } = context
    const asker = shared.for(context)
    const text = requireText(params, 'text', MAX_TEXT)
    const format = readFormat(readText(params, 'format', 100) ?? 'paragraph')
    const method = await methodOf(asker)
    const summarize = method === 'model' ? summaryOf : extractOf
    const summary = text.trim() === '' ? '' : await summarize(asker, text, format, signal)
    return { summary, format, metadata: { input_length: text.length, summary_length: summary.length }, method }
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

/** The sentences of the text that say most, as they are written. */
async function extractOf(_: ModelAsker, document: string, format: Format, signal: AbortSignal): Promise<string> {
  const sentences = await keySentences(document, inTurns(signal))
  if (format === 'bullet_points') return sentences.map((sentence) => `- ${sentence}`).join('\n')
  return sentences.map((sentence) => (/[\p{L}\p{N}]$/u.test(sentence) ? `${sentence}.` : sentence)).join(' ')
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
  const shared = new ModelAsker('extract_entities', model)
  const handler: Handler = async (params, context) => {
    const { signal } = context
    const asker = shared.for(context)
    const text = requireText(params, 'text', MAX_TEXT)
    const types = readNames(params, 'entity_types') ?? DEFAULT_TYPES
    const method = await methodOf(asker)
    if (method === 'embedded') return { ...(await entitiesByRules(text, types, signal)), method }
    const found = text.trim() === '' ? undefined : await askFor(asker, wantedEntities(text, types), signal)
    const entities = found?.answer?.entities ?? {}
    return { entities: Object.fromEntries(types.map((type) => [type, ownValue(entities, type) ?? []])), method }
  }
  return { definition: entitiesDefinition, handler }
}

/** Says which types the rules don't know: an empty list would mean that the text names none. */
async function entitiesByRules(text: string, types: readonly string[], signal: AbortSignal) {
  const found = await findEntities(text, inTurns(signal))
  const listOf = (name: string): string[] => {
    const type = entityType(name)
    return type === undefined ? [] : found(type)
  }
  const unknown = types.filter((type) => entityType(type) === undefined)
  return {
    entities: Object.fromEntries(types.map((type) => [type, listOf(type)])),
    ...(unknown.length > 0 && {
      note: `Without a model, these types are not recognized: ${unknown.join(', ')}. Recognized are ${ENTITY_TYPES.join(', ')}.`,
    }),
  }
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

/** If the model states no confidence. */
const UNSAID = 0.5

const INTENT_SCHEMA = answerSchema({
  intent: { type: 'string', minLength: 1, maxLength: MAX_NAME },
  confidence: { type: 'number', minimum: 0, maximum: 1 },
})

function classifyIntentTool({ model, embed }: ModelToolParts): ModelTool {
  const shared = new ModelAsker('classify_intent', model)
  const handler: Handler = async (params, context) => {
    const { signal, tenant } = context
    const asker = shared.for(context)
    const text = requireText(params, 'text', MAX_TEXT)
    const categories = readNames(params, 'categories') ?? DEFAULT_INTENTS
    const method = await methodOf(asker)
    if (text.trim() === '') return { ...UNKNOWN, method }
    if (method === 'embedded') {
      const vectors = async (texts: readonly string[]) => embed?.(texts, signal, tenant)
      return { ...(await classifyIntent(text, categories, vectors)), method }
    }
    const { answer = UNKNOWN } = await askFor(asker, wantedIntent(text, categories), signal)
    const fits = answer.intent !== UNKNOWN.intent || categories.includes(UNKNOWN.intent)
    return { ...(fits ? answer : UNKNOWN), method }
  }
  return { definition: intentDefinition, handler }
}

function wantedIntent(document: string, categories: readonly string[]): Wanted<Intent> {
  const intents = [...new Set([...categories, UNKNOWN.intent])]
  return {
    document,
    instructions:
      "You classify the intent of the document's author, and say how sure you are, from 0 (a guess) to 1 (certain). " +
      `The intent is one of these: ${JSON.stringify(intents)}. It is "${UNKNOWN.intent}" only where none of the others fits.`,
    asked: answerSchema({ intent: { type: 'string', enum: intents }, confidence: { type: 'number' } }),
    taken: INTENT_SCHEMA,
    straighten: (value) => ({
      intent: intentOf(propertyOf(value, 'intent'), intents),
      confidence: confidenceOf(propertyOf(value, 'confidence')),
    }),
    problem: ({ intent }) => (intents.includes(intent) ? undefined : `intent must be one of: ${intents.join(', ')}`),
  }
}

function intentOf(given: unknown, intents: readonly string[]): unknown {
  if (typeof given !== 'string') return given
  const intent = given.trim()
  return intents.find((one) => one.toLowerCase() === intent.toLowerCase()) ?? intent
}

function confidenceOf(given: unknown): number {
  const written = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  if (typeof written !== 'number' || Number.isNaN(written)) return UNSAID
  return Math.min(1, Math.max(0, written))
}

const intentDefinition = builtinDefinition(
  'classify_intent',
  'Classifies what the author of a text wants as one of the given categories, with a confidence from 0 to 1.',
  {
    text: { type: 'string', maxLength: MAX_TEXT, description: 'The text to classify.' },
    categories: {
      ...namesSchema,
      default: DEFAULT_INTENTS,
      description: 'The intents to choose from.',
    },
  },
  ['text'],
)

/** Distinguishes our handlers from those of the host application. */
const ours = new WeakSet<object>()

/** Adds the handlers of the knowledge tools, but keeps handlers of the host application. */
export function addKnowledgeHandlers(handlers: ToolHandlers, collections: Collections, parts: ModelToolParts): void {
  const add = (name: string, handler: Handler, effect: Effect): void => {
    const there = handlers.get(name)
    if (there !== undefined && !ours.has(there)) return
    ours.add(handler)
    handlers.register(name, handler, { effect, shared: true })
  }
  add('rag_query', ragQueryHandler(collections), 'read')
  for (const { definition, handler } of knowledgeTools(collections, parts)) {
    add(definition.name, handler, definition.effect ?? 'write')
  }
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
