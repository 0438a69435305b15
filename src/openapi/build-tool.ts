import type { ToolDefinition } from '../core/tool.ts'
import type { HttpImplementation, HttpMethod } from '../kinds/http/definition/http-implementation.ts'
import { problemOf } from '../kinds/http/request/http-problem-of.ts'
import type { ApiOperation, ApiReader, TakeNote } from './api-operation.ts'
import { assembleSchema, type WholeRules } from './assemble-schema.ts'
import { type BodyParameters, bodyParameters } from './body-parameters.ts'
import { describeOperation } from './describe-operation.ts'
import type { Documents } from './documents.ts'
import { type Credentials, mapSecurity } from './map-security.ts'
import { bestType, isPlainType } from './media-type.ts'
import { Unmappable } from './openapi-error.ts'
import { outsideParameters } from './outside-parameters.ts'
import { pathTemplate } from './path-template.ts'
import { placeParameters } from './place-parameters.ts'
import type { PlacedParameter } from './placed-parameter.ts'
import { own, quoted, type RawObject } from './raw.ts'
import type { SchemaParts } from './schema-part.ts'
import { type Bases, serverUrl } from './server-url.ts'
import type { VariableNames } from './variable-names.ts'

/** What all operations of a document have in common. */
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

/** What the document says of the body as a whole, in the names of the tool. */
function wholeRules(body: BodyParameters | undefined, names: ReadonlyMap<PlacedParameter, string>): WholeRules {
  const own = new Map(body?.parameters.map((parameter) => [parameter.apiName, names.get(parameter) ?? '']))
  // What only answers have cannot be asked for.
  const known = (body?.oneRequired ?? []).filter((lists) => lists.flat().every((name) => own.has(name)))
  const oneRequired = known.map((lists) => lists.map((list) => list.map((name) => own.get(name) ?? name)))
  return { ...(body?.closed && { closed: true }), oneRequired }
}

/** What is asked for, where JSON is not what comes. */
function answerHeaders(answers: readonly string[], note: TakeNote): Readonly<Record<string, string>> {
  if (answers.length === 0) return {}
  const best = bestType(answers.map((mediaType) => ({ mediaType })))?.mediaType
  if (best === undefined) {
    note(`its answer is ${quoted([...new Set(answers)].join(', '))}, which a model cannot read`)
    return {}
  }
  return /^application\/json$|\*/i.test(best) || !isPlainType(best) ? {} : { accept: best }
}
