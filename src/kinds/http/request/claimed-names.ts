import type { HttpImplementation } from '../http-implementation.ts'
import { isForParameters, isHeaderName } from './header-names.ts'
import type { PlacedParameter } from './placed-parameters.ts'
import { unfitImplementation } from './unfit-implementation.ts'
import { decoded, type UrlTemplate } from './url-template.ts'

/** Throws where two would be sent under one name, or a parameter under one that is not for parameters. */
export function checkClaimedNames(
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

/** `query api_key` in words. */
function spoken(claim: string): string {
  const [place, ...name] = claim.split(' ')
  return `${place === 'query' ? 'query parameter' : place === 'body' ? 'key of the body' : place} '${name.join(' ')}'`
}

/** An object that is written apart sends its keys instead of itself. */
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
