import type { LanguageModelV4 } from '@ai-sdk/provider'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { type AskingManner, askAiSdk } from '../ai-sdk/ai-sdk-model.ts'
import { PROVIDER_MEDIA, type ProviderMedia } from '../ai-sdk/prompt.ts'
import { refusalError, type Telling, toModelError } from '../ai-sdk/to-model-error.ts'
import { ModelError } from '../model-error.ts'
import type { ProviderContext, ProviderSettings, Wire, WireMaker } from '../provider.ts'
import { boundedFetch } from '../turn-bounds.ts'

const OPENAI = 'https://api.openai.com/v1'
const ANTHROPIC = 'https://api.anthropic.com/v1'
const GEMINI = 'https://generativelanguage.googleapis.com/v1beta'

/** OpenAI, and every server with the same API. */
export const openaiWire: WireMaker = (settings, around) => {
  const { base_url, headers } = settings
  const own = base_url === undefined
  const api = settings.api ?? (own ? 'responses' : 'chat')
  const key = own ? requireKey(settings, 'OPENAI_API_KEY') : checkKey(settings)
  const baseURL = baseUrl(settings, OPENAI)
  const fetch = boundedFetch(around.fetch)
  return hostedWire({
    dialect: 'openai',
    shapes: 'any',
    // Local models behind such servers often print calls.
    printsCalls: !own,
    // Other servers would load links from the operator's network.
    media: { ...PROVIDER_MEDIA[`openai.${api}`], ...(!own && { urls: false, assumed: [] }) },
    manner: {
      ...tellingOf(settings, around),
      marksFailures: false,
      systemAnywhere: true,
      // Other servers may reject a field that they don't know.
      ...(own && { caching: 'key' }),
      // OpenAI stores nothing, so it sends its reasoning encrypted, and takes it back with the next request.
      ...(api === 'responses' && { providerOptions: { openai: { store: false } } }),
    },
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ baseURL, apiKey: key, headers: openaiHeaders(key, headers), fetch })[api]
    },
    listing: {
      fetch,
      url: `${baseURL}/models`,
      headers: { ...(key !== '' && { authorization: `Bearer ${key}` }), ...headers },
      readPage: ({ data }) => ({ names: textsOf(data, 'id') }),
    },
  })
}

/** Without a key there is no `Authorization`: the package drops undefined values, although its types forbid them. */
export const openaiHeaders = (key: string, headers: ProviderSettings['headers']): Record<string, string> =>
  ({ ...(key === '' && { Authorization: undefined }), ...headers }) as Record<string, string>

export const anthropicWire: WireMaker = (settings, around) => {
  const { headers = {} } = settings
  const key = requireKey(settings, 'ANTHROPIC_API_KEY')
  const baseURL = baseUrl(settings, ANTHROPIC)
  const fetch = boundedFetch(around.fetch)
  return hostedWire({
    dialect: 'anthropic',
    shapes: 'strict',
    media: { ...PROVIDER_MEDIA.anthropic, urls: settings.base_url === undefined },
    manner: {
      ...tellingOf(settings, around),
      marksFailures: true,
      systemAnywhere: false,
      declaresUsedTools: true,
      caching: 'marks',
    },
    async load() {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic({ baseURL, apiKey: key, headers: { ...headers }, fetch })
    },
    listing: {
      fetch,
      url: `${baseURL}/models?limit=1000`,
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01', ...headers },
      readPage: ({ data, has_more, last_id }) => ({
        names: textsOf(data, 'id'),
        ...(has_more === true && typeof last_id === 'string' && { next: ['after_id', last_id] }),
      }),
    },
  })
}

export const geminiWire: WireMaker = (settings, around) => {
  const { headers = {} } = settings
  const key = requireKey(settings, 'GEMINI_API_KEY')
  const baseURL = baseUrl(settings, GEMINI)
  const fetch = boundedFetch(around.fetch)
  return hostedWire({
    dialect: 'gemini',
    // Gemini refuses response schemas beside tools.
    shapes: 'alone',
    media: PROVIDER_MEDIA.google,
    manner: { ...tellingOf(settings, around), marksFailures: true, systemAnywhere: false },
    async load() {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ baseURL, apiKey: key, headers: { ...headers }, fetch })
    },
    listing: {
      fetch,
      url: `${baseURL}/models?pageSize=1000`,
      headers: { 'x-goog-api-key': key, ...headers },
      readPage: ({ models, nextPageToken }) => ({
        // They are listed as `models/NAME` and requested as NAME.
        names: textsOf(models, 'name').map((name) => name.replace(/^models\//, '')),
        ...(typeof nextPageToken === 'string' && nextPageToken !== '' && { next: ['pageToken', nextPageToken] }),
      }),
    },
  })
}

