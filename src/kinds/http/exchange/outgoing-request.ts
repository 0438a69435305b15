import type { HttpMethod } from '../definition/http-implementation.ts'

/** One request, ready to be sent. */
export interface OutgoingRequest {
  readonly method: HttpMethod
  /** Scheme, host and port, such as `https://api.example.com`. */
  readonly origin: string
  /** Path and query, encoded. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The headers, by name, that carry a secret: they go to no other origin. */
  readonly credentials?: readonly string[]
  readonly body?: string
}

/** What came back, whole and inflated. */
export interface HttpResponse {
  readonly status: number
  /** Names in lower case; what was sent several times is joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Where it came from in the end, without its query. */
  readonly origin: string
  readonly path: string
}

/** What is for one origin, whoever wrote it. */
const OF_AN_ORIGIN = ['authorization', 'cookie', 'proxy-authorization', 'host'] as const
const OF_A_BODY = ['content-type', 'content-length', 'content-encoding', 'content-language'] as const

/**
 * The request that goes to another URL, one that the service named. What shows who we are stays with the origin that
 * it was meant for, and a body stays with its method. The URL is taken as it is: nothing of the old query is added.
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

/** Why a service that was asked over https may not lead on to this URL. */
export const leavesTls = (url: URL, from: OutgoingRequest): boolean =>
  from.origin.startsWith('https:') && url.protocol !== 'https:'

/** The path with the parameter in its query, once: one of the same name gives way. */
export function withQuery(path: string, name: string, value: string | number): string {
  const [before, pairs] = split(path)
  const others = pairs.filter((pair) => nameOf(pair) !== name)
  const own = `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(String(value).toWellFormed())}`
  return `${before}?${[...others, own].join('&')}`
}

/** The number that a parameter in the query of the path has; undefined where there is none. */
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

/** What belongs to the connection, or says where a message ends: whoever sets it can smuggle a second request. */
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

/** What says how the body is written, or has a place of its own. */
const NOT_FOR_PARAMETERS: ReadonlySet<string> = new Set(['content-type', 'content-encoding', 'cookie'])

/** Whether a header can be called so. */
export const isHeaderName = (name: string): boolean => TOKEN.test(name)

/** Whether a header, in lower case, is the connection's and nobody else's. */
export const isOfTheConnection = (name: string): boolean => OF_THE_CONNECTION.has(name) || name.startsWith('proxy-')

/** Whether a parameter may be sent in a header, in lower case. */
export const isForParameters = (name: string): boolean => !isOfTheConnection(name) && !NOT_FOR_PARAMETERS.has(name)

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/

/** Whether a text holds a line end, a NUL or another character that is no writing. */
export function hasControlCharacter(text: string): boolean {
  return CONTROL.test(text)
}

/** Whether a text can be the value of a header: what is not ASCII, servers read in more than one way. */
export function isHeaderValue(text: string): boolean {
  return PRINTABLE_ASCII.test(text)
}
