import { hasVariable } from '../../../core/expand-variables.ts'
import type { ToolDefinition } from '../../../core/tool.ts'
import type { HttpImplementation } from '../definition/http-implementation.ts'
import { isSecretName, looksSecret } from '../definition/secret-values.ts'
import { isForParameters, isHeaderName, isHeaderValue, isOfTheConnection } from '../exchange/outgoing-request.ts'
import { type BodyWriter, bodyWriter } from './body-writer.ts'
import { namedParameters, type PlacedParameter, placedParameters, templateParameter } from './placed-parameters.ts'
import { unfitImplementation } from './request-errors.ts'
import { decoded, type UrlTemplate, urlTemplate } from './url-template.ts'

/** The parts of a tool's requests. */
export interface RequestParts {
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
        `implementation.headers.${written} holds a character that no header may have: write plain ASCII text`,
      )
    }
    given.add(name)
    fixed[name] = value.trim()
  }
  if (auth?.type === 'api_key' && auth.in === 'header') checkedName(auth.name, 'implementation.auth.name')
  return fixed
}

function checkedName(written: string, key: string): string {
  const name = written.toLowerCase()
  if (!isHeaderName(name)) {
    throw unfitImplementation(
      `${key} has ${JSON.stringify(written)}, which is no name for a header: use letters, digits and -`,
    )
  }
  if (isOfTheConnection(name)) {
    throw unfitImplementation(`${key} has '${written}', which belongs to the connection and is set by it: remove it`)
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
      `Parameter '${parameter}' would be sent as the header '${name}', which is no name for one: map it to another in params_mapping`,
    )
  }
  if (isForParameters(name.toLowerCase())) return
  const fix = name.toLowerCase() === 'cookie' ? 'place it in "cookie" instead' : 'remove it from params_in'
  throw unfitImplementation(`Parameter '${parameter}' would set the header '${name}', which no parameter may: ${fix}`)
}
