import type { OfferedTool, Params } from '../base/port.ts'
import { takeTurns } from '../base/take-turns.ts'
import { readParameters } from '../fill/parameter.ts'
import { listedTogether } from '../values/described-options.ts'
import { timeZonesIn, wantsTimeZone } from '../values/time-zones.ts'

const PLACE = /location|city|place|town|country|destination/i
/** Names that hold an "and". */
const ONE_NAME =
  /bosnia and herzegovina|trinidad and tobago|antigua and barbuda|saint kitts and nevis|são tomé and príncipe|turks and caicos|tyne and wear/i
/** The last name holds no other " and ", so that a row of them is cut in one place only. */
const SEVERAL =
  /^\p{Lu}[\p{L} .'-]*(?:, \p{Lu}[\p{L} .'-]*)*(?:, (?:and|&) \p{Lu}[\p{L} .'-]*| (?:and|&) \p{Lu}(?:(?! and \p{Lu})[\p{L} .'-])*)$/u

/** One call for each place, where a parameter that takes one was given several: "Paris and Rome", "the hall and the kitchen light". */
export async function severalPlaces(tool: OfferedTool, params: Params, said: string): Promise<Params[]> {
  const parameters = readParameters(tool.parameters)
  for (const [name, value] of Object.entries(params)) {
    if (typeof value !== 'string') continue
    await takeTurns()
    const description = parameters.find((one) => one.name === name)?.description ?? ''
    const each = placesOf(name, value, description, said)
    if (each.length > 1) return each.map((place) => ({ ...params, [name]: place }))
  }
  return [params]
}

function placesOf(name: string, value: string, description: string, said: string): string[] {
  if (PLACE.test(name) && !ONE_NAME.test(value) && SEVERAL.test(value)) {
    return value.split(/,? (?:and|&) |, /).map((place) => place.trim())
  }
  const zones = wantsTimeZone(name, description) ? timeZonesIn(said) : []
  const joined = zones.every(({ from }, at) => at === 0 || JOINT.test(said.slice(zones[at - 1]?.to, from)))
  return zones.length > 1 ? (joined ? zones.map((zone) => zone.value) : []) : listedTogether(description, name, said)
}

const JOINT = /^(?:\s|,|&|and\b|in\b)+$/i
