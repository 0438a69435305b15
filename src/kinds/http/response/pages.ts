import { type Log, writeLog } from '../../../core/log.ts'
import { JsonPath } from '../../path/json-path.ts'
import type { HttpImplementation, Pagination } from '../definition/http-implementation.ts'
import { SecretValues } from '../definition/secret-values.ts'
import { answerTooLarge, brokenAnswer } from '../exchange/exchange-error.ts'
import {
  type HttpResponse,
  leavesTls,
  type OutgoingRequest,
  queryNumber,
  requestTo,
  withQuery,
} from '../exchange/outgoing-request.ts'
import type { ToolNetwork } from '../network/network-rules.ts'
import { readBody } from './read-body.ts'
import { checkStatus, lookingThrough, type Reading, shapeOf } from './read-response.ts'

interface Gathering {
  /** Sends a request. Credentials are sent to the tool's own origin only. */
  ask(request: OutgoingRequest): Promise<HttpResponse>
  readonly network: ToolNetwork
  /** The secrets of the last request sent: read again after each. */
  readonly secrets: SecretValues
  readonly maxBytes: number
}

const DEFAULT_MAX_PAGES = 10

/**
 * Gathers the pages of a list. If one page fails, the call fails: a partial list that looks complete would be worse.
 */
export class Pages {
  readonly #pagination: Pagination
  readonly #itemsPath: JsonPath | undefined
  readonly #nextPath: JsonPath | undefined
  readonly #reading: Reading
  readonly #log: Log

  constructor(pagination: Pagination, { response_path }: HttpImplementation, reading: Reading, log: Log) {
    const items = pagination.items_path ?? response_path
    this.#pagination = pagination
    this.#itemsPath = items === undefined ? undefined : new JsonPath(items)
    this.#nextPath = nextPathOf(pagination)
    this.#reading = reading
    this.#log = log
  }

