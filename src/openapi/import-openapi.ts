import { foreignText } from '../core/json/json-depth.ts'
import { quoted } from '../core/schema/problem-words.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { HttpImplementation, HttpMethod } from '../kinds/http/definition/http-implementation.ts'
import { problemOf } from '../kinds/http/request/http-problem-of.ts'
import { type BodyParameters, bestType, bodyParameters, isPlainType } from './body-parameters.ts'
import {
  Documents,
  OpenapiError,
  own,
  ownObject,
  type RawObject,
  type ReferencedFile,
  Unmappable,
} from './documents.ts'
import { type Credentials, mapSecurity, VariableNames } from './map-security.ts'
import { type ApiOperation, type ApiReader, listOperations, selectOperations, type TakeNote } from './operations.ts'
import { outsideParameters, type PlacedParameter, placeParameters } from './parameters.ts'
import { plainText, sentences, shortened } from './plain-text.ts'
import { readerThree, readerTwo } from './readers.ts'
import { SchemaParts } from './schema-part.ts'
import { toolNames } from './tool-names.ts'
import { assembleSchema, type SchemaWork, schemaWork, type WholeRules } from './write-schema.ts'

export interface ImportOptions {
  /** Only operations with one of these tags, paths, operation ids or names; all by default. */
  readonly include?: readonly string[] | undefined
  readonly prefix?: string | undefined
  /** Replaces the document's servers; relative ones are resolved against it. */
  readonly baseUrl?: string | undefined
  /** Relative servers are resolved against it. */
  readonly documentUrl?: string
  /** The referenced files, by path relative to the document's folder. */
  readonly files?: ReadonlyMap<string, ReferencedFile>
  /** Called from time to time. */
  readonly onProgress?: (done: number, all: number) => void
}

/** The result of an import. Every operation is mapped, refused or excluded. */
export interface ImportReport {
  readonly title: string
  readonly found: number
  readonly mapped: number
  /** Operations excluded by `include`. */
  readonly excluded: number
  readonly refused: readonly { readonly operation: string; readonly reason: string }[]
  /** Differences between the tools and the document. */
  readonly notes: readonly { readonly operation: string; readonly note: string }[]
  readonly secured: boolean
  /** The environment variables that the tools need. */
  readonly variables: readonly string[]
  /** Requests that the API sends: they don't become tools. */
  readonly webhooks: readonly string[]
  readonly callbacks: readonly string[]
  /** Sorted by name. */
  readonly definitions: readonly ToolDefinition[]
}

const PROGRESS_EVERY = 250

/** Turns every operation of an OpenAPI 3.x or Swagger 2 document into an HTTP tool. Throws `OpenapiError`. */
export function importOpenapi(document: unknown, options: ImportOptions = {}): ImportReport {
  const version = versionOf(document)
  const root = document as RawObject
  const { include = [], prefix = '', files, onProgress } = options
  const title = plainText(own(ownObject(root, 'info'), 'title'), 200)
  const documents = new Documents(root, files)
  const reader = version === '2' ? readerTwo(root, documents) : readerThree(root, documents)
  const listing = listOperations(root, documents)
  const context = {
    ...options,
    document: root,
    documents,
    reader,
    parts: new SchemaParts(documents, version === '3.1'),
    variables: new VariableNames(reader.securitySchemes),
    work: schemaWork(listing.operations.length),
  }
  const names = toolNames(listing.operations, prefix)
  const selected =
    include.length > 0 ? selectOperations(listing.operations, names, include) : new Set(listing.operations)

  const definitions: ToolDefinition[] = []
  const refused = include.length > 0 ? [] : [...listing.refused]
  const notes: { operation: string; note: string }[] = []
  let done = 0
  for (const operation of selected) {
    const own = new Set<string>()
    const tool = attempt(() => buildTool(operation, names.get(operation) ?? '', context, (note) => own.add(note)))
    if ('reason' in tool) refused.push({ operation: operation.label, reason: tool.reason })
    else {
      definitions.push(tool.definition)
      for (const note of own) notes.push({ operation: operation.label, note })
    }
    if (++done % PROGRESS_EVERY === 0) onProgress?.(done, selected.size)
  }
  const found = listing.operations.length + listing.refused.length
  return {
    title,
    found,
    mapped: definitions.length,
    excluded: found - definitions.length - refused.length,
    refused,
    notes,
    secured: reader.securitySchemes.size > 0,
    variables: variablesIn(definitions),
    webhooks: listing.webhooks,
    callbacks: listing.callbacks,
    definitions: definitions.sort((one, other) => (one.name < other.name ? -1 : 1)),
  }
}

/** One unreadable operation must not stop the others. */
function attempt(build: () => ToolDefinition): { readonly definition: ToolDefinition } | { readonly reason: string } {
  try {
    return { definition: build() }
  } catch (error) {
    if (error instanceof Unmappable) return { reason: error.message }
    return { reason: `it cannot be read (${error instanceof Error ? error.name : 'unknown reason'})` }
  }
}

function versionOf(document: unknown): '2' | '3.0' | '3.1' {
  if (!isObject(document)) throw new OpenapiError('The document is not an object, so it is not an OpenAPI document.')
  const [openapi, swagger] = [own(document, 'openapi'), own(document, 'swagger')]
  if (/^2(?:\.0)?$/.test(foreignText(swagger))) return '2'
  if (/^3\.0(?:\.|$)|^3$/.test(foreignText(openapi))) return '3.0'
  if (/^3\.\d/.test(foreignText(openapi))) return '3.1'
  const named = openapi ?? swagger
  if (named === undefined) {
    throw new OpenapiError(
      'The document is not an OpenAPI document: it has neither "openapi" nor "swagger" with a version.',
    )
  }
  throw new OpenapiError(
    `The document is of version ${quoted(foreignText(named))}: only OpenAPI 3 and Swagger 2.0 are supported.`,
  )
}

