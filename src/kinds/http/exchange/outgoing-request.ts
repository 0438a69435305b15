import type { HttpMethod } from '../definition/http-implementation.ts'

export interface OutgoingRequest {
  readonly method: HttpMethod
  /** Scheme, host and port, such as `https://api.example.com`. */
  readonly origin: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Names of headers with secrets, which are never sent to another origin. */
  readonly credentials?: readonly string[]
  readonly body?: string
}

/** A complete, decompressed response. */
export interface HttpResponse {
  readonly status: number
  /** Names in lower case; repeated headers are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The final URL, without its query. */
  readonly origin: string
  readonly path: string
}

const OF_AN_ORIGIN = ['authorization', 'cookie', 'proxy-authorization', 'host'] as const
const OF_A_BODY = ['content-type', 'content-length', 'content-encoding', 'content-language'] as const

/**
 * Redirects a request to a URL that the service named. Credentials aren't sent to another origin, and a body isn't sent
 * with another method. Nothing of the old query is added.
 */
export function requestTo(url: URL, from: OutgoingRequest, method: HttpMethod = from.method): OutgoingRequest {
  const path = url.pathname + url.search
  const sameOrigin = url.origin === from.origin
  const sameMethod = method === from.method
  if (sameOrigin && sameMethod) return { ...from, path }
  const headers = { ...from.headers }
  if (!sameOrigin) for (const name of [...OF_AN_ORIGIN, ...(from.credentials ?? [])]) delete headers[name]
  if (!sameMethod) for (const name of OF_A_BODY) delete headers[name]
  return {
    method,
    origin: url.origin,
    path,
    headers,
    ...(sameOrigin && from.credentials !== undefined && { credentials: from.credentials }),
    ...(sameMethod && from.body !== undefined && { body: from.body }),
  }
}

export const leavesTls = (url: URL, from: OutgoingRequest): boolean =>
  from.origin.startsWith('https:') && url.protocol !== 'https:'

/** Sets a query parameter, replacing one of the same name. */
export function withQuery(path: string, name: string, value: string | number): string {
  const [before, pairs] = split(path)
  const others = pairs.filter((pair) => nameOf(pair) !== name)
  const own = `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(String(value).toWellFormed())}`
  return `${before}?${[...others, own].join('&')}`
}

export function queryNumber(path: string, name: string): number | undefined {
  const [, pairs] = split(path)
  const found = pairs.find((pair) => nameOf(pair) === name)
  const value = found?.slice(found.indexOf('=') + 1)
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

function split(path: string): [string, string[]] {
  const at = path.indexOf('?')
  if (at === -1) return [path, []]
  const query = path.slice(at + 1)
  return [path.slice(0, at), query === '' ? [] : query.split('&')]
}

function nameOf(pair: string): string {
  const name = (pair.split('=', 1)[0] ?? '').replaceAll('+', ' ')
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

/** Headers that frame the message or belong to the connection: setting them allows request smuggling. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that describe the body or have a place of their own. */
const NOT_FOR_PARAMETERS: ReadonlySet<string> = new Set(['content-type', 'content-encoding', 'cookie'])

/** Records of headers lose `__proto__`. */
export const isHeaderName = (name: string): boolean => TOKEN.test(name) && name !== '__proto__'

export const isOfTheConnection = (name: string): boolean => OF_THE_CONNECTION.has(name) || name.startsWith('proxy-')

export const isForParameters = (name: string): boolean => !isOfTheConnection(name) && !NOT_FOR_PARAMETERS.has(name)

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/

export function hasControlCharacter(text: string): boolean {
  return CONTROL.test(text)
}

/** Whether a text can be a header value. Servers disagree on how to read non-ASCII. */
export function isHeaderValue(text: string): boolean {
  return PRINTABLE_ASCII.test(text)
}
