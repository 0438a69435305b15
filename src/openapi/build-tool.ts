import type { ToolDefinition } from '../core/tool.ts'
import type { HttpImplementation, HttpMethod } from '../kinds/http/definition/http-implementation.ts'
import { problemOf } from '../kinds/http/request/http-problem-of.ts'
import { assembleSchema, type WholeRules } from './assemble-schema.ts'
import { type BodyParameters, bestType, bodyParameters, isPlainType } from './body-parameters.ts'
import { type Documents, own, quoted, type RawObject, Unmappable } from './documents.ts'
import { type Credentials, mapSecurity, type VariableNames } from './map-security.ts'
import type { ApiOperation, ApiReader, TakeNote } from './operations.ts'
import { outsideParameters, type PlacedParameter, placeParameters } from './parameters.ts'
import { plainText, sentences, shortened } from './plain-text.ts'
import type { SchemaParts } from './schema-part.ts'

/** The context that all operations of a document share. */
export interface ToolContext extends Bases {
  readonly document: RawObject
  readonly documents: Documents
  readonly parts: SchemaParts
  readonly reader: ApiReader
  readonly variables: VariableNames
}

/** The definition of the tool that an operation becomes. Throws `Unmappable`. */
export function buildTool(operation: ApiOperation, name: string, context: ToolContext, note: TakeNote): ToolDefinition {
  const { reader, parts } = context
  const method = operation.method as HttpMethod
  const server = serverUrl(reader.servers(operation), context)
  if (server.startsWith('http:')) note('it is asked over http, without encryption')
  const credentials = credentialsOf(operation, server, context)
  for (const one of credentials.notes) note(one)

  const declared = reader.parameters(operation, note)
  const inPath = new Set(declared.filter((one) => one.in === 'path').map((one) => one.name))
  const template = pathTemplate(operation.path, inPath)
  const query = { ...template.query, ...credentials.query }
  const outside = outsideParameters(declared, template.names, sentAlways(query, credentials), parts, note)
  const body = bodyOf(operation, context, note)
  const parameters = [...outside, ...(body?.parameters ?? [])]
  refuseNames(parameters)

  const { names, path, keys } = placeParameters(parameters, template.path, method)
  const { schema, notes } = assembleSchema(
    parameters.map((parameter) => ({ ...parameter, name: names.get(parameter) ?? parameter.apiName })),
    wholeRules(body, names),
  )
  for (const one of notes) note(one)

  const headers = {
    ...answerHeaders(reader.answers(operation, note), note),
    ...(body?.contentType && { 'content-type': body.contentType }),
    ...credentials.headers,
  }
  const implementation: HttpImplementation = {
    type: 'http',
    method,
    url: `${server}${path}`,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(Object.keys(query).length > 0 && { query }),
    ...keys,
    ...(body !== undefined && body.form !== 'json' && { body: body.form }),
    ...(credentials.auth && { auth: credentials.auth }),
  }
  const tool = { name, description: describeOperation(operation), parameters: schema, implementation }
  const problem = problemOf(tool)
  if (problem !== undefined) throw new Unmappable(problem)
  return tool
}

function credentialsOf(operation: ApiOperation, server: string, context: ToolContext): Credentials {
  const asked = own(operation.operation.value, 'security') ?? own(context.document, 'security')
  return mapSecurity(asked, context.reader.securitySchemes, context.variables, server)
}

/** The names under which no parameter can be sent any more. */
function sentAlways(query: Readonly<Record<string, string>>, { auth, headers }: Credentials) {
  const key = auth?.type === 'api_key' ? auth : undefined
  return {
    query: new Set([...Object.keys(query), ...(key?.in === 'query' ? [key.name] : [])]),
    headers: new Set([...Object.keys(headers), ...(key?.in === 'header' ? [key.name.toLowerCase()] : [])]),
  }
}

/** `${` would be taken for a variable of the environment. */
function refuseNames(parameters: readonly PlacedParameter[]): void {
  const strange = parameters.find(({ apiName }) => apiName.includes('${') || /\p{Cc}|\p{Cs}/u.test(apiName))
  if (strange !== undefined)
    throw new Unmappable(`its parameter ${quoted(strange.apiName)} has a name that cannot be sent`)
}

function bodyOf(
  operation: ApiOperation,
  { reader, documents, parts }: ToolContext,
  note: TakeNote,
): BodyParameters | undefined {
  const body = reader.body(operation, note)
  if (body === undefined) return undefined
  if (operation.method === 'GET' || operation.method === 'HEAD') {
    if (body.required) throw new Unmappable(`it wants a body, and ${operation.method} has none`)
    note(`its body is left out: ${operation.method} has none`)
    return undefined
  }
  return bodyParameters(body, documents, parts, note)
}

/** The rules for the whole body, in the tool's parameter names. */
function wholeRules(body: BodyParameters | undefined, names: ReadonlyMap<PlacedParameter, string>): WholeRules {
  const own = new Map(body?.parameters.map((parameter) => [parameter.apiName, names.get(parameter) ?? '']))
  // Read-only properties can't be required in a request.
  const known = (body?.oneRequired ?? []).filter((lists) => lists.flat().every((name) => own.has(name)))
  const oneRequired = known.map((lists) => lists.map((list) => list.map((name) => own.get(name) ?? name)))
  return { ...(body?.closed && { closed: true }), oneRequired }
}

