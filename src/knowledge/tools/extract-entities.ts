import type { Handler } from '../../core/handler.ts'
import { requireText } from '../../kinds/builtin/read-parameter.ts'
import { askFor, type Wanted } from './ask-for.ts'
import { listed } from './listed.ts'
import { ModelAsker } from './model-asker.ts'
import { answerSchema, builtinDefinition, LONGEST_TEXT, type ModelTool, type ModelToolParts } from './model-tool.ts'
import { propertyOf } from './property-of.ts'
import { namesSchema, readNames } from './read-names.ts'

type Entities = Readonly<Record<string, readonly string[]>>

const DEFAULT_TYPES = ['people', 'places', 'organizations']
const NAMES = { type: 'array', items: { type: 'string' } }
const TAKEN = answerSchema({ entities: { type: 'object', additionalProperties: NAMES } })

/** `extract_entities`: the names in a text, by what they are names of. */
export function extractEntitiesTool({ model }: ModelToolParts): ModelTool {
  const asker = new ModelAsker('extract_entities', model)
  const handler: Handler = async (params, { signal }) => {
    const text = requireText(params, 'text', LONGEST_TEXT)
    const types = readNames(params, 'entity_types') ?? DEFAULT_TYPES
    const found = text.trim() === '' ? undefined : await askFor(asker, wantedOf(text, types), signal)
    const entities = found?.answer?.entities ?? {}
    return { entities: Object.fromEntries(types.map((type) => [type, entities[type] ?? []])) }
  }
  return { definition, handler }
}

const wantedOf = (document: string, types: readonly string[]): Wanted<{ entities: Entities }> => ({
  document,
  instructions:
    `You find the entities that a document names, of these types: ${JSON.stringify(types)}. List each entity once, ` +
    'under its type, written as in the document. A type of which there are none gets an empty list. Add none that the ' +
    'document does not name.',
  asked: answerSchema({ entities: answerSchema(Object.fromEntries(types.map((type) => [type, NAMES]))) }),
  taken: TAKEN,
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

const definition = builtinDefinition(
  'extract_entities',
  'Finds the entities that a text names, such as people, places and organizations, and lists them by type.',
  {
    text: { type: 'string', maxLength: LONGEST_TEXT, description: 'The text to search.' },
    entity_types: {
      ...namesSchema,
      default: DEFAULT_TYPES,
      description: 'The types to look for, such as "people", "products" or "dates".',
    },
  },
  ['text'],
)
