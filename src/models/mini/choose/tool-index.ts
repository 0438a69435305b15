import MiniSearch from 'minisearch'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { OfferedTool } from '../../model.ts'
import { wordsOfName } from '../pair-texts.ts'

/** So many tools are looked at closely; each costs as much as a pair. */
export const MOST_SCORED = 16
/** Of a long text the beginning says what is wanted. */
const LONGEST_QUERY = 600
/** Of a description the beginning says what a tool is for. */
const LONGEST_DESCRIPTION = 400
const MOST_PARAMETERS = 40
const LONGEST_DETAILS = 600
/** So many are indexed before others get their turn. */
const CHUNK = 50
const indices = new WeakMap<readonly OfferedTool[], Promise<MiniSearch<{ id: number }>>>()

/** The tools that share words with what was said, best first. A list is indexed once. */
export async function likelyTools(tools: readonly OfferedTool[], said: string): Promise<readonly OfferedTool[]> {
  if (tools.length <= MOST_SCORED) return tools
  const index = await indexOf(tools)
  const found = index.search(said.slice(0, LONGEST_QUERY), {
    boost: { name: 2, details: 0.3 },
    prefix: (term) => term.length > 3,
    fuzzy: (term) => (term.length > 5 ? 0.15 : false),
  })
  return found.slice(0, MOST_SCORED).map(({ id }) => tools[id] as OfferedTool)
}

function indexOf(tools: readonly OfferedTool[]): Promise<MiniSearch<{ id: number }>> {
  const known = indices.get(tools)
  if (known !== undefined) return known
  const making = makeIndex(tools)
  indices.set(tools, making)
  return making
}

async function makeIndex(tools: readonly OfferedTool[]): Promise<MiniSearch<{ id: number }>> {
  const index = new MiniSearch<{ id: number }>({
    fields: ['name', 'description', 'parameters', 'details'],
    processTerm: stem,
  })
  const documents = tools.map(({ name, description, parameters }, id) => ({
    id,
    name: wordsOfName(name),
    description: description.slice(0, LONGEST_DESCRIPTION),
    parameters: parameterWords(parameters.properties),
    details: parameterDetails(parameters.properties),
  }))
  await index.addAllAsync(documents, { chunkSize: CHUNK })
  return index
}

function parameterWords(properties: unknown): string {
  if (!isObject(properties)) return ''
  return Object.keys(properties).slice(0, MOST_PARAMETERS).map(wordsOfName).join(' ')
}

/** What the descriptions of parameters say, which counts less than their names. */
function parameterDetails(properties: unknown): string {
  if (!isObject(properties)) return ''
  return Object.values(properties)
    .slice(0, MOST_PARAMETERS)
    .map((one) => (isObject(one) && typeof one.description === 'string' ? one.description.slice(0, 80) : ''))
    .join(' ')
    .slice(0, LONGEST_DETAILS)
}

const EMPTY = new Set(
  'a an the of in on at to for and or is are be was with by from as it its this that my me i you your we can could would please what which how do does what’s'.split(
    ' ',
  ),
)

/** Without endings that only grammar needs; words that say nothing are left out. */
function stem(term: string): string | null {
  const word = term.toLowerCase()
  if (EMPTY.has(word)) return null
  return word.length > 4 ? word.replace(/(?:ies|ing|ed|es|s|e|y)$/, '') : word
}
