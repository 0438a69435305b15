import { quoted } from '../core/schema/problem-words.ts'
import type {
  HttpImplementation,
  HttpMethod,
  ParameterStyle,
  Place,
  Placement,
} from '../kinds/http/definition/http-implementation.ts'
import { isForParameters, isHeaderName, isOfTheConnection } from '../kinds/http/exchange/outgoing-request.ts'
import { ROOT, Unmappable } from './documents.ts'
import type { ApiParameter, TakeNote } from './operations.ts'
import type { SchemaPart, SchemaParts } from './schema-part.ts'
import { shortHash, withoutMarks } from './tool-names.ts'

export interface PlacedParameter {
  /** Its name in the API. */
  readonly apiName: string
  readonly place: Place
  readonly part: SchemaPart
  readonly required: boolean
  readonly description?: string
  readonly deprecated?: boolean
  readonly example?: unknown
  readonly style?: ParameterStyle
  readonly explode?: boolean
  /** Whether it is the whole body. */
  readonly isBody?: boolean
}

interface Fixed {
  readonly headers: ReadonlySet<string>
  readonly query: ReadonlySet<string>
}

/** The parameters in path, query, headers and cookies. Throws `Unmappable`. */
export function outsideParameters(
  declared: readonly ApiParameter[],
  template: readonly string[],
  fixed: Fixed,
  parts: SchemaParts,
  note: TakeNote,
): PlacedParameter[] {
  const placed = declared.flatMap((parameter): PlacedParameter[] => {
    const { name: apiName, in: place, schema, mediaType, ...rest } = parameter
    const problem = whyLeftOut(parameter, template, fixed)
    if (problem !== undefined) {
      note(`the ${place} parameter ${quoted(apiName)} is left out: ${problem}`)
      return []
    }
    if (mediaType === undefined) return placedObject({ ...rest, apiName, place, part: parts.of(schema) }, note)
    note(`the ${place} parameter ${quoted(apiName)} is a text: write ${quoted(mediaType)} into it`)
    const text = { type: 'string', description: `As ${mediaType}.` }
    return [{ ...rest, apiName, place, part: parts.of({ value: text, file: ROOT }) }]
  })
  const known = new Set(placed.filter(({ place }) => place === 'path').map(({ apiName }) => apiName))
  for (const apiName of template) {
    if (known.has(apiName)) continue
    note(`the path parameter ${quoted(apiName)} is treated as text: the document does not describe it`)
    placed.push({ apiName, place: 'path', required: true, part: parts.of({ value: { type: 'string' }, file: ROOT }) })
  }
  return ['path', 'query', 'header', 'cookie'].flatMap((place) => placed.filter((one) => one.place === place))
}

function whyLeftOut(
  { name, in: place, required }: ApiParameter,
  template: readonly string[],
  fixed: Fixed,
): string | undefined {
  if (place === 'path' && !template.includes(name)) return 'the path does not have it'
  if (place === 'query' && fixed.query.has(name)) return 'the definition sends it already'
  if (place !== 'header') return undefined
  const header = name.toLowerCase()
  if (fixed.headers.has(header)) return 'the definition sends it already'
  if (isOfTheConnection(header)) return 'it belongs to the connection'
  if (isHeaderName(name) && isForParameters(header)) return undefined
  if (required) throw new Unmappable(`its parameter ${quoted(name)} is a header that no parameter may set`)
  return 'no parameter may set that header'
}

/** In a query or cookie, an object is sent key by key by default. */
function placedObject(parameter: PlacedParameter, note: TakeNote): PlacedParameter[] {
  const { place, style, explode, part, apiName, required } = parameter
  const isPlain = place === 'path' || place === 'header' || style !== undefined || !isObjectPart(part)
  if (isPlain) return [parameter]
  if (explode === false || hasProperties(part)) return [{ ...parameter, style: 'form' }]
  if (required) throw new Unmappable(`its ${place} parameter ${quoted(apiName)} is an object of any keys`)
  note(`the ${place} parameter ${quoted(apiName)} is left out: it is an object of any keys`)
  return []
}

const whole = (part: SchemaPart): SchemaPart => part.reference ?? part

/** Properties count only if the type allows objects. */
function isObjectPart(part: SchemaPart): boolean {
  const { type } = whole(part).keywords
  return type === undefined ? hasProperties(part) : [type].flat().includes('object')
}

/** Whether it or one of its `allOf`, `anyOf` and so on has properties. */
function hasProperties(part: SchemaPart, nested = 0): boolean {
  return whole(part).steps.some(
    ({ keyword, deeper, children }) =>
      keyword === 'properties' ||
      (!deeper && nested < 8 && children.some(([, child]) => hasProperties(child, nested + 1))),
  )
}

