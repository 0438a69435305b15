import { hasVariable } from '../../../core/environment.ts'
import { setOwn } from '../../../core/json/json-type.ts'
import type { Params, ToolDefinition } from '../../../core/tool.ts'
import type { HttpImplementation } from '../definition/http-implementation.ts'
import { isSecretName, looksSecret } from '../definition/secret-values.ts'
import { isForParameters, isHeaderName, isHeaderValue, isOfTheConnection } from '../exchange/outgoing-request.ts'
import { namedParameters, type PlacedParameter, placedParameters, templateParameter } from './placed-parameters.ts'
import { refusedParameter, unfitImplementation } from './request-errors.ts'
import { decoded, type UrlTemplate, urlTemplate } from './url-template.ts'
import { encodeQuery, joined, own, type WritableParameter, writePairs } from './write-parameter.ts'

interface RequestParts {
  readonly template: UrlTemplate
  /** The parameter of each path template, in order. */
  readonly pathParameters: readonly string[]
  readonly placed: readonly PlacedParameter[]
  readonly headers: Readonly<Record<string, string>>
  /** Names of headers with secrets, in lower case. */
  readonly credentials: readonly string[]
  readonly body: BodyWriter | undefined
}

/** Compiles the requests of a tool whose variables are replaced. Throws if the implementation is invalid. */
export function requestParts(tool: ToolDefinition, implementation: HttpImplementation): RequestParts {
  const written = tool.implementation as HttpImplementation
  const template = urlTemplate(implementation.url, written.url)
  const named = namedParameters(tool.parameters)
  const placed = placedParameters(implementation, named, template)
  checkClaimedNames(implementation, template, placed)
  return {
    template,
    pathParameters: template.templates.map((one) => templateParameter(one, named, implementation.params_mapping ?? {})),
    placed,
    headers: fixedHeaders(implementation),
    credentials: credentials(written, placed),
    body: bodyWriter(implementation, placed),
  }
}

/** Headers with a variable or a secret name must not reach another origin. */
function credentials({ headers = {} }: HttpImplementation, placed: readonly PlacedParameter[]): string[] {
  const fixed = Object.entries(headers)
    .filter(([name, value]) => hasVariable(value) || isSecretName(name) || looksSecret(name, value))
    .map(([name]) => name)
  const given = placed.filter((one) => one.in === 'header' && isSecretName(one.name)).map(({ name }) => name)
  return [...fixed, ...given].map((name) => name.toLowerCase())
}

/** The fixed headers of a tool, names in lower case. Errors never quote their values. */
function fixedHeaders({ headers = {}, auth }: HttpImplementation): Record<string, string> {
  const fixed: Record<string, string> = { accept: 'application/json, */*;q=0.5', 'user-agent': 'toolyard' }
  const given = new Set<string>()
  for (const [written, value] of Object.entries(headers)) {
    const name = checkedName(written, 'implementation.headers')
    if (given.has(name)) throw unfitImplementation(`implementation.headers has '${name}' twice: remove one of them`)
    if (!isHeaderValue(value)) {
      throw unfitImplementation(
        `implementation.headers.${written} contains a character that is not allowed in a header: write plain ASCII text`,
      )
    }
    given.add(name)
    setOwn(fixed, name, value.trim())
  }
  if (auth?.type === 'api_key' && auth.in === 'header') checkedName(auth.name, 'implementation.auth.name')
  return fixed
}

function checkedName(written: string, key: string): string {
  const name = written.toLowerCase()
  if (!isHeaderName(name)) {
    throw unfitImplementation(
      `${key} has ${JSON.stringify(written)}, which is not a valid header name: use letters, digits and -`,
    )
  }
  if (isOfTheConnection(name)) {
    throw unfitImplementation(`${key} has '${written}', which belongs to the connection: remove it`)
  }
  return name
}

/** Throws if two values would be sent under one name, or a parameter under a reserved one. */
function checkClaimedNames(
  { headers = {}, query = {}, auth, body = 'json' }: HttpImplementation,
  { pairs }: UrlTemplate,
  placed: readonly PlacedParameter[],
): void {
  const claims = new Map<string, string>()
  for (const pair of pairs) claims.set(`query ${decoded(pair.split('=', 1)[0] ?? '')}`, 'implementation.url has')
  for (const name of Object.keys(query)) claims.set(`query ${name}`, 'implementation.query has')
  for (const name of Object.keys(headers)) claims.set(`header ${name.toLowerCase()}`, 'implementation.headers has')
  const claimed = auth && claimOf(auth)
  if (claimed !== undefined) {
    const other = claims.get(claimed)
    if (other !== undefined) {
      throw unfitImplementation(`${other} what implementation.auth sends, ${spoken(claimed)}: remove one of the two`)
    }
    claims.set(claimed, 'implementation.auth sends')
  }
  for (const parameter of placed) {
    if (parameter.in === 'path') continue
    if (parameter.in === 'header') checkHeader(parameter)
    for (const name of namesOf(parameter, body)) {
      const claim = `${parameter.in} ${parameter.in === 'header' ? name.toLowerCase() : name}`
      const other = claims.get(claim)
      if (other !== undefined) {
        throw unfitImplementation(
          `Parameter '${parameter.parameter}' would be sent as the ${spoken(claim)}, which ${other} already: map it to another name in params_mapping, or remove one of the two`,
        )
      }
      claims.set(claim, `parameter '${parameter.parameter}' is`)
    }
  }
}