function variablesIn(definitions: readonly ToolDefinition[]): string[] {
  const names = new Set<string>()
  for (const { implementation } of definitions) {
    const { headers, query, auth } = implementation
    for (const [, name = ''] of JSON.stringify([headers, query, auth]).matchAll(/\$\{(\w+)\}/g)) names.add(name)
  }
  return [...names].sort()
}

/** Shared by all operations of a document. */
interface ToolContext extends Bases {
  readonly document: RawObject
  readonly documents: Documents
  readonly parts: SchemaParts
  readonly reader: ApiReader
  readonly variables: VariableNames
  readonly work: SchemaWork
}

/** Builds the tool of an operation. Throws `Unmappable`. */
function buildTool(operation: ApiOperation, name: string, context: ToolContext, note: TakeNote): ToolDefinition {
  const { reader, parts } = context
  const method = operation.method as HttpMethod
  const server = serverUrl(reader.servers(operation), context)
  if (server.startsWith('http:')) note('it is called over http, without encryption')
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
    context.work,
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

/** The names that no parameter can use. */
function sentAlways(query: Readonly<Record<string, string>>, { auth, headers }: Credentials) {
  const key = auth?.type === 'api_key' ? auth : undefined
  return {
    query: new Set([...Object.keys(query), ...(key?.in === 'query' ? [key.name] : [])]),
    headers: new Set([...Object.keys(headers), ...(key?.in === 'header' ? [key.name.toLowerCase()] : [])]),
  }
}

/** `${` would be read as an environment variable. */
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
    if (body.required) throw new Unmappable(`it requires a body, which ${operation.method} does not have`)
    note(`its body is left out: ${operation.method} has no body`)
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
    note(`its response is ${quoted([...new Set(answers)].join(', '))}, which a model cannot read`)
    return {}
  }
  return /^application\/json$|\*/i.test(best) || !isPlainType(best) ? {} : { accept: best }
}

const MAX_DESCRIPTION = 1024

/** Describes an operation in one paragraph: summary and description, or its path. */
function describeOperation({ operation: { value }, label }: ApiOperation): string {
  const summary = plainText(own(value, 'summary'), MAX_DESCRIPTION)
  const description = plainText(own(value, 'description'), MAX_DESCRIPTION)
  const repeats = description.toLowerCase().startsWith(summary.toLowerCase().replace(/\.$/, ''))
  const said = (repeats ? description : sentences(summary, description)) || plainText(label, MAX_DESCRIPTION)
  const mark = own(value, 'deprecated') === true ? 'Deprecated.' : ''
  return shortened(sentences(mark, said), MAX_DESCRIPTION)
}

/** The path of an operation, split into path and query. */
interface PathTemplate {
  /** For a URL, with `{name}` for each parameter. */
  readonly path: string
  readonly names: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

const PARAMETER = /\{([^{}]*)\}/g

/** Reads a path; `declared` are the names of its path parameters. Throws `Unmappable`. */
function pathTemplate(written: string, declared: ReadonlySet<string>): PathTemplate {
  // A fragment distinguishes operations with the same address.
  const [address = ''] = written.split('#', 1)
  const [path = '', query = ''] = address.split(/\?(.*)/s)
  if (written.includes('${')) throw new Unmappable('its path has "${", which means an environment variable')
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
    throw new Unmappable('its path has a . or .. segment')
  }
  return { path: template, names: [...names], query: Object.fromEntries(new URLSearchParams(query)) }
}

/** RFC 6570 writes `{+name}` and `{name*}` for a parameter `name`. */
function plainTemplateName(name: string, declared: ReadonlySet<string>): string {
  const plain = name.replace(/^[+#./;?&]|\*$/g, '')
  return declared.has(plain) ? plain : name
}

function encoded(text: string): string {
  if (/[{}]/.test(text)) throw new Unmappable('its path has a brace that does not belong to a parameter')
  return text
    .toWellFormed()
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/[^\p{ASCII}]+|[\s"<>\\^`|]/gu, encodeURIComponent)
    .replace(/\p{C}/gu, encodeURIComponent)
}

interface Bases {
  readonly baseUrl?: string | undefined
  readonly documentUrl?: string
}

/**
 * The base URL of an operation without a trailing slash: the first https server, else the first. Throws `Unmappable`.
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
  if (servers.length === 0) throw new Unmappable('the document has no server: set the URL of the API with --base-url')
  throw new Unmappable(
    `the server ${quoted(servers[0] ?? '')} is not a complete URL: set the URL of the API with --base-url`,
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
  const instead = 'set the URL of the API with --base-url'
  // Documents must not read environment variables.
  if (/[{}]/.test(address)) throw new Unmappable(`${named} has a variable without a default: ${instead}`)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Unmappable(`${named} is not an http or https URL: ${instead}`)
  }
  if (url.username !== '' || url.password !== '')
    throw new Unmappable(`${named} contains a user name or a password: ${instead}`)
  if (url.search !== '') throw new Unmappable(`${named} has a query: ${instead}`)
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`
}
