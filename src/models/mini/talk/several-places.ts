import type { Params } from '../../../core/tool.ts'

const PLACE = /location|city|place|town|country|destination/i
/** Names that hold an "and". */
const ONE_NAME =
  /bosnia and herzegovina|trinidad and tobago|antigua and barbuda|saint kitts and nevis|são tomé and príncipe|turks and caicos|tyne and wear/i
const SEVERAL = /^\p{Lu}[\p{L} .'-]*(?:, \p{Lu}[\p{L} .'-]*)*,? (?:and|&) \p{Lu}[\p{L} .'-]*$/u

/** One call for each place, where a parameter that takes one place was given several: "Paris and Rome". */
export function severalPlaces(params: Params): Params[] {
  for (const [name, value] of Object.entries(params)) {
    if (typeof value !== 'string' || !PLACE.test(name) || ONE_NAME.test(value) || !SEVERAL.test(value)) continue
    return value.split(/,? (?:and|&) |, /).map((place) => ({ ...params, [name]: place.trim() }))
  }
  return [params]
}
