import { extname } from 'node:path'
import type { Handler, IsolatedHandler } from '../../core/handler.ts'
import type { Effect } from '../../core/tool.ts'
import type { ToolHandlers } from '../tool-handlers.ts'
import { datetimeHandler } from './datetime.ts'
import { badParameter, quoted, requireText } from './read-parameter.ts'
import { string } from './string.ts'

/** The handler of `math_eval`: only the process that runs it loads mathjs. */
export const mathEvalHandler: IsolatedHandler = {
  module: new URL(`./math-eval${extname(import.meta.filename)}`, import.meta.url).href,
  export: 'mathEval',
}

/** Registers the shipped builtins, except those that the host application registered itself. */
export function addShippedBuiltins(handlers: ToolHandlers): void {
  const shipped: readonly (readonly [string, Handler | IsolatedHandler, Effect])[] = [
    ['math_eval', mathEvalHandler, 'read'],
    ['echo', echo, 'read'],
    ['datetime', datetimeHandler(Date.now), 'read'],
    ['string', string, 'read'],
    ['simulated_light', simulatedLightHandler(), 'idempotent'],
  ]
  for (const [name, handler, effect] of shipped) {
    if (handlers.get(name) === undefined) handlers.register(name, handler, { effect })
  }
}

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

/** Returns its parameters, to show what a caller sends. */
export const echo: Handler = (params) => ({ echo: params })
