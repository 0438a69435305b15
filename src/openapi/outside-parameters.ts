import { isForParameters, isHeaderName, isOfTheConnection } from '../kinds/http/exchange/outgoing-request.ts'
import type { ApiParameter, TakeNote } from './api-operation.ts'
import { ROOT } from './documents.ts'
import { Unmappable } from './openapi-error.ts'
import type { PlacedParameter } from './placed-parameter.ts'
import { quoted } from './raw.ts'
import type { SchemaPart, SchemaParts } from './schema-part.ts'

/** What is sent with every request, whatever the parameters say. */
export interface Fixed {
  readonly headers: ReadonlySet<string>
  readonly query: ReadonlySet<string>
}

/** The parameters in path, query, headers and cookies that a tool can have. Throws `Unmappable`. */
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
    note(`the path parameter ${quoted(apiName)} is taken for text: the document does not describe it`)
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

/** In a query and in cookies, an object is sent key by key unless the document says otherwise. */
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

/** Where a type is named, properties beside it do not count. */
function isObjectPart(part: SchemaPart): boolean {
  const { type } = whole(part).keywords
  return type === undefined ? hasProperties(part) : [type].flat().includes('object')
}

/** Whether it, or one of those that judge the same value, names a property. */
function hasProperties(part: SchemaPart, nested = 0): boolean {
  return whole(part).steps.some(
    ({ keyword, deeper, children }) =>
      keyword === 'properties' ||
      (!deeper && nested < 8 && children.some(([, child]) => hasProperties(child, nested + 1))),
  )
}
