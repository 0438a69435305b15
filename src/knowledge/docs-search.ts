import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import MiniSearch, { type SearchResult } from 'minisearch'
import type { Handler } from '../core/handler.ts'
import type { Params } from '../core/tool.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import { type Chunk, markdownChunks } from './markdown-chunks.ts'
import { words } from './words.ts'

const COLLECTION = 'docs'
const DEFAULT_RESULTS = 5
const MOST_RESULTS = 20
const LONGEST_QUERY = 1_000
/** A chunk must hold at least this share of what the query asks for, rare words weighing more than common ones. */
const LEAST_COVERAGE = 0.5

interface Entry extends Chunk {
  readonly id: number
  readonly source: string
  readonly position: number
}

interface Index {
  readonly entries: readonly Entry[]
  readonly search: MiniSearch<Entry>
}

/** Full-text search over the Markdown files of a folder, read on the first call. */
export function docsSearch(folder: string | URL): Handler {
  const path = typeof folder === 'string' ? folder : fileURLToPath(folder)
  let index: Promise<Index> | undefined
  return async (params) => {
    const { query, most } = readParams(params)
    index ??= buildIndex(path).catch((error: unknown) => {
      index = undefined
      throw unreadable(error)
    })
    return { results: search(await index, query, most) }
  }
}

function search({ entries, search }: Index, query: string, most: number) {
  const wanted = [...new Set(words(query))]
  const found = search.search(wanted.join(' '), {
    prefix: (term) => term.length > 3,
    boost: { heading: 2, title: 1.5 },
  })
  const coverage = coverageOf(wanted, found, entries.length)
  const best = found[0]?.score ?? 1
  return found
    .map((one) => ({ entry: entries[one.id] as Entry, covered: coverage(one), strength: one.score / best }))
    .filter(({ covered }) => covered >= LEAST_COVERAGE)
    .map(({ entry, covered, strength }) => ({
      text: entry.text,
      score: Math.round(covered * strength * 1_000) / 1_000,
      source: entry.source,
      position: entry.position,
      metadata: { title: entry.title, heading: entry.heading },
    }))
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
}

/** How much of the query a chunk answers, 0 to 1: each word weighs by its rarity, and one that is nowhere weighs most. */
function coverageOf(wanted: readonly string[], found: readonly SearchResult[], chunks: number) {
  const frequency = new Map<string, number>()
  for (const { queryTerms } of found) {
    for (const term of queryTerms) frequency.set(term, (frequency.get(term) ?? 0) + 1)
  }
  const weigh = (term: string) => {
    const times = frequency.get(term) ?? 0
    return Math.log(1 + (chunks - times + 0.5) / (times + 0.5))
  }
  const sum = (terms: readonly string[]) => terms.reduce((total, term) => total + weigh(term), 0)
  const all = sum(wanted)
  return ({ queryTerms }: SearchResult) => sum(queryTerms) / all
}

async function buildIndex(folder: string): Promise<Index> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((file) => file.isFile() && file.name.endsWith('.md'))
    .map((file) => join(file.parentPath, file.name))
    .sort()
  const entries: Entry[] = []
  for (const file of files) {
    const source = relative(folder, file).split(sep).join('/')
    const chunks = markdownChunks(await readFile(file, 'utf8'), source)
    for (const [position, chunk] of chunks.entries()) entries.push({ id: entries.length, source, position, ...chunk })
  }
  const search = new MiniSearch<Entry>({
    fields: ['title', 'heading', 'text'],
    tokenize: words,
    // The tokenizer has done it.
    processTerm: (term) => term,
    searchOptions: { tokenize: (query) => query.split(' ').filter((term) => term !== '') },
  })
  await search.addAllAsync(entries)
  return { entries, search }
}

function readParams({ query, collection = COLLECTION, max_results: most = DEFAULT_RESULTS }: Params) {
  if (typeof query !== 'string' || query.trim() === '') throw invalid('query must be a text that is not empty')
  if (query.length > LONGEST_QUERY) throw invalid(`query must not be longer than ${LONGEST_QUERY} characters`)
  if (collection !== COLLECTION) {
    throw invalid(`collection ${JSON.stringify(collection)} does not exist; there is only "${COLLECTION}"`)
  }
  if (!Number.isInteger(most) || (most as number) < 1 || (most as number) > MOST_RESULTS) {
    throw invalid(`max_results must be an integer from 1 to ${MOST_RESULTS}, not ${JSON.stringify(most)}`)
  }
  return { query, most: most as number }
}

const invalid = (problem: string) => new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)

/** Says what failed, without the path, which is the machine's own business. */
function unreadable(error: unknown): ToolExecutionError {
  const code = (Object(error) as { code?: unknown }).code
  return new ToolExecutionError(
    'EXECUTION_ERROR',
    `The documents cannot be read${typeof code === 'string' ? ` (${code})` : ''}: check that their folder exists`,
    {},
    { cause: error },
  )
}
