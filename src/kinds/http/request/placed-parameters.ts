import { APPLICATORS, isObject, schemasUnder } from '../../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../../core/schema/schema-references.ts'
import { suggest } from '../../../core/suggest.ts'
import type { JsonSchema } from '../../../core/tool.ts'
import type {
  HttpImplementation,
  HttpMethod,
  ParameterStyle,
  Place,
  Placement,
} from '../definition/http-implementation.ts'
import { unfitImplementation } from './request-errors.ts'
import type { UrlTemplate } from './url-template.ts'

export interface PlacedParameter {
  readonly parameter: string
  /** Its name in the API. */
  readonly name: string
  readonly in: Place
  readonly style: ParameterStyle | undefined
  readonly explode: boolean
  /** Its keys that may be sent as separate parameters. */
  readonly keys: ReadonlySet<string>
}

const QUERY_STYLES: readonly ParameterStyle[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']
const STYLES: Readonly<Record<Place, readonly ParameterStyle[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: QUERY_STYLES,
  header: ['simple'],
  cookie: ['form'],
  body: QUERY_STYLES,
}
const WITH_BODY: ReadonlySet<HttpMethod> = new Set<HttpMethod>(['POST', 'PUT', 'PATCH'])

/**
 * Places each parameter of a tool. Path parameters are sent in the path only. The others are sent in the body if the
 * method has one, else in the query. If `params_mapping` is set, only mapped parameters are sent in the query.
 */
export function placedParameters(
  implementation: HttpImplementation,
  named: NamedParameters,
  { templates, queryTemplates }: UrlTemplate,
): PlacedParameter[] {
  const { params_mapping: mapping = {}, params_in: places = {}, body_param: bodyParam, method = 'GET' } = implementation
  checkNames(Object.keys(mapping), 'params_mapping', named)
  checkNames(Object.keys(places), 'params_in', named)
  if (bodyParam !== undefined) checkNames([bodyParam], 'body_param', named)

  const inPath = new Set(templates.map((template) => templateParameter(template, named, mapping)))
  const inQuery = new Map(
    queryTemplates.map(({ name, template }) => [templateParameter(template, named, mapping), name] as const),
  )
  if (inQuery.size < queryTemplates.length) {
    throw unfitImplementation('implementation.url has one parameter twice in its query: write it once')
  }
  const onlyMapped = Object.keys(mapping).length > 0
  const rest: Place = WITH_BODY.has(method) && bodyParam === undefined ? 'body' : 'query'

  const placed: PlacedParameter[] = []
  for (const [parameter, keys] of named) {
    const given = Object.hasOwn(places, parameter) ? asPlacement(places[parameter]) : undefined
    const fixed = fixedPlace(parameter, { inPath, inQuery, bodyParam })
    checkPlace(parameter, given?.in, fixed, implementation)
    const place = given?.in ?? fixed ?? rest
    const mapped = Object.hasOwn(mapping, parameter) ? mapping[parameter] : undefined
    const isSent =
      place !== 'query' || given !== undefined || fixed !== undefined || mapped !== undefined || !onlyMapped
    if (!isSent) continue
    const name = inQuery.get(parameter) ?? mapped ?? parameter
    placed.push({ parameter, name, in: place, ...written(parameter, given, place, implementation), keys })
  }
  return placed
}

function checkNames(names: readonly string[], key: string, named: NamedParameters): void {
  for (const name of names) {
    if (named.has(name)) continue
    const [near] = suggest(name, named.keys())
    const fix = near === undefined ? 'add it to parameters.properties, or remove it here' : `did you mean '${near}'?`
    throw unfitImplementation(`implementation.${key} names '${name}', which is not a parameter of the tool: ${fix}`)
  }
}

const asPlacement = (given: Place | Placement | undefined): Placement | undefined =>
  typeof given === 'string' ? { in: given } : given

/** The place that `url` or `body_param` gives a parameter. */
function fixedPlace(
  parameter: string,
  {
    inPath,
    inQuery,
    bodyParam,
  }: {
    readonly inPath: ReadonlySet<string>
    readonly inQuery: ReadonlyMap<string, string>
    readonly bodyParam: string | undefined
  },
): Place | undefined {
  const places: Place[] = []
  if (inPath.has(parameter)) places.push('path')
  if (inQuery.has(parameter)) places.push('query')
  if (bodyParam === parameter) places.push('body')
  if (places.length < 2) return places[0]
  throw unfitImplementation(
    `Parameter '${parameter}' would go both into the ${places[0]} and into the ${places[1]}: take it out of one of url and body_param`,
  )
}

function checkPlace(
  parameter: string,
  given: Place | undefined,
  fixed: Place | undefined,
  { method = 'GET', body_param }: HttpImplementation,
): void {
  const key = `implementation.params_in.${parameter}`
  if (given === 'path' && fixed !== 'path') {
    throw unfitImplementation(`${key} is 'path', and implementation.url has no {${parameter}}: write it into the path`)
  }
  if (given !== undefined && fixed !== undefined && given !== fixed) {
    throw unfitImplementation(
      `${key} is '${given}', and the parameter goes into the ${fixed} already: remove one of the two`,
    )
  }
  const place = given ?? fixed
  if (place === 'body' && (method === 'GET' || method === 'HEAD')) {
    throw unfitImplementation(
      `Parameter '${parameter}' would go into the body, which ${method} does not have: use another method or place`,
    )
  }
  if (place === 'body' && body_param !== undefined && body_param !== parameter) {
    throw unfitImplementation(
      `${key} is 'body', and implementation.body_param '${body_param}' is the whole body: remove one`,
    )
  }
}

function written(
  parameter: string,
  given: Placement | undefined,
  place: Place,
  { body = 'json' }: HttpImplementation,
): { readonly style: ParameterStyle | undefined; readonly explode: boolean } {
  const { style } = given ?? {}
  const key = `implementation.params_in.${parameter}`
  if (place === 'body' && body !== 'form' && (style ?? given?.explode) !== undefined) {
    throw unfitImplementation(
      `${key} has a style, which a ${body} body does not support: remove it, or write "body": "form"`,
    )
  }
  if (style !== undefined && !STYLES[place].includes(style)) {
    throw unfitImplementation(`${key}.style '${style}' is not for the ${place}: use ${STYLES[place].join(', ')}`)
  }
  // The defaults of OpenAPI: `form` explodes, styles with a delimiter don't.
  const usual = place !== 'path' && place !== 'header' && (style === undefined || style === 'form')
  return { style, explode: given?.explode ?? usual }
}

/** The parameters that a schema declares, in order, each with the keys that its own schema declares. */
type NamedParameters = ReadonlyMap<string, ReadonlySet<string>>

/** Collects the properties of a schema, including those behind `$ref`, `allOf`, `oneOf` and so on. */
export function namedParameters(schema: JsonSchema): NamedParameters {
  const references = new SchemaReferences(schema)
  const named = new Map<string, Set<string>>()
  for (const [name, schemas] of propertiesOf([schema], references)) {
    named.set(name, new Set(propertiesOf(schemas, references).keys()))
  }
  return named
}

function propertiesOf(schemas: readonly unknown[], references: SchemaReferences): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>()
  const seen = new Set<unknown>()
  const visit = (schema: unknown): void => {
    if (!isObject(schema) || seen.has(schema)) return
    seen.add(schema)
    if (isObject(schema.properties)) {
      for (const [name, own] of Object.entries(schema.properties)) found.set(name, [...(found.get(name) ?? []), own])
    }
    visit(references.target(schema, schema.$ref))
    for (const [keyword, { shape, place }] of APPLICATORS) {
      if (place !== 'here' || keyword === 'not' || !Object.hasOwn(schema, keyword)) continue
      for (const [inner] of schemasUnder(shape, schema[keyword])) visit(inner)
    }
  }
  for (const schema of schemas) visit(schema)
  return found
}

/**
 * Finds the parameter of a `{template}`, which holds the mapped name or the parameter's own name. Throws if it is
 * ambiguous.
 */
export function templateParameter(
  template: string,
  named: NamedParameters,
  mapping: Readonly<Record<string, string>>,
): string {
  const mapped = [...named.keys()].filter((name) => Object.hasOwn(mapping, name) && mapping[name] === template)
  const own = named.has(template) && !mapped.includes(template)
  // A mapped parameter doesn't claim its own name.
  const claims = own && (mapped.length === 0 || !Object.hasOwn(mapping, template)) ? [...mapped, template] : mapped
  const [parameter, other] = claims
  if (parameter === undefined) throw unfitImplementation(unknown(template, named))
  if (other !== undefined) {
    throw unfitImplementation(
      `{${template}} in implementation.url could be parameter '${parameter}' or parameter '${other}': map one of them to another name in params_mapping`,
    )
  }
  return parameter
}

function unknown(template: string, named: NamedParameters): string {
  const [near] = suggest(template, named.keys())
  const fix = near === undefined ? 'add it to parameters.properties' : `did you mean {${near}}?`
  return `{${template}} in implementation.url is not a parameter of the tool: ${fix}`
}