function claimOf(auth: NonNullable<HttpImplementation['auth']>): string {
  if (auth.type !== 'api_key') return 'header authorization'
  return auth.in === 'header' ? `header ${auth.name.toLowerCase()}` : `query ${auth.name}`
}

/** Turns `query api_key` into words. */
function spoken(claim: string): string {
  const [place, ...name] = claim.split(' ')
  return `${place === 'query' ? 'query parameter' : place === 'body' ? 'key of the body' : place} '${name.join(' ')}'`
}

/** An exploded object sends its keys instead of its name. */
function namesOf({ name, keys, explode, style, in: place }: PlacedParameter, body: string): readonly string[] {
  const apart = explode && style !== undefined && style !== 'deepObject' && (place !== 'body' || body === 'form')
  return apart && keys.size > 0 ? [name, ...[...keys].filter((key) => key !== name)] : [name]
}

function checkHeader({ parameter, name }: PlacedParameter): void {
  if (!isHeaderName(name)) {
    throw unfitImplementation(
      `Parameter '${parameter}' would be sent as the header '${name}', which is not a valid name: map it to another in params_mapping`,
    )
  }
  if (isForParameters(name.toLowerCase())) return
  const fix = name.toLowerCase() === 'cookie' ? 'place it in "cookie" instead' : 'remove it from params_in'
  throw unfitImplementation(`Parameter '${parameter}' would set the header '${name}', which no parameter may: ${fix}`)
}

interface BodyWriter {
  readonly contentType: string
  /** Returns the body; undefined if there is nothing to send. */
  write(params: Params): string | undefined
}

const CONTENT_TYPES = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain; charset=utf-8',
} as const

/** Creates the body writer of a tool; undefined if no parameter is sent in a body. */
function bodyWriter(
  { body: form = 'json', body_param: whole, headers = {} }: HttpImplementation,
  placed: readonly PlacedParameter[],
): BodyWriter | undefined {
  const inBody = placed.filter((parameter) => parameter.in === 'body')
  const [first, second] = inBody
  if (first === undefined) return undefined
  checkContentType(form, headers)
  const contentType = CONTENT_TYPES[form]
  if (form === 'text') {
    if (second !== undefined) {
      throw unfitImplementation(
        `implementation.body is 'text', and parameters '${first.parameter}' and '${second.parameter}' would both be the body: name one in body_param`,
      )
    }
    return { contentType, write: (params) => textBody(first.parameter, own(params, first.parameter)) }
  }
  if (whole !== undefined) {
    const write = form === 'form' ? formOf : (value: unknown) => JSON.stringify(value)
    return { contentType, write: (params) => write(own(params, whole), whole) }
  }
  return { contentType, write: form === 'form' ? formWriter(inBody) : jsonWriter(inBody) }
}

/** Rejects a content-type header that contradicts `implementation.body`. */
function checkContentType(form: keyof typeof CONTENT_TYPES, headers: Readonly<Record<string, string>>): void {
  const name = Object.keys(headers).find((one) => one.toLowerCase() === 'content-type')
  const [type = ''] = name === undefined ? [] : (headers[name]?.toLowerCase().split(';', 1) ?? [])
  const fits =
    form === 'text' || type === '' || (form === 'form' ? type.trim() === CONTENT_TYPES.form : /json/.test(type))
  if (fits) return
  const fix = type.trim() === CONTENT_TYPES.form ? 'write "body": "form"' : 'remove the header, or write "body": "text"'
  throw unfitImplementation(`implementation.headers.${name} '${type.trim()}' does not match a ${form} body: ${fix}`)
}

function jsonWriter(inBody: readonly PlacedParameter[]): BodyWriter['write'] {
  const keys = inBody.map(({ parameter, name }) => ({ parameter, key: `${JSON.stringify(name)}:` }))
  return (params) => {
    let text = ''
    for (const { parameter, key } of keys) {
      const value = own(params, parameter)
      if (value === undefined) continue
      text += `${text === '' ? '{' : ','}${key}${JSON.stringify(value)}`
    }
    return text === '' ? '{}' : `${text}}`
  }
}

function formWriter(inBody: readonly PlacedParameter[]): BodyWriter['write'] {
  const fields: readonly WritableParameter[] = inBody.map((parameter) => ({
    ...parameter,
    key: encodeQuery(parameter.name, parameter.parameter),
    encode: encodeQuery,
    between: '&',
  }))
  return (params) => {
    const pairs = fields.map((field) => writePairs(own(params, field.parameter), field))
    return joined(pairs, '&', 'the form') ?? ''
  }
}

function formOf(value: unknown, parameter: string): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw refusedParameter(parameter, value, 'must be an object, as it is sent as a form')
  }
  const to = { parameter, in: 'body', style: undefined, explode: true, keys: new Set<string>(), between: '&' } as const
  const pairs = Object.entries(value).map(([name, one]) =>
    writePairs(one, { ...to, name, key: encodeQuery(name, parameter), encode: encodeQuery }),
  )
  return joined(pairs, '&', parameter) ?? ''
}

function textBody(parameter: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (!text.isWellFormed()) throw refusedParameter(parameter, text, 'must not contain half of a surrogate pair')
  return text
}
