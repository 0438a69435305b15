import type { PlacedParameter } from './placed-parameter.ts'
import { shortHash } from './short-hash.ts'

/** Where names are taken first. */
const ORDER: readonly PlacedParameter['place'][] = ['path', 'query', 'header', 'cookie', 'body']
const FIT = /^[A-Za-z0-9_.-]{1,64}$/
/** Keys that no caller may send. */
const REFUSED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * A name for each parameter, all different, that every model accepts: what the API calls it wherever that works. Where
 * two places have the same name, the path keeps it before the query, and so on; the other becomes `body_id`.
 */
export function nameParameters(parameters: readonly PlacedParameter[]): Map<PlacedParameter, string> {
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
    const plain = plainName(apiName)
    const placed = `${place}_${plain}`.slice(0, 64)
    const hashed = `${plain.slice(0, 50)}_${shortHash(`${place} ${apiName}`)}`
    if ((plain !== apiName && plain !== '' && give(parameter, plain)) || give(parameter, placed)) continue
    for (let tries = 0; !give(parameter, tries === 0 ? hashed : `${hashed}_${tries}`); tries++);
  }
  return names
}

function plainName(apiName: string): string {
  const letters = apiName
    .slice(0, 256)
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
  return letters
    .replace(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^_+|(?<!_)_+$/g, '')
    .slice(0, 64)
}