/** The `accept` header, if the response isn't JSON. */
function answerHeaders(answers: readonly string[], note: TakeNote): Readonly<Record<string, string>> {
  if (answers.length === 0) return {}
  const best = bestType(answers.map((mediaType) => ({ mediaType })))?.mediaType
  if (best === undefined) {
    note(`its answer is ${quoted([...new Set(answers)].join(', '))}, which a model cannot read`)
    return {}
  }
  return /^application\/json$|\*/i.test(best) || !isPlainType(best) ? {} : { accept: best }
}

const MAX_DESCRIPTION = 1024

/** What an operation does, as one plain paragraph: its summary and its description, or at least its path. */
function describeOperation({ operation: { value }, label }: ApiOperation): string {
  const summary = plainText(own(value, 'summary'), MAX_DESCRIPTION)
  const description = plainText(own(value, 'description'), MAX_DESCRIPTION)
  const repeats = description.toLowerCase().startsWith(summary.toLowerCase().replace(/\.$/, ''))
  const said = (repeats ? description : sentences(summary, description)) || plainText(label, MAX_DESCRIPTION)
  const mark = own(value, 'deprecated') === true ? 'Deprecated.' : ''
  return shortened(sentences(mark, said), MAX_DESCRIPTION)
}

/** A path with its parameters, and what the document has put behind it. */
interface PathTemplate {
  /** As it stands in a URL, with `{name}` for each parameter. */
  readonly path: string
  /** The parameters in it, in order. */
  readonly names: readonly string[]
  /** Query parameters sent with every request. */
  readonly query: Readonly<Record<string, string>>
}

const PARAMETER = /\{([^{}]*)\}/g

/** Reads a path of the document. `declared` are the names of its path parameters. Throws `Unmappable`. */
function pathTemplate(written: string, declared: ReadonlySet<string>): PathTemplate {
  // A fragment distinguishes operations with the same address.
  const [address = ''] = written.split('#', 1)
  const [path = '', query = ''] = address.split(/\?(.*)/s)
  if (written.includes('${')) throw new Unmappable('its path has "${", which stands for a variable of the environment')
  if (query.includes('{')) throw new Unmappable('it has parameters in a query that is part of its path')
  const names = new Set<string>()
  const parts = path.split(PARAMETER).map((part, at) => {
    if (at % 2 === 0) return encoded(part)
    const name = declared.has(part) ? part : plainTemplateName(part, declared)
    if (name === '') throw new Unmappable(`its path has a parameter without a name: ${quoted(path)}`)
    names.add(name)
    return `{${name}}`
  })
  const template = parts.join('')
  if (template.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) {
    throw new Unmappable('its path has a segment that means another folder')
  }
  return { path: template, names: [...names], query: Object.fromEntries(new URLSearchParams(query)) }
}

/** `{+name}` and `{name*}` are how RFC 6570 writes parameters that other documents know as `name`. */
function plainTemplateName(name: string, declared: ReadonlySet<string>): string {
  const plain = name.replace(/^[+#./;?&]|\*$/g, '')
  return declared.has(plain) ? plain : name
}

function encoded(text: string): string {
  if (/[{}]/.test(text)) throw new Unmappable('its path has a brace that belongs to no parameter')
  return text
    .toWellFormed()
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/[^\p{ASCII}]+|[\s"<>\\^`|]/gu, encodeURIComponent)
    .replace(/\p{C}/gu, encodeURIComponent)
}

/** Where relative addresses start, and what goes before the document's own. */
interface Bases {
  readonly baseUrl?: string
  readonly documentUrl?: string
}

/**
 * The address that the paths of an operation are appended to, without a slash at its end: the first over https, else the
 * first. Throws `Unmappable` where there is none that can be used.
 */
export function serverUrl(servers: readonly string[], { baseUrl, documentUrl }: Bases): string {
  if (baseUrl !== undefined) {
    const relative = servers.find((server) => isRelative(server) && server !== '/')
    return checked(relative === undefined ? baseUrl : new URL(relative, `${baseUrl.replace(/(?<!\/)\/+$/, '')}/`).href)
  }
  const written = servers.length > 0 || documentUrl === undefined ? servers : ['/']
  const absolute = written.flatMap((server) => absoluteAddress(server, documentUrl) ?? [])
  const chosen = absolute.find((server) => /^https:/i.test(server)) ?? absolute[0]
  if (chosen !== undefined) return checked(chosen)
  if (servers.length === 0) throw new Unmappable('the document names no server: say where the API is with --base-url')
  throw new Unmappable(
    `the server ${quoted(servers[0] ?? '')} is no whole address: say where the API is with --base-url`,
  )
}

const isRelative = (address: string): boolean => !/^[a-z][a-z0-9+.-]*:|^\/\//i.test(address)

function absoluteAddress(address: string, documentUrl: string | undefined): string | undefined {
  if (!isRelative(address)) return address.startsWith('//') ? `https:${address}` : address
  return documentUrl === undefined ? undefined : URL.parse(address, documentUrl)?.href
}

function checked(address: string): string {
  const url = URL.parse(address)
  const named = `the server ${quoted(address)}`
  const instead = 'say where the API is with --base-url'
  // Variables are for those who write definitions, not for strangers' documents.
  if (/[{}]/.test(address)) throw new Unmappable(`${named} has a variable without a default: ${instead}`)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Unmappable(`${named} is no http or https address: ${instead}`)
  }
  if (url.username !== '' || url.password !== '')
    throw new Unmappable(`${named} holds a user name or a password: ${instead}`)
  if (url.search !== '') throw new Unmappable(`${named} has a query: ${instead}`)
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`
}
