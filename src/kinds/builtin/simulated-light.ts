import type { Handler } from '../../core/handler.ts'
import { badParameter, quoted, requireText } from './read-parameter.ts'

const LIGHTS = ['porch', 'hall', 'kitchen', 'living room', 'bedroom', 'garden'] as const
const STATES = ['on', 'off']
const MAX_NAME_CHARACTERS = 100
/** Limit for tenants whose lights are stored. */
const MAX_HOUSES = 1_000

/** Simulated lights, one house per tenant, to try tools that change something. */
export function simulatedLightHandler(): Handler {
  const houses = new Map<string, ReadonlySet<string>>()
  return (params, { tenant }) => {
    const light = lightOf(requireText(params, 'light', MAX_NAME_CHARACTERS))
    const state = requireText(params, 'state', MAX_NAME_CHARACTERS)
    if (!STATES.includes(state)) throw badParameter(`state must be one of: on, off, not ${quoted(state)}`)
    const before = houses.get(tenant) ?? new Set()
    const now = new Set(LIGHTS.filter((one) => (one === light ? state === 'on' : before.has(one))))
    houses.delete(tenant)
    houses.set(tenant, now)
    const [oldest] = houses.keys()
    if (houses.size > MAX_HOUSES && oldest !== undefined) houses.delete(oldest)
    return `The ${light} light is ${state} now. In this simulated house ${sayLit([...now])}.`
  }
}

/** Normalizes "porch", "the porch light" and "Porch lamp" to one name. */
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
