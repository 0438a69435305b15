import MiniSearch from 'minisearch'
import type { OfferedTool } from '../../model.ts'
import { MeaningIndex } from './meaning-index.ts'
import { FIELDS, isFiller, type ToolWords, toolWords } from './tool-words.ts'
import { ourWordVectors, type WordVectors } from './word-vectors.ts'

/** So many tools are looked at closely; each costs as much as a pair. */
export const MOST_SCORED = 16
/** Of each way of finding so many count. */
const MOST_FOUND = 100
/** Of a long text the beginning says what is wanted. */
const LONGEST_QUERY = 600
/** So many are indexed before others get their turn. */
const CHUNK = 50
/** Of reciprocal rank fusion: the smaller, the more the first ranks stand out. */
const RANK_OFFSET = 10

interface ToolIndex {
  readonly words: MiniSearch<{ id: number }>
  readonly meaning: MeaningIndex | undefined
}

const indices = new WeakMap<readonly OfferedTool[], Promise<ToolIndex>>()

/** The tools that share words with what was said, or mean something similar, best first. A list is indexed once. */
export async function likelyTools(
  tools: readonly OfferedTool[],
  said: string,
  vectors: () => Promise<WordVectors | undefined> = ourWordVectors,
): Promise<readonly OfferedTool[]> {
  if (tools.length <= MOST_SCORED) return tools
  const { words, meaning } = await indexOf(tools, vectors)
  const query = said.slice(0, LONGEST_QUERY)
  const byWords = words
    .search(query, {
      boost: { name: 2, details: 0.3 },
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.15 : false),
    })
    .slice(0, MOST_FOUND)
    .map(({ id }) => id as number)
  const found = fuse([byWords, meaning?.nearest(query, MOST_FOUND) ?? []])
  return found.slice(0, MOST_SCORED).map((id) => tools[id] as OfferedTool)
}

/** By ranks, since the scores of the two ways cannot be compared. */
function fuse(lists: readonly (readonly number[])[]): number[] {
  const scores = new Map<number, number>()
  for (const list of lists) {
    for (const [rank, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (RANK_OFFSET + rank))
  }
  return [...scores].sort(([, left], [, right]) => right - left).map(([id]) => id)
}

function indexOf(tools: readonly OfferedTool[], vectors: () => Promise<WordVectors | undefined>): Promise<ToolIndex> {
  const known = indices.get(tools)
  if (known !== undefined) return known
  const making = makeIndex(tools.map(toolWords), vectors)
  indices.set(tools, making)
  return making
}

async function makeIndex(
  tools: readonly ToolWords[],
  vectors: () => Promise<WordVectors | undefined>,
): Promise<ToolIndex> {
  const words = new MiniSearch<{ id: number }>({ fields: [...FIELDS], processTerm: stem })
  await words.addAllAsync(
    tools.map((tool, id) => ({ id, ...tool })),
    { chunkSize: CHUNK },
  )
  const known = await vectors()
  return { words, meaning: known && (await MeaningIndex.make(tools, known)) }
}

/** Without endings that only grammar needs; words that say nothing are left out. */
function stem(term: string): string | null {
  const word = term.toLowerCase()
  if (isFiller(word)) return null
  return word.length > 4 ? word.replace(/(?:ies|ing|ed|es|s|e|y)$/, '') : word
}
