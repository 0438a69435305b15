import { refusalError, type Telling, toModelError } from '../ai-sdk/to-model-error.ts'
import { ModelError } from '../model-error.ts'

/** How the list of a provider is asked for: where, with what, and how its pages are read. */
export interface Listing {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** The names on a page, and what to add to the address for the next. */
  readPage(page: Readonly<Record<string, unknown>>): { readonly names: string[]; readonly next?: [string, string] }
}

const MOST_PAGES = 50

/** The names of the models a provider has. */
export async function listModels(listing: Listing, signal: AbortSignal, telling: Telling): Promise<{ name: string }[]> {
  const url = new URL(listing.url)
  const found = new Set<string>()
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const { names, next } = listing.readPage(await getJson(url, listing.headers, signal, telling))
    for (const name of names) found.add(name)
    if (next === undefined) break
    url.searchParams.set(...next)
  }
  return [...found].map((name) => ({ name }))
}

async function getJson(
  url: URL,
  headers: Listing['headers'],
  signal: AbortSignal,
  telling: Telling,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    // A redirect could carry the key elsewhere.
    const response = await fetch(url, { headers, signal, redirect: 'error' })
    const body: unknown = await response.json().catch((error) => {
      signal.throwIfAborted()
      if (response.ok) throw error
    })
    if (!response.ok) {
      const { status, statusText } = response
      throw refusalError({ status, headers: Object.fromEntries(response.headers), body, said: statusText }, telling)
    }
    if (typeof body !== 'object' || body === null) throw new SyntaxError('no object')
    return body as Record<string, unknown>
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SyntaxError) {
      throw new ModelError('What the provider sent is no list of models. Check the base_url.')
    }
    throw toModelError(error, telling)
  }
}

/** The texts under `key` of the objects in a list. */
export const textsOf = (list: unknown, key: string): string[] =>
  (Array.isArray(list) ? list : []).map((one) => one?.[key]).filter((text) => typeof text === 'string')
