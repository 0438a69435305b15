import MiniSearch from 'minisearch'
import { isObject, type OfferedTool } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import type { ToolReader } from '../engine/tool-reader.ts'
import { readParameters } from '../fill/parameter.ts'
import { headOf, readTools, type ToolReading } from '../fill/read-tool.ts'
import { type Operation, operationsOf } from './operations.ts'

/** A tool for one of its operations, or a tool that has none. */
interface Use {
  readonly tool: OfferedTool
  readonly operation?: Operation
  /** The operation as a tool of its own, which is how the model reads it. */
  readonly as: OfferedTool
}

/** A use, what was read about it, and how likely it is meant, from 0 to 1. */
export interface RankedUse extends Use {
  readonly reading: ToolReading
  readonly relevance: number
}

/** How many of the nearest tools are read. */
const MAX_READ = 3
/** A longer list is searched by words first: embedding a tool takes tens of milliseconds. */
export const MAX_COMPARED = 64
/** What a word of its name in the message adds to the similarity of a tool. */
const NAME_WORD = 0.2
/** How many embeddings of tools are remembered. */
const MAX_EMBEDDINGS = 20_000
/** The start of a long message says what it asks for. */
const MAX_QUERY = 600
/** How many tools are indexed before the event loop gets a turn. */
const CHUNK = 50

/** The uses of tools that may be meant, the likeliest first. */
export async function rankTools(
  tools: readonly OfferedTool[],
  said: string,
  reader: ToolReader,
  signal?: AbortSignal,
): Promise<RankedUse[]> {
  const uses = (await searchTools(tools, said)).flatMap(usesOf)
  const likely = await nearest(uses, said, reader, MAX_READ, signal)
  const readings = await readTools(
    likely.map(({ as }) => as),
    said,
    { reader, ...(signal && { signal }) },
  )
  return likely
    .map((use, index) => {
      const reading = readings[index] as ToolReading
      return {
        ...use,
        reading,
        relevance: called(use.tool.name, said) ? 1 : Math.max(reading.relevance, namedShare(use, said)),
      }
    })
    .sort((left, right) => right.relevance - left.relevance)
}

const known = new WeakMap<OfferedTool, readonly Use[]>()

function usesOf(tool: OfferedTool): readonly Use[] {
  const uses = known.get(tool) ?? makeUses(tool)
  known.set(tool, uses)
  return uses
}

function makeUses(tool: OfferedTool): readonly Use[] {
  const operations = operationsOf(readParameters(tool.parameters))
  if (operations.length === 0) return [{ tool, as: tool }]
  const all = isObject(tool.parameters.properties) ? tool.parameters.properties : {}
  return operations.map((operation) => {
    const { option, description, parameters } = operation
    const properties = Object.fromEntries(
      parameters.map((one) => [one.name, { ...Object(all[one.name]), description: one.description }]),
    )
    const required = parameters.filter((one) => one.required).map(({ name }) => name)
    const name = `${tool.name}_${option}`
    return { tool, operation, as: { name, description, parameters: { ...tool.parameters, properties, required } } }
  })
}

/** Whether somebody calls the tool by its name: "echo hello". */
export const called = (name: string, said: string): boolean => said.toLowerCase().startsWith(`${wordsOfName(name)} `)

const wordsIn = (text: string): Set<string> => new Set(text.toLowerCase().match(/\p{L}+/gu))
const nameWords = ({ name }: OfferedTool): Set<string> => wordsIn(wordsOfName(name))

/** A tool is likely if the message says its whole name: "set a timer". */
function namedShare({ as }: Use, said: string): number {
  const words = nameWords(as)
  return words.size > 1 && words.isSubsetOf(wordsIn(said)) ? 0.9 : 0
}

/** The embeddings of tools by their texts. */
const embeddings = new Map<string, readonly number[]>()

/** The uses whose meaning is nearest to that of the message; a tool that it calls by name comes first. */
async function nearest(
  uses: readonly Use[],
  said: string,
  reader: ToolReader,
  count: number,
  signal?: AbortSignal,
): Promise<readonly Use[]> {
  if (uses.length <= count) return uses
  const heads = uses.map(({ as }) => headOf(as))
  const unknown = [...new Set(heads)].filter((head) => !embeddings.has(head))
  const [own = [], ...made] = await reader.embed([said, ...unknown], signal)
  if (embeddings.size + unknown.length > MAX_EMBEDDINGS) embeddings.clear()
  for (const [at, head] of unknown.entries()) embeddings.set(head, made[at] as number[])
  const scores = uses.map(({ tool, as }, at) => {
    if (called(tool.name, said)) return Number.POSITIVE_INFINITY
    const named = nameWords(as).intersection(wordsIn(said)).size
    const embedding = embeddings.get(heads[at] as string) ?? []
    return embedding.reduce((sum, value, index) => sum + value * (own[index] ?? 0), NAME_WORD * named)
  })
  return [...uses.keys()]
    .sort((left, right) => (scores[right] as number) - (scores[left] as number))
    .slice(0, count)
    .map((at) => uses[at] as Use)
}

const indices = new WeakMap<readonly OfferedTool[], Promise<MiniSearch>>()

/** The tools that share the most words with a message. A list is indexed once. */
export async function searchTools(tools: readonly OfferedTool[], said: string): Promise<readonly OfferedTool[]> {
  if (tools.length <= MAX_COMPARED) return tools
  const making = indices.get(tools) ?? makeIndex(tools)
  indices.set(tools, making)
  const index = await making
  return index
    .search(said.slice(0, MAX_QUERY), {
      boost: { name: 2, details: 0.3 },
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.15 : false),
    })
    .slice(0, MAX_COMPARED)
    .map(({ id }) => tools[id] as OfferedTool)
}

async function makeIndex(tools: readonly OfferedTool[]): Promise<MiniSearch> {
  const index = new MiniSearch({ fields: ['name', 'description', 'parameters', 'details'], processTerm: stem })
  const documents = tools.map(({ name, description, parameters: { properties } }, id) => {
    const parameters = isObject(properties) ? Object.entries(properties).slice(0, 40) : []
    const details = parameters.map(([, one]) => (isObject(one) ? String(one.description ?? '').slice(0, 80) : ''))
    return {
      id,
      name: wordsOfName(name),
      description: description.slice(0, 400),
      parameters: parameters.map(([key]) => wordsOfName(key)).join(' '),
      details: details.join(' ').slice(0, 600),
    }
  })
  await index.addAllAsync(documents, { chunkSize: CHUNK })
  return index
}

const FILLERS = new Set(
  'a an the of in on at to for and or is are be was with by from as it its this that my me i you your we can could would please what which how do does what’s'.split(
    ' ',
  ),
)

/** Without grammatical endings; words that every sentence has are left out. */
function stem(term: string): string | null {
  const word = term.toLowerCase()
  if (FILLERS.has(word)) return null
  return word.length > 4 ? word.replace(/(?:ies|ing|ed|es|s|e|y)$/, '') : word
}
