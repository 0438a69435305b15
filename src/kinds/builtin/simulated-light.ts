import type { Handler } from '../../core/handler.ts'
import { badParameter, quoted, requireText } from './read-parameter.ts'

const LIGHTS = ['porch', 'hall', 'kitchen', 'living room', 'bedroom', 'garden'] as const
const STATES = ['on', 'off']
const LONGEST_NAME = 100
/** Whose lights are remembered: the tenants that switched one last. */
const MOST_HOUSES = 1_000

/** The lights of a house that does not exist, one house for each tenant: something to switch before there is anything real. */
export function simulatedLightHandler(): Handler {
  const houses = new Map<string, ReadonlySet<string>>()
  return (params, { tenant }) => {
    const light = lightOf(requireText(params, 'light', LONGEST_NAME))
    const state = requireText(params, 'state', LONGEST_NAME)
    if (!STATES.includes(state)) throw badParameter(`state must be one of: on, off, not ${quoted(state)}`)
    const before = houses.get(tenant) ?? new Set()
    const now = new Set(LIGHTS.filter((one) => (one === light ? state === 'on' : before.has(one))))
    houses.delete(tenant)
    houses.set(tenant, now)
    const [oldest] = houses.keys()
    if (houses.size > MOST_HOUSES && oldest !== undefined) houses.delete(oldest)
    return `The ${light} light is ${state} now. In this simulated house ${sayLit([...now])}.`
  }
}

/** The light that is meant by "porch", "the porch light" or "Porch lamp". */
function lightOf(name: string): string {
  const plain = name.trim().toLowerCase().replaceAll(/\s+/g, ' ')
  const bare = plain.replace(/^(?:the|my|our) /, '').replace(/ (?:light|lamp)s?$/, '')
  const found = LIGHTS.find((one) => one === bare)
  if (found === undefined) throw badParameter(`there is no light ${quoted(name)}; there are: ${LIGHTS.join(', ')}`)
  return found
}

function sayLit(lit: readonly string[]): string {
  if (lit.length === 0) return 'all lights are off'
  return lit.length === 1 ? 'one light is on' : `${lit.length} lights are on: ${lit.join(', ')}`
}
