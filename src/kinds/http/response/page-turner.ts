import { brokenAnswer } from '../exchange/exchange-error.ts'
import { leavesTls, requestTo } from '../exchange/request-to.ts'
import type { Pagination } from '../http-implementation.ts'
import type { ToolNetwork } from '../network/network-rules.ts'
import type { HttpResponse, OutgoingRequest } from '../outgoing-request.ts'
import { queryNumber, withQuery } from '../query-parameter.ts'
import { SecretValues } from '../secret-values.ts'
import type { JsonPath } from './json-path.ts'
import { nextLink } from './link-header.ts'

/** What it takes to say where the next page is. */
export interface Turning {
  readonly tool: string
  readonly pagination: Pagination
  /** The `cursor_path` or `next_path`. */
  readonly nextPath: JsonPath | undefined
  readonly network: ToolNetwork
}

/** Turns the pages of one call: the request for the first, then for each that follows. */
export class PageTurner {
  readonly #turning: Turning
  readonly #original: OutgoingRequest
  readonly #asked = new Set<string>()
  readonly first: OutgoingRequest
  /** The number of the page, or how many items were left out, where pages are counted. */
  #count: number
  /** What an error must not bring to light. */
  #secrets = new SecretValues()

  constructor(request: OutgoingRequest, turning: Turning) {
    const { pagination } = turning
    this.#turning = turning
    this.#original = request
    this.#count = startOf(pagination, request.path)
    this.first = this.#counted()
    this.#asked.add(this.first.origin + this.first.path)
  }

  /** The request for the page behind this one; undefined at the end, and where it would begin again. */
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
        // As many as came: a service may send fewer than it was asked for, and not be at its end.
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

  /** A service says where the next page is: that is looked at like a redirect. */
  #at(target: string | undefined, { origin, path }: HttpResponse): OutgoingRequest | undefined {
    if (target === undefined) return undefined
    const url = URL.parse(target, origin + path)
    if (url === null) throw this.#broken('names a next page by something that is not a URL')
    const refusal = this.#turning.network.refusal(url)
    if (refusal !== undefined) throw this.#broken(`names a next page elsewhere. ${refusal}`)
    if (leavesTls(url, this.#original)) {
      throw this.#broken(
        `names a next page over http, at '${url.host}', where it was asked over https: that is refused`,
      )
    }
    return requestTo(url, this.#original)
  }

  /** Where there is no next page, pages say so in many ways. */
  #text(found: unknown, path: string): string | undefined {
    if (found === null || found === undefined || found === '' || found === false) return undefined
    if (typeof found === 'string' || typeof found === 'number') return String(found)
    throw this.#broken(`answered with a page where ${path} leads to something that is neither a text nor a number`)
  }

  #broken(problem: string): Error {
    return brokenAnswer(this.#secrets.scrub(`The service behind tool '${this.#turning.tool}' ${problem}`))
  }
}

/** Where counting begins: at what the caller asked for, if he did. */
function startOf(pagination: Pagination, path: string): number {
  if (pagination.type === 'page') return queryNumber(path, pagination.page_param) ?? pagination.first_page ?? 1
  return pagination.type === 'offset' ? (queryNumber(path, pagination.offset_param) ?? 0) : 0
}
