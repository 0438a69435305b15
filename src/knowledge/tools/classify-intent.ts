import type { Handler } from '../../core/handler.ts'
import { requireText } from '../../kinds/builtin/read-parameter.ts'
import { askFor, type Wanted } from './ask-for.ts'
import { ModelAsker } from './model-asker.ts'
import { answerSchema, builtinDefinition, LONGEST_TEXT, type ModelTool, type ModelToolParts } from './model-tool.ts'
import { propertyOf } from './property-of.ts'
import { LONGEST_NAME, namesSchema, readNames } from './read-names.ts'

interface Classified {
  readonly intent: string
  readonly confidence: number
}

const UNKNOWN: Classified = { intent: 'unknown', confidence: 0 }
/** Of a model that does not say how sure it is. */
const UNSAID = 0.5

const TAKEN = answerSchema({
  intent: { type: 'string', minLength: 1, maxLength: LONGEST_NAME },
  confidence: { type: 'number', minimum: 0, maximum: 1 },
})

/** `classify_intent`: what whoever wrote a text wants. */
export function classifyIntentTool({ model }: ModelToolParts): ModelTool {
  const asker = new ModelAsker('classify_intent', model)
  const handler: Handler = async (params, { signal }) => {
    const text = requireText(params, 'text', LONGEST_TEXT)
    const categories = readNames(params, 'categories')
    if (text.trim() === '') return UNKNOWN
    const { answer = UNKNOWN } = await askFor(asker, wantedOf(text, categories), signal)
    const fits = answer.intent !== UNKNOWN.intent || categories?.includes(UNKNOWN.intent)
    return fits ? answer : UNKNOWN
  }
  return { definition, handler }
}

function wantedOf(document: string, categories: readonly string[] | undefined): Wanted<Classified> {
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
    taken: TAKEN,
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

const definition = builtinDefinition(
  'classify_intent',
  'Says what whoever wrote a text wants: one of the given categories, or a short name, and how sure that is (0 to 1).',
  {
    text: { type: 'string', maxLength: LONGEST_TEXT, description: 'The text to classify.' },
    categories: {
      ...namesSchema,
      description: 'The intents to choose from. Without them the intent is named freely.',
    },
  },
  ['text'],
)