/** The names of parameters and the keys of the definition that place them. */
interface Placements {
  readonly names: ReadonlyMap<PlacedParameter, string>
  readonly path: string
  readonly keys: Pick<HttpImplementation, 'params_mapping' | 'params_in' | 'body_param'>
}

/** Names the parameters and places those that don't have their default place. */
export function placeParameters(parameters: readonly PlacedParameter[], path: string, method: HttpMethod): Placements {
  const names = nameParameters(parameters)
  const nameOf = (parameter: PlacedParameter): string => names.get(parameter) ?? parameter.apiName
  const inPath = parameters.filter(({ place }) => place === 'path')
  const others = parameters.filter((one) => one.place !== 'path' && !one.isBody)
  const whole = parameters.find(({ isBody }) => isBody)

  const mapping: Record<string, string> = {}
  const templates = new Map<string, string>()
  for (const parameter of inPath) {
    const name = nameOf(parameter)
    const template = templateFor(name, others)
    if (template !== name) mapping[name] = template
    if (parameter.style === 'matrix' && template !== parameter.apiName) {
      throw new Unmappable(`its path parameter ${quoted(parameter.apiName)} cannot be written under that name`)
    }
    templates.set(parameter.apiName, template)
  }
  for (const parameter of others) {
    if (nameOf(parameter) !== parameter.apiName) mapping[nameOf(parameter)] = parameter.apiName
  }
  const usual = whole === undefined && /^P/.test(method) ? 'body' : 'query'
  const places: Record<string, Placement | Placement['in']> = {}
  for (const parameter of [...inPath, ...others]) {
    const { place, style, explode } = parameter
    if (style !== undefined || explode !== undefined) {
      const written = { ...(style !== undefined && { style }), ...(explode !== undefined && { explode }) }
      places[nameOf(parameter)] = { in: place, ...written }
    } else if (place !== 'path' && place !== usual) places[nameOf(parameter)] = place
  }
  // With a mapping, the query contains only mapped and placed parameters.
  if (Object.keys(mapping).length > 0) {
    for (const parameter of others) {
      if (parameter.place === 'query' && !Object.hasOwn(places, nameOf(parameter)))
        mapping[nameOf(parameter)] = parameter.apiName
    }
  }
  return {
    names,
    path: path.replace(/\{([^{}]*)\}/g, (_, apiName: string) => `{${templates.get(apiName) ?? apiName}}`),
    keys: {
      ...(Object.keys(mapping).length > 0 && { params_mapping: mapping }),
      ...(Object.keys(places).length > 0 && { params_in: places }),
      ...(whole !== undefined && { body_param: nameOf(whole) }),
    },
  }
}

/** The placeholder of a path parameter: its name, unless the API uses that for another parameter. */
function templateFor(name: string, others: readonly PlacedParameter[]): string {
  let template = name
  while (others.some(({ apiName }) => apiName === template)) template = `path_${template}`
  return template
}

/** Precedence for names. */
const ORDER: readonly PlacedParameter['place'][] = ['path', 'query', 'header', 'cookie', 'body']
const FIT = /^[A-Za-z0-9_.-]{1,64}$/
/** Keys that no caller may send. */
const REFUSED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Gives each parameter a unique name that all models accept, if possible its API name. If two places use a name, the
 * first in `ORDER` keeps it and the other becomes `body_id`.
 */
function nameParameters(parameters: readonly PlacedParameter[]): Map<PlacedParameter, string> {
  const names = new Map<PlacedParameter, string>()
  const taken = new Set<string>()
  const give = (parameter: PlacedParameter, name: string): boolean => {
    if (taken.has(name) || !FIT.test(name) || REFUSED.has(name)) return false
    taken.add(name)
    names.set(parameter, name)
    return true
  }
  const sorted = [...parameters].sort((one, other) => ORDER.indexOf(one.place) - ORDER.indexOf(other.place))
  const unfit = sorted.filter((parameter) => !give(parameter, parameter.apiName))
  for (const parameter of unfit) {
    const { apiName, place } = parameter
    const plain = plainParameterName(apiName)
    const placed = `${place}_${plain}`.slice(0, 64)
    const hashed = `${plain.slice(0, 50)}_${shortHash(`${place} ${apiName}`)}`
    if ((plain !== apiName && plain !== '' && give(parameter, plain)) || give(parameter, placed)) continue
    for (let tries = 0; !give(parameter, tries === 0 ? hashed : `${hashed}_${tries}`); tries++);
  }
  return names
}

function plainParameterName(apiName: string): string {
  return withoutMarks(apiName.slice(0, 256))
    .replace(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^_+|(?<!_)_+$/g, '')
    .slice(0, 64)
}
