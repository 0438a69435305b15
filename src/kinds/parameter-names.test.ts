import { describe, expect, test } from 'vitest'
import { serverNames } from './parameter-names.ts'

const schema = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, {}])),
})

describe('parameter names of MCP tools', () => {
  test.each([
    [
      'snake_case becomes camelCase',
      'light',
      { device_name: 1, on_at_night: 2 },
      ['deviceName'],
      { deviceName: 1, onAtNight: 2 },
    ],
    ['declared names pass untouched', 'light', { device_name: 1 }, ['device_name', 'deviceName'], { device_name: 1 }],
    ['names without underscore pass', 'light', { level: 1, Level: 2 }, [], { level: 1, Level: 2 }],
    ['a leading underscore is part of a name', 'light', { _meta: 1, __x_y: 2 }, [], { _meta: 1, __xY: 2 }],
    ['digits count as letters', 'light', { line_2_a: 1 }, [], { line2A: 1 }],
    [
      'static mappings come first',
      'control_zwave_device',
      { device_name: 'lamp', command: 'on' },
      ['command', 'deviceName', 'action'],
      { deviceName: 'lamp', action: 'on' },
    ],
    [
      'what is there is not overwritten',
      'light',
      { device_name: 1, deviceName: 2 },
      ['deviceName'],
      { device_name: 1, deviceName: 2 },
    ],
    ['values are left alone', 'light', { a: { b_c: 1 } }, [], { a: { b_c: 1 } }],
  ] as [string, string, Record<string, unknown>, string[], object][])('%s', (_, tool, params, declared, expected) => {
    const before = JSON.stringify(params)
    expect(serverNames(tool, params, schema(...declared))).toEqual(expected)
    expect(JSON.stringify(params)).toBe(before)
  })

  test('returns the same object if nothing changes', () => {
    const params = { location: 'Paris' }
    expect(serverNames('weather', params, { type: 'object' })).toBe(params)
  })

  test('two names that would become one: the first stays in its place, and nothing is lost', () => {
    expect(Object.values(serverNames('x', { a_b: 1, a__b: 2 }, schema()))).toHaveLength(2)
  })
})