  async gather(request: OutgoingRequest, gathering: Gathering): Promise<unknown> {
    const { tool } = this.#reading
    const { maxBytes, network } = gathering
    const turner = new PageTurner(request, { tool, pagination: this.#pagination, nextPath: this.#nextPath, network })
    const gathered: unknown[] = []
    let next: OutgoingRequest | undefined = turner.first
    let previous: Buffer | undefined
    let bytes = 0
    for (let page = 0; next !== undefined && page < this.#mostPages && !this.#isEnough(gathered); page++) {
      const response = await gathering.ask(next)
      const { secrets } = gathering
      checkStatus(response, this.#reading, secrets)
      next = undefined
      if (this.#isRepeated(response.body, previous)) break
      previous = response.body
      bytes += response.body.length
      if (bytes > maxBytes) throw answerTooLarge(tool, maxBytes)
      const { tainted, value } = readBody(response, tool, secrets, true)
      next = lookingThrough(tool, () => {
        const items = this.#itemsOf(value)
        for (const item of items) gathered.push(tainted ? secrets.scrubValue(item) : item)
        // Uses the unscrubbed value: the URL of the next page may contain a secret.
        return turner.next(response, value, items.length, secrets)
      })
    }
    if (next !== undefined) writeLog(this.#log, 'debug', { tool, items: gathered.length }, 'There may be more pages')
    return shapeOf(gathered, this.#reading)
  }

  get #mostPages(): number {
    return this.#pagination.max_pages ?? DEFAULT_MAX_PAGES
  }

  #isEnough(gathered: readonly unknown[]): boolean {
    const { keepsItems, maxItems } = this.#reading.shape
    return keepsItems && maxItems !== undefined && gathered.length >= maxItems
  }

  /** A service that ignores the page parameter sends the same page again. */
  #isRepeated(body: Buffer, previous: Buffer | undefined): boolean {
    const { type } = this.#pagination
    return (type === 'page' || type === 'offset') && previous !== undefined && body.equals(previous)
  }

  #itemsOf(page: unknown): readonly unknown[] {
    const items = this.#itemsPath === undefined ? page : this.#itemsPath.find(page)
    if (items === null) return []
    if (Array.isArray(items)) return items
    throw brokenAnswer(
      `The service behind tool '${this.#reading.tool}' answered with a page that is not a list: set pagination.items_path to the list`,
    )
  }
}

function nextPathOf(pagination: Pagination): JsonPath | undefined {
  if (pagination.type === 'cursor') return new JsonPath(pagination.cursor_path)
  return pagination.type === 'next_url' ? new JsonPath(pagination.next_path) : undefined
}

interface Turning {
  readonly tool: string
  readonly pagination: Pagination
  readonly nextPath: JsonPath | undefined
  readonly network: ToolNetwork
}

/** Creates the requests for the pages of one call. */
export class PageTurner {
  readonly #turning: Turning
  readonly #original: OutgoingRequest
  readonly #asked = new Set<string>()
  readonly first: OutgoingRequest
  /** The page number or offset, for counted pages. */
  #count: number
  #secrets = new SecretValues()

  constructor(request: OutgoingRequest, turning: Turning) {
    const { pagination } = turning
    this.#turning = turning
    this.#original = request
    this.#count = startOf(pagination, request.path)
    this.first = this.#counted()
    this.#asked.add(this.first.origin + this.first.path)
  }

  /** The request for the next page; undefined at the end or if it was requested before. */
  next(response: HttpResponse, value: unknown, items: number, secrets: SecretValues): OutgoingRequest | undefined {
    this.#secrets = secrets
    const request = this.#following(response, value, items)
    if (request === undefined) return undefined
    const place = request.origin + request.path
    if (this.#asked.has(place)) return undefined
    this.#asked.add(place)
    return request
  }

  #following(response: HttpResponse, value: unknown, items: number): OutgoingRequest | undefined {
    const { nextPath, pagination } = this.#turning
    switch (pagination.type) {
      case 'link':
        return this.#at(nextLink(response.headers.link), response)
      case 'next_url':
        return this.#at(this.#text(nextPath?.find(value), 'next_path'), response)
      case 'cursor': {
        const cursor = this.#text(nextPath?.find(value), 'cursor_path')
        return cursor === undefined ? undefined : this.#with(pagination.cursor_param, cursor)
      }
      case 'page':
        this.#count++
        return items === 0 ? undefined : this.#counted()
      case 'offset':
        // Advances by the items received: a service may send fewer than `limit` before its last page.
        this.#count += items
        return items === 0 ? undefined : this.#counted()
    }
  }

  #counted(): OutgoingRequest {
    const { pagination } = this.#turning
    if (pagination.type === 'page') return this.#with(pagination.page_param, this.#count)
    if (pagination.type !== 'offset') return this.#original
    const counted = this.#with(pagination.offset_param, this.#count)
    const { limit, limit_param } = pagination
    return limit_param === undefined ? counted : { ...counted, path: withQuery(counted.path, limit_param, limit) }
  }

  #with(name: string, value: string | number): OutgoingRequest {
    return { ...this.#original, path: withQuery(this.#original.path, name, value) }
  }

  /** The service names the next page, so its URL is checked like a redirect. */
  #at(target: string | undefined, { origin, path }: HttpResponse): OutgoingRequest | undefined {
    if (target === undefined) return undefined
    const url = URL.parse(target, origin + path)
    if (url === null) throw this.#broken('names a next page that is not a URL')
    const refusal = this.#turning.network.refusal(url)
    if (refusal !== undefined) throw this.#broken(`names a next page at a blocked address. ${refusal}`)
    if (leavesTls(url, this.#original)) {
      throw this.#broken(
        `names a next page over http, at '${url.host}', although it was called over https, which is not allowed`,
      )
    }
    return requestTo(url, this.#original)
  }

  /** APIs mark the last page in different ways. */
  #text(found: unknown, path: string): string | undefined {
    if (found === null || found === undefined || found === '' || found === false) return undefined
    if (typeof found === 'string' || typeof found === 'number') return String(found)
    throw this.#broken(`answered with a page whose ${path} is neither a string nor a number`)
  }

  #broken(problem: string): Error {
    return brokenAnswer(this.#secrets.scrub(`The service behind tool '${this.#turning.tool}' ${problem}`))
  }
}

/** The first page or offset, which the caller may set. */
function startOf(pagination: Pagination, path: string): number {
  if (pagination.type === 'page') return queryNumber(path, pagination.page_param) ?? pagination.first_page ?? 1
  return pagination.type === 'offset' ? (queryNumber(path, pagination.offset_param) ?? 0) : 0
}

/** One link: the target between `<` and `>`, and its parameters, whose values may be quoted. */
const LINK = /<([^<>]*)>((?:\s*;\s*[^\s;,="<>]+(?:\s*=(?:\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]+))?)?)*)/g
const PARAMETER = /;\s*([^\s;,="<>]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/g

/** The target of the link to the next page in a `Link` header (RFC 8288). */
export function nextLink(header: string | undefined): string | undefined {
  for (const [, target, parameters = ''] of header?.matchAll(LINK) ?? []) {
    if (isNext(parameters)) return target
  }
  return undefined
}

function isNext(parameters: string): boolean {
  let relation: string | undefined
  for (const [, name = '', quoted, plain] of parameters.matchAll(PARAMETER)) {
    // The link isn't about this page.
    if (name.toLowerCase() === 'anchor') return false
    // RFC 8288: only the first rel counts.
    if (name.toLowerCase() === 'rel') relation ??= quoted ?? plain ?? ''
  }
  return relation?.toLowerCase().split(/\s+/).includes('next') ?? false
}
