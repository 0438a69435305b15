import { type Log, writeLog } from '../../../core/log.ts'
import { answerTooLarge, brokenAnswer } from '../exchange/exchange-error.ts'
import type { HttpImplementation, Pagination } from '../http-implementation.ts'
import type { ToolNetwork } from '../network/network-rules.ts'
import type { HttpResponse, OutgoingRequest } from '../outgoing-request.ts'
import type { SecretValues } from '../secret-values.ts'
import { JsonPath } from './json-path.ts'
import { PageTurner } from './page-turner.ts'
import { readBody } from './read-body.ts'
import { checkStatus, lookingThrough, type Reading, shapeOf } from './read-response.ts'

/** What one call brings to have its pages gathered. */
export interface Gathering {
  /** Sends a request. What shows who we are goes to the tool's own origin only, also in the query. */
  ask(request: OutgoingRequest): Promise<HttpResponse>
  readonly network: ToolNetwork
  /** Those of the request that was sent last: looked at anew behind each. */
  readonly secrets: SecretValues
  /** Of all pages together. */
  readonly maxBytes: number
}

const USUAL_PAGES = 10

/**
 * Gathers the pages of a list into one. Where a page cannot be had, the call fails: half a list that looks like a whole
 * one would be worse.
 */
export class Pages {
  readonly #pagination: Pagination
  readonly #itemsPath: JsonPath | undefined
  readonly #nextPath: JsonPath | undefined
  readonly #reading: Reading
  readonly #log: Log

  /** Throws a sentence about a path that cannot be used. */
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
        // An address of the next page may hold a secret, and must be asked for with it.
        return turner.next(response, value, items.length, secrets)
      })
    }
    if (next !== undefined) writeLog(this.#log, 'debug', { tool, items: gathered.length }, 'There may be more pages')
    return shapeOf(gathered, this.#reading)
  }

  get #mostPages(): number {
    return this.#pagination.max_pages ?? USUAL_PAGES
  }

  #isEnough(gathered: readonly unknown[]): boolean {
    const { keepsItems, maxItems } = this.#reading.shape
    return keepsItems && maxItems !== undefined && gathered.length >= maxItems
  }

  /** A service that does not know the parameter that pages are counted by sends the same one again and again. */
  #isRepeated(body: Buffer, previous: Buffer | undefined): boolean {
    const { type } = this.#pagination
    return (type === 'page' || type === 'offset') && previous !== undefined && body.equals(previous)
  }

  #itemsOf(page: unknown): readonly unknown[] {
    const items = this.#itemsPath === undefined ? page : this.#itemsPath.find(page)
    if (items === null) return []
    if (Array.isArray(items)) return items
    throw brokenAnswer(
      `The service behind tool '${this.#reading.tool}' answered with a page that is no list of items: say in pagination.items_path where it has them`,
    )
  }
}

function nextPathOf(pagination: Pagination): JsonPath | undefined {
  if (pagination.type === 'cursor') return new JsonPath(pagination.cursor_path)
  return pagination.type === 'next_url' ? new JsonPath(pagination.next_path) : undefined
}
