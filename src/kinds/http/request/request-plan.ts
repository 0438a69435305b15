import type { Environment } from '../../../core/expand-variables.ts'
import type { Params, ToolDefinition } from '../../../core/tool.ts'
import type { HttpImplementation, HttpMethod } from '../definition/http-implementation.ts'
import { SecretValues } from '../definition/secret-values.ts'
import type { OutgoingRequest } from '../exchange/outgoing-request.ts'
import type { BodyWriter } from './body-writer.ts'
import { expandImplementation } from './expand-implementation.ts'
import { problemOf } from './http-problem-of.ts'
import type { PlacedParameter } from './placed-parameters.ts'
import { refusedParameter, unfitImplementation } from './request-errors.ts'
import { type RequestParts, requestParts } from './request-parts.ts'
import {
  type EncodeText,
  encodeCookie,
  encodeHeader,
  encodePath,
  encodeQuery,
  own,
  type WritableParameter,
  writeHeader,
  writePairs,
  writePath,
} from './write-parameter.ts'

/** Compiles the requests of a tool. Throws if its implementation is invalid or a variable is missing or can't be sent. */
export function compileRequest(tool: ToolDefinition, env: Environment): RequestPlan {
  const problem = problemOf(tool)
  if (problem !== undefined) {
    throw unfitImplementation(`Tool '${tool.name}' has an invalid implementation: ${problem}`)
  }
  const { implementation, secrets } = expandImplementation(tool.implementation as HttpImplementation, env)
  const parts = requestParts(tool, implementation)
  return new RequestPlan(implementation, parts, new SecretValues(secrets))
}

/** Builds the requests of one tool. */
export class RequestPlan {
  /** The tool's own URL, with the templates in its path. */
  readonly url: URL
  readonly origin: string
  readonly method: HttpMethod
  readonly secrets: SecretValues
  readonly #texts: readonly string[]
  readonly #path: readonly WritableParameter[]
  /** Starts with `?`, or is empty. */
  readonly #fixedQuery: string
  readonly #query: readonly WritableParameter[]
  readonly #headers: Readonly<Record<string, string>>
  readonly #bodyHeaders: Readonly<Record<string, string>>
  readonly #credentials: readonly string[]
  readonly #inHeaders: readonly WritableParameter[]
  readonly #cookies: readonly WritableParameter[]
  readonly #body: BodyWriter | undefined

  constructor(implementation: HttpImplementation, parts: RequestParts, secrets: SecretValues) {
    const { template, pathParameters, placed, headers, credentials, body } = parts
    this.url = template.url
    this.origin = template.url.origin
    this.method = implementation.method ?? 'GET'
    this.secrets = secrets
    this.#texts = template.texts
    this.#path = pathParameters.flatMap((name) => writable(placed, 'path', encodePath, name))
    const fixed = Object.entries(implementation.query ?? {}).map(
      ([name, value]) => `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`,
    )
    const pairs = [...template.pairs, ...fixed]
    this.#fixedQuery = pairs.length === 0 ? '' : `?${pairs.join('&')}`
    this.#query = writable(placed, 'query', encodeQuery)
    this.#credentials = Object.freeze(credentials)
    this.#inHeaders = writable(placed, 'header', encodeHeader)
    this.#cookies = writable(placed, 'cookie', encodeCookie)
    this.#body = body
    this.#headers = Object.freeze(headers)
    this.#bodyHeaders =
      body === undefined ? this.#headers : Object.freeze({ 'content-type': body.contentType, ...headers })
  }

  /** Builds the request of a call. Throws `INVALID_PARAMETERS` if a value can't be sent in its place. */
  build(params: Params): OutgoingRequest {
    const { method, origin } = this
    const credentials = this.#credentials
    const path = this.#pathOf(params) + this.#queryOf(params)
    const body = this.#body?.write(params)
    const fixed = body === undefined ? this.#headers : this.#bodyHeaders
    const isFixed = this.#inHeaders.length === 0 && this.#cookies.length === 0
    const headers = isFixed ? fixed : this.#headersOf(params, fixed)
    if (body === undefined) return { method, origin, path, headers, credentials }
    return { method, origin, path, headers, credentials, body }
  }

  #pathOf(params: Params): string {
    let path = this.#texts[0] as string
    for (let at = 0; at < this.#path.length; at++) {
      const to = this.#path[at] as WritableParameter
      const value = own(params, to.parameter)
      const text = writePath(value, to)
      if (text === undefined || text === '') {
        throw refusedParameter(to.parameter, value, 'must not be empty, as it is part of the path')
      }
      if (text === '.' || text === '..') {
        throw refusedParameter(to.parameter, value, 'must not be . or .. or lead to another place in the path')
      }
      path += text + this.#texts[at + 1]
    }
    return path
  }

  #queryOf(params: Params): string {
    let query = this.#fixedQuery
    for (const to of this.#query) {
      const pairs = writePairs(own(params, to.parameter), to)
      if (pairs !== undefined) query += (query === '' ? '?' : '&') + pairs
    }
    return query
  }

  #headersOf(params: Params, fixed: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const headers: Record<string, string> = { ...fixed }
    for (const to of this.#inHeaders) {
      const text = writeHeader(own(params, to.parameter), to)
      if (text !== undefined) headers[to.key] = text
    }
    for (const to of this.#cookies) {
      const pairs = writePairs(own(params, to.parameter), to)
      if (pairs !== undefined) headers.cookie = headers.cookie === undefined ? pairs : `${headers.cookie}; ${pairs}`
    }
    return headers
  }
}

/** The parameters of a place, or the one with that name, with their encoders. */
function writable(
  placed: readonly PlacedParameter[],
  place: PlacedParameter['in'],
  encode: EncodeText,
  parameter?: string,
): WritableParameter[] {
  return placed
    .filter((one) => one.in === place && (parameter === undefined || one.parameter === parameter))
    .map((one) => ({
      ...one,
      key: place === 'header' ? one.name.toLowerCase() : encodeURIComponent(one.name.toWellFormed()),
      encode,
      between: place === 'cookie' ? '; ' : '&',
    }))
}
