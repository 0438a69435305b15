import type { Client } from '@modelcontextprotocol/client'

/** A server whose pages never end is not read for ever. */
const MOST_PAGES = 64
const MOST_ENTRIES = 5_000

/** Anything goes: one bad entry must not cost the whole list, as it does with the SDK's own schema. */
const ANYTHING = {
  '~standard': { version: 1, vendor: 'toolyard', validate: (value: unknown) => ({ value }) },
} as const

type ListMethod = 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list'

/** Every entry of a list, page by page. */
export async function listAll(
  client: Client,
  method: ListMethod,
  key: string,
  signal: AbortSignal,
): Promise<unknown[]> {
  const entries: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page < MOST_PAGES && entries.length < MOST_ENTRIES; page++) {
    const request = { method, params: cursor === undefined ? {} : { cursor } }
    const answer = (await client.request(request, ANYTHING, { signal })) as Record<string, unknown>
    const { [key]: more, nextCursor } = Object(answer) as Record<string, unknown>
    if (Array.isArray(more)) entries.push(...more.slice(0, MOST_ENTRIES - entries.length))
    if (typeof nextCursor !== 'string' || nextCursor === '') break
    cursor = nextCursor
  }
  return entries
}
