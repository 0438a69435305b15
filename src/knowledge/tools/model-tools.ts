import type { Handler } from '../../core/handler.ts'
import { badParameter, quoted, readText, requireText } from '../../kinds/builtin/read-parameter.ts'
import { askFor, listed, propertyOf, type Wanted } from './ask-for.ts'
import {
  answerSchema,
  builtinDefinition,
  MAX_NAME,
  MAX_TEXT,
  ModelAsker,
  type ModelTool,
  type ModelToolParts,
  namesSchema,
  readNames,
} from './model-tool.ts'
import { tagChunkDocsTool } from './tag-chunk-docs.ts'

/** The knowledge tools that need nothing but a model. */
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

/** `summarize`: what a text says, in short. */
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

/** A list of points is a summary too. */
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
  'Summarizes a text: what it says, in short, in its own language, as a paragraph or as bullet points.',
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

/** `extract_entities`: the names in a text, by what they are names of. */
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

/** The lists of the types asked for, with or without `entities` around them. */
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
  'Finds the entities that a text names, such as people, places and organizations, and lists them by type.',
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
/** Of a model that does not say how sure it is. */
const UNSAID = 0.5

const INTENT_SCHEMA = answerSchema({
  intent: { type: 'string', minLength: 1, maxLength: MAX_NAME },
  confidence: { type: 'number', minimum: 0, maximum: 1 },
})

/** `classify_intent`: the intent of the author of a text. */
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
      'You say what whoever wrote the document wants, as one intent, and how sure you are, from 0 (a guess) to 1 ' +
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

/** As the caller writes it. */
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
  'Says what whoever wrote a text wants: one of the given categories, or a short name, and how sure that is (0 to 1).',
  {
    text: { type: 'string', maxLength: MAX_TEXT, description: 'The text to classify.' },
    categories: {
      ...namesSchema,
      description: 'The intents to choose from. Without them the intent is named freely.',
    },
  },
  ['text'],
)
