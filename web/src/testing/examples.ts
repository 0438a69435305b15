import type { JsonSchema } from '../../../src/core/tool.ts'
import type { PageTool, WholePageTool } from '../../../src/server/http/views.ts'

/** An example query with the expected behaviour. */
export interface Example {
  readonly title: string
  readonly query: string
  readonly expected: string
  /** Matches the tools that it needs; absent if it needs none. */
  readonly needs?: RegExp
}

export const EXAMPLES: readonly Example[] = [
  {
    title: 'Simple Tool Call',
    query: "What's the weather in Paris?",
    expected: 'Calls a weather tool once, with Paris, and answers with its result.',
    needs: /weather/i,
  },
  {
    title: 'Calculator',
    query: 'Calculate 15% tip on $45',
    expected: 'Calls a calculator and answers $6.75.',
    needs: /calc/i,
  },
  {
    title: 'Direct Answer Test',
    query: "What's 2+2?",
    expected: 'Answers 4. It may call a tool but needs none.',
  },
  {
    title: 'RAG Tool',
    query: 'Search for Python decorators in the docs',
    expected: 'Calls the document search and answers from its results, or says that it found nothing.',
    needs: /search|knowledge|docs|documents/i,
  },
]

/** How many tools of the installation get an example of their own. */
const OWN = 4

/** The fixed examples that the tools can answer. */
export const fittingExamples = (tools: readonly Pick<PageTool, 'name'>[]): Example[] =>
  EXAMPLES.filter(({ needs }) => needs === undefined || tools.some(({ name }) => needs.test(name)))

/** The tools that get an example: first those of the installation, then those that came with it. */
export function ownTools(tools: readonly PageTool[]): PageTool[] {
  const usable = tools.filter(({ broken, deprecated }) => broken === undefined && deprecated === undefined)
  const isKnown = ({ name }: PageTool) => EXAMPLES.some(({ needs }) => needs?.test(name))
  return usable.filter((tool) => !isKnown(tool)).slice(0, OWN)
}

type Property = Readonly<Record<string, unknown>>

/** A query that only this tool can answer, from its schema. */
export function exampleOf({ name, parameters }: Pick<WholePageTool, 'name' | 'parameters'>): Example {
  const required = new Set((parameters as { required?: readonly string[] }).required ?? [])
  const properties = Object.entries((parameters as JsonSchema).properties ?? {}) as [string, Property][]
  const wanted = properties.filter(([key]) => required.has(key))
  const given = wanted.map(([key, schema]) => `${key} ${shown(valueFor(key, schema))}`)
  const withThese = given.length === 0 ? '' : ` with ${listed(given)}`
  return {
    title: name,
    query: `Use ${name}${withThese}.`,
    expected: `Calls ${name} once${given.length === 0 ? '' : ', with these parameters'}, and answers with its result.`,
  }
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/city|location|place|town/i, 'Berlin'],
  [/country/i, 'Germany'],
  [/mail/i, 'ada@example.com'],
  [/url|link|address/i, 'https://example.com'],
  [/date|day/i, '2026-03-01'],
  [/zone/i, 'Europe/Berlin'],
  [/name|user|customer/i, 'Ada'],
  [/id$/i, '42'],
  [/query|search|text|question|message/i, 'hello'],
  [/light|lamp|room|device/i, 'kitchen'],
  [/colou?r/i, 'blue'],
  [/language/i, 'English'],
  [/currency/i, 'EUR'],
  [/path|file/i, 'notes.txt'],
  [/title|subject/i, 'Hello'],
  [/code|key|number/i, '42'],
]

/** A value in the description of a parameter: `such as "kitchen"`, `e.g. Berlin`. */
const SAID = /(?:such as|e\.g\.|for example,?|like)\s+["'`“]?([\p{L}\d][\p{L}\d_./@:-]{0,39})/iu

/** The first value that the schema names, or one that suits the name of the parameter. */
function valueFor(key: string, schema: Property): unknown {
  const { default: usual, examples, enum: choices, type, minimum, description } = schema
  const [example] = Array.isArray(examples) ? examples : []
  const [choice] = Array.isArray(choices) ? choices : []
  const named = example ?? usual ?? choice
  if (named !== undefined) return named
  if (type === 'integer' || type === 'number') return typeof minimum === 'number' ? Math.max(minimum, 3) : 3
  if (type === 'boolean') return true
  if (type === 'array') return []
  if (type === 'object') return {}
  const [, said] = SAID.exec(String(description ?? '').slice(0, 500)) ?? []
  return said?.replace(/[.:]$/, '') ?? WORDS.find(([pattern]) => pattern.test(key))?.[1] ?? 'example'
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const listed = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
