import type { Params } from '../../src/core/tool.ts'
import { checkBody, type GivenBody } from './check-body.ts'
import { checkCredentials } from './check-credentials.ts'
import type { DocumentTree } from './document-tree.ts'
import { type MatchedParameters, pathOf } from './matched-parameters.ts'
import { ReceivedPairs } from './received-pairs.ts'
import type { Received } from './recording-server.ts'
import type { StatedOperation } from './stated-operations.ts'
import type { StatedParameter, StatedRequest } from './stated-request.ts'
import { writtenPairs, writtenText } from './written-value.ts'

/** What every request has. */
const USUAL = new Set([
  ...['host', 'connection', 'accept', 'accept-encoding', 'user-agent'],
  ...['content-type', 'content-length', 'cookie'],
])

/** A call that was made, and what its document says of it. */
export interface Made {
  readonly operation: StatedOperation
  readonly stated: StatedRequest
  readonly matched: MatchedParameters
  readonly params: Params
  /** The parameter that is the whole body. */
  readonly bodyParam: string | undefined
}

/** What is wrong with a request that came, in the terms of its document: every value where it belongs, and nothing more. */
export function checkRequest(received: Received, made: Made, tree: DocumentTree): string[] {
  const { operation, stated, matched, params, bodyParam } = made
  const [path = '', search = ''] = received.target.split(/\?(.*)/s)
  const query = new ReceivedPairs(search, '&', 'the query parameter')
  const cookies = new ReceivedPairs(received.headers.cookie ?? '', ';', 'the cookie')
  const headers = new Map(Object.entries(received.headers).map(([name, value]) => [name, String(value)]))
  const problems = received.method === operation.method ? [] : [`the method is ${received.method}`]
  problems.push(...checkPath(path, made), ...checkAccept(headers.get('accept') ?? '', stated))
  problems.push(...checkCredentials(stated.security, { headers, query, cookies }))

  const [, fixed = ''] = operation.path.split('#', 1)[0]?.split(/\?(.*)/s) ?? []
  for (const [name, value] of new URLSearchParams(fixed)) problems.push(...query.take({ name, texts: [value] }))
  for (const [name, parameter] of matched.outside) {
    const value = params[name]
    if (parameter.required && value === undefined) {
      problems.push(`the ${parameter.in} parameter ${parameter.name} is required, and the tool does not require it`)
    }
    if (value === undefined) continue
    if (parameter.in === 'header') problems.push(...checkHeader(headers, parameter, value))
    if (parameter.in === 'query') problems.push(...writtenPairs(parameter, value).flatMap((pair) => query.take(pair)))
    if (parameter.in === 'cookie')
      problems.push(...writtenPairs(parameter, value).flatMap((pair) => cookies.take(pair)))
  }
  problems.push(...query.left(), ...cookies.left())
  for (const [name, value] of headers)
    if (!USUAL.has(name)) problems.push(`the header ${name}: ${value} is in no document`)
  return [...problems, ...checkBody(received, stated.body, givenBody(matched, params, bodyParam), tree)]
}

function givenBody({ inBody }: MatchedParameters, params: Params, bodyParam: string | undefined): GivenBody {
  if (bodyParam !== undefined) return { whole: params[bodyParam] }
  if (inBody.size === 0) return { whole: undefined }
  const given = [...inBody].filter(([name]) => params[name] !== undefined)
  return { keys: new Map(given.map(([name, key]) => [key, params[name]])) }
}

/** Segment by segment, so that a `/` in a value is not one between two of them. */
function checkPath(path: string, { operation, stated, matched, params }: Made): string[] {
  const values = matched.inPath.map((name) => {
    const parameter = matched.outside.get(name)
    return parameter && writtenText(parameter, params[name])
  })
  let index = 0
  const wanted = `${relativeServer(stated.servers)}${pathOf(operation.path)}`
    .split('/')
    .map((segment) => segment.split(/\{[^{}]*\}/).reduce((text, rest) => `${text}${values[index++]}${decode(rest)}`))
  const found = path.split('/').map(decode)
  return found.length === wanted.length && found.every((segment, at) => segment === wanted[at])
    ? []
    : [`the path is ${path}, not ${JSON.stringify(wanted)}`]
}

/** Where another base is given, what is left of a server that is written without a host. */
function relativeServer(servers: readonly string[]): string {
  const relative = servers.find((server) => !/^[a-z][a-z0-9+.-]*:|^\/\//i.test(server) && server !== '/')
  return relative === undefined ? '' : decode(new URL(relative, 'http://base/').pathname.replace(/\/+$/, ''))
}

function checkHeader(headers: Map<string, string>, parameter: StatedParameter, value: unknown): string[] {
  const name = parameter.name.toLowerCase()
  const [found, wanted] = [headers.get(name), writtenText(parameter, value)]
  headers.delete(name)
  return found === wanted ? [] : [`the header ${name} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`]
}

function checkAccept(accept: string, { answers }: StatedRequest): string[] {
  const isUsual = accept.startsWith('application/json, ')
  return isUsual || answers.includes(accept)
    ? []
    : [`${accept} is asked for, and comes as none of ${answers.join(', ')}`]
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
