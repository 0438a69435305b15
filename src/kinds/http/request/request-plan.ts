import type { Environment } from '../../../core/environment.ts'
import { setOwn } from '../../../core/json/json-type.ts'
import type { Params, ToolDefinition } from '../../../core/tool.ts'
import type { HttpImplementation, HttpMethod } from '../definition/http-implementation.ts'
import { SecretValues } from '../definition/secret-values.ts'
import type { OutgoingRequest } from '../exchange/outgoing-request.ts'
import { expandImplementation } from './expand-implementation.ts'
import { problemOf } from './http-problem-of.ts'
import type { PlacedParameter } from './placed-parameters.ts'
import { refusedParameter, unfitImplementation } from './request-errors.ts'
import { requestParts } from './request-parts.ts'
import {
  type EncodeText,
  encodeCookie,
  encodeHeader,
  encodePath,
  encodeQuery,
  joined,
  own,
  type WritableParameter,
  writeHeader,
  writePairs,
  writePath,
} from './write-parameter.ts'

/** Builds the requests of one tool. */
export interface RequestPlan {
  /** The tool's own URL, with the templates in its path. */
  readonly url: URL
  readonly method: HttpMethod
  readonly implementation: HttpImplementation
  readonly secrets: SecretValues
  /** Throws `INVALID_PARAMETERS` if a value can't be sent in its place. */
  build(params: Params): OutgoingRequest
}

/** Compiles the requests of a tool. Throws if its implementation is invalid or a variable is missing or can't be sent. */
export function compileRequest(tool: ToolDefinition, env: Environment): RequestPlan {
  const problem = problemOf(tool)
  if (problem !== undefined) {
    throw unfitImplementation(`Tool '${tool.name}' has an invalid implementation: ${problem}`)
  }
  const { implementation, secrets } = expandImplementation(tool.implementation as HttpImplementation, env)
  const { template, pathParameters, placed, headers, credentials, body } = requestParts(tool, implementation)
  const { method = 'GET', query = {} } = implementation
  const { url } = template
  const { origin } = url
  const inPath = pathParameters.flatMap((name) => writable(placed, 'path', encodePath, name))
  const inQuery = writable(placed, 'query', encodeQuery)
  const inHeaders = writable(placed, 'header', encodeHeader)
  const cookies = writable(placed, 'cookie', encodeCookie)
  const fixedPairs = Object.entries(query).map(
    ([name, value]) => `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`,
  )
  const fixedQuery = [...template.pairs, ...fixedPairs]
  const bodyHeaders = body && { 'content-type': body.contentType, ...headers }

  const pathOf = (params: Params): string =>
    inPath.reduce(
      (path, to, at) => path + segment(own(params, to.parameter), to) + template.texts[at + 1],
      template.texts[0] ?? '',
    )

  const queryOf = (params: Params): string => {
    const query = joined([...fixedQuery, ...pairsOf(params, inQuery)], '&', 'the query')
    return query === undefined ? '' : `?${query}`
  }

  const headersOf = (params: Params, fixed: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
    if (inHeaders.length + cookies.length === 0) return fixed
    const written: Record<string, string> = { ...fixed }
    for (const to of inHeaders) {
      const text = writeHeader(own(params, to.parameter), to)
      if (text !== undefined) setOwn(written, to.key, text)
    }
    const pairs = pairsOf(params, cookies)
    if (pairs.length > 0)
      written.cookie = [...(written.cookie === undefined ? [] : [written.cookie]), ...pairs].join('; ')
    return written
  }

  return {
    url,
    method,
    implementation,
    secrets: new SecretValues(secrets),
    build(params) {
      const path = pathOf(params) + queryOf(params)
      const text = body?.write(params)
      const fixed = text === undefined ? headers : (bodyHeaders ?? headers)
      const request = { method, origin, path, headers: headersOf(params, fixed), credentials }
      return text === undefined ? request : { ...request, body: text }
    },
  }
}

const pairsOf = (params: Params, places: readonly WritableParameter[]): string[] =>
  places.map((to) => writePairs(own(params, to.parameter), to)).filter((pairs) => pairs !== undefined)

function segment(value: unknown, to: WritableParameter): string {
  const text = writePath(value, to)
  if (text === undefined || text === '') {
    throw refusedParameter(to.parameter, value, 'must not be empty, as it is part of the path')
  }
  if (text === '.' || text === '..') {
    throw refusedParameter(to.parameter, value, 'must not be . or .. or change the path')
  }
  return text
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
