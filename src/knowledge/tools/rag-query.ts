import type { Handler } from '../../core/handler.ts'
import type { Params } from '../../core/tool.ts'
import { badParameter, quoted, readText } from '../../kinds/builtin/read-parameter.ts'
import type { Collections } from '../collections/collections.ts'
import { DOCS } from '../collections/own-docs.ts'

const DEFAULT_RESULTS = 5
const MAX_RESULTS = 20
const MAX_QUERY = 1_000
const MAX_NAME = 255

/** `rag_query`: the passages of the caller's collections that answer a question best. */
export const ragQueryHandler =
  (collections: Collections): Handler =>
  async (params, { tenant, signal }) => {
    const query = readText(params, 'query', MAX_QUERY)
    if (query === undefined || query.trim() === '') throw badParameter('query must be a text that is not empty')
    const collection = readText(params, 'collection', MAX_NAME) ?? DOCS
    const question = { tenant, collection, query, most: readMost(params), ...readFilter(params) }
    const { results } = await collections.search(question, { signal })
    return { results }
  }

function readMost({ max_results: most = DEFAULT_RESULTS }: Params): number {
  if (Number.isInteger(most) && (most as number) >= 1 && (most as number) <= MAX_RESULTS) return most as number
  throw badParameter(`max_results must be an integer from 1 to ${MAX_RESULTS}, not ${quoted(most)}`)
}

/** Only passages of documents that have this metadata. */
function readFilter({ filter }: Params): { readonly filter?: Readonly<Record<string, string>> } {
  if (filter === undefined) return {}
  const texts = typeof filter === 'object' && filter !== null && !Array.isArray(filter)
  if (!texts || Object.values(filter).some((value) => typeof value !== 'string')) {
    throw badParameter('filter must be an object of strings')
  }
  return { filter: filter as Readonly<Record<string, string>> }
}
