import { expect, test } from 'vitest'
import type { HandlerContext } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import type { Params } from '../../core/tool.ts'
import { simulatedLightHandler } from './shipped.ts'

const context = (tenant: string): HandlerContext => ({
  signal: new AbortController().signal,
  tenant,
  flags: {},
  report: () => {},
  log: silentLog,
})

function house() {
  const light = simulatedLightHandler()
  return (params: Params, tenant = 'local') => light(params, context(tenant))
}

test('stores the state of the lights and says that the house is simulated', () => {
  const call = house()
  expect(call({ light: 'porch', state: 'on' })).toBe(
    'The porch light is on now. In this simulated house one light is on.',
  )
  expect(call({ light: 'hall', state: 'on' })).toContain('2 lights are on: porch, hall.')
  expect(call({ light: 'hall', state: 'on' })).toContain('2 lights are on: porch, hall.')
  call({ light: 'porch', state: 'off' })
  expect(call({ light: 'hall', state: 'off' })).toBe(
    'The hall light is off now. In this simulated house all lights are off.',
  )
})

test.each(['the porch light', 'Porch lamp', '  porch lights '])('%s is the porch', (light) => {
  expect(house()({ light, state: 'on' })).toMatch(/^The porch light is on now/)
})

test('every tenant has a house of its own', () => {
  const call = house()
  call({ light: 'porch', state: 'on' }, 'a')
  expect(call({ light: 'hall', state: 'off' }, 'b')).toContain('all lights are off')
})

test('forgets the houses of the least recently active tenants', () => {
  const call = house()
  call({ light: 'porch', state: 'on' }, 'first')
  call({ light: 'porch', state: 'on' }, 'second')
  call({ light: 'hall', state: 'on' }, 'first')
  for (let index = 0; index < 999; index++) call({ light: 'hall', state: 'on' }, `tenant-${index}`)
  expect(call({ light: 'garden', state: 'on' }, 'first')).toContain('3 lights are on')
  expect(call({ light: 'garden', state: 'on' }, 'second')).toContain('one light is on')
})

test.each<[Params, string]>([
  [{ light: 'moon', state: 'on' }, 'there is no light "moon"; there are: porch, hall, kitchen'],
  [{ light: 'porch', state: 'dim' }, 'state must be one of: on, off, not "dim"'],
  [{ state: 'on' }, "missing 'light'"],
  [{ light: 'porch' }, "missing 'state'"],
])('%j is rejected with advice', (params, message) => {
  expect(() => house()(params)).toThrow(message)
  expect(() => house()(params)).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETERS' }))
})