/** One provider of the AI SDK. */
interface HostedWire extends Pick<Wire, 'dialect' | 'shapes' | 'printsCalls'> {
  readonly media: ProviderMedia
  readonly manner: AskingManner
  /** Loads the package with the first request. */
  load(): Promise<(model: string) => LanguageModelV4>
  readonly listing: Listing
}

function hostedWire({ manner, load, listing, ...wire }: HostedWire): Wire {
  let loading: ReturnType<typeof load> | undefined
  return {
    ...wire,
    async *stream(model, request) {
      loading ??= load()
      const make = await loading
      yield* askAiSdk(make(model), request, { ...manner, media: wire.media })
    },
    list: (signal) => listModels(listing, signal, manner),
  }
}

export const baseUrl = ({ base_url }: ProviderSettings, usual: string): string =>
  (base_url ?? usual).replace(/(?<!\/)\/+$/, '')

/** The clock and the secrets that error messages must not contain. */
export const tellingOf = ({ api_key, headers = {} }: ProviderSettings, { clock }: ProviderContext): Telling => ({
  clock,
  secrets: [...(api_key === undefined ? [] : [api_key]), ...Object.values(headers)],
})

/** The key of a provider that needs one; `variable` is an example for the message. */
export function requireKey({ name, api_key }: ProviderSettings, variable: string): string {
  if (api_key === undefined || api_key.trim() === '') {
    throw new ModelError(
      `Provider "${name}" has no api_key. Set providers.${name}.api_key, for example to "\${${variable}}".`,
    )
  }
  return checkKey({ name, api_key })
}

/** Rejects keys that no header can carry, because the platform would print them in full. */
export function checkKey({ name, api_key = '' }: Pick<ProviderSettings, 'name' | 'api_key'>): string {
  const key = api_key.trim()
  if (/[^\x21-\x7e]/.test(key)) {
    throw new ModelError(
      `providers.${name}.api_key has a character that no key has, such as a space or a line break. Check it.`,
    )
  }
  return key
}

type Json = Readonly<Record<string, unknown>>

/** The request for a provider's list of models, and how its pages are read. */
interface Listing {
  readonly fetch: typeof fetch
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The names on a page, and the query parameter of the next page. */
  readPage(page: Json): { readonly names: string[]; readonly next?: [string, string] }
}

const MAX_PAGES = 50

async function listModels(listing: Listing, signal: AbortSignal, telling: Telling): Promise<{ name: string }[]> {
  const url = new URL(listing.url)
  const found = new Set<string>()
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const { names, next } = listing.readPage(await getJson(url, listing, signal, telling))
    for (const name of names) found.add(name)
    if (next === undefined) break
    url.searchParams.set(...next)
  }
  return [...found].map((name) => ({ name }))
}

async function getJson(url: URL, { fetch, headers }: Listing, signal: AbortSignal, telling: Telling): Promise<Json> {
  try {
    const response = await fetch(url, { headers, signal })
    const body: unknown = await response.json().catch((error) => {
      signal.throwIfAborted()
      if (response.ok) throw error
    })
    if (!response.ok) {
      const { status, statusText } = response
      throw refusalError({ status, headers: Object.fromEntries(response.headers), body, said: statusText }, telling)
    }
    if (!isObject(body)) throw new SyntaxError('no object')
    return body
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SyntaxError) {
      throw new ModelError('The provider sent an invalid list of models. Check base_url.')
    }
    throw toModelError(error, telling)
  }
}

/** The strings under `key` of the objects in a list. */
const textsOf = (list: unknown, key: string): string[] =>
  (Array.isArray(list) ? list : []).map((one) => one?.[key]).filter((text) => typeof text === 'string')
