import type { HttpImplementation, HttpMethod, Placement } from '../kinds/http/definition/http-implementation.ts'
import { nameParameters } from './name-parameters.ts'
import { Unmappable } from './openapi-error.ts'
import type { PlacedParameter } from './placed-parameter.ts'
import { quoted } from './raw.ts'

/** What the parameters of a tool are called, and what the definition says of where they go. */
export interface Placements {
  readonly names: ReadonlyMap<PlacedParameter, string>
  /** The path with the names of the tool in it. */
  readonly path: string
  readonly keys: Pick<HttpImplementation, 'params_mapping' | 'params_in' | 'body_param'>
}

/** Names the parameters of a tool and says where they go, as far as that is not where they would go anyway. */
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
  // Where there is a mapping, a query has only what is in it, or what is placed there.
  if (Object.keys(mapping).length > 0) {
    for (const parameter of others) {
      if (parameter.place === 'query' && places[nameOf(parameter)] === undefined)
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

/** What stands in the path for a parameter: its name, unless the API calls another parameter so. */
function templateFor(name: string, others: readonly PlacedParameter[]): string {
  let template = name
  while (others.some(({ apiName }) => apiName === template)) template = `path_${template}`
  return template
}
