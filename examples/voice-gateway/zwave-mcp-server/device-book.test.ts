import { describe, expect, test } from 'vitest'
import { DeviceBook } from './device-book.ts'

const bytes = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))

function book(messages: Record<string, unknown>): DeviceBook {
  const devices = new DeviceBook()
  for (const [topic, value] of Object.entries(messages)) devices.take(topic, bytes(value))
  return devices
}

describe('DeviceBook', () => {
  test.each([
    [
      'lamp/switch_binary/endpoint_0/currentValue',
      { time: 1, value: true },
      { name: 'lamp', kind: 'switch', state: 'on' },
    ],
    ['lamp/37/0/currentValue', { time: 1, value: false }, { name: 'lamp', kind: 'switch', state: 'off' }],
    [
      'kitchen/lamp/38/0/currentValue',
      { value: 99 },
      { name: 'lamp', location: 'kitchen', kind: 'dimmer', state: 'on', level: 100 },
    ],
    ['plug/switch_binary/endpoint_2/currentValue', 'true', { name: 'plug endpoint 2', kind: 'switch', state: 'on' }],
    [
      '12/37/0/currentValue',
      { value: true, nodeName: 'Desk lamp', nodeLocation: 'office', id: '12-37-0-currentValue' },
      { name: 'Desk lamp', location: 'office', kind: 'switch', state: 'on' },
    ],
    ['lamp/38/0/targetValue', { value: 7 }, { name: 'lamp', kind: 'dimmer', state: 'unknown' }],
  ])('%s is learnt', (topic, payload, state) => {
    expect(book({ [topic]: payload }).list()).toEqual([state])
  })

  test.each([
    ['_CLIENTS/ZWAVE_GATEWAY-house/status', { value: true }],
    ['lamp/49/0/Air temperature', { value: 21 }],
    ['lamp/switch_binary/endpoint_0/currentValue/set', { value: true }],
    ['lamp/switch_binary/currentValue', { value: true }],
    ['lamp/37/0/currentValue', 'no JSON'],
    ['lamp/37/0/currentValue', { time: 1 }],
    ['lamp/37/0/currentValue', 'x'.repeat(100_000)],
  ])('%s with %j is no device', (topic, payload) => {
    expect(book({ [topic]: payload }).list()).toEqual([])
  })

  test('a value of a wrong type changes nothing', () => {
    const devices = book({ 'lamp/37/0/currentValue': { value: true } })
    devices.take('lamp/37/0/currentValue', bytes({ value: { a: 1 } }))
    expect(devices.list()).toMatchObject([{ state: 'on' }])
  })

  test('a node that is not available, and one that was removed', () => {
    const devices = book({ 'lamp/37/0/currentValue': { value: true }, 'lamp/status': { value: false, status: 'Dead' } })
    expect(devices.list()).toMatchObject([{ available: false }])
    devices.take('lamp/37/0/currentValue', new Uint8Array())
    expect(devices.size).toBe(0)
  })

  test.each(['Switch One', 'switch_one', 'the switch one', 'switch 1', ' SWITCH-ONE! '])('"%s" is found', (said) => {
    expect(book({ 'Switch_One/37/0/currentValue': { value: true } }).find(said)).toMatchObject({ name: 'Switch One' })
  })

  test('a thousand devices are kept, not more', () => {
    const devices = new DeviceBook()
    for (let index = 0; index < 1_100; index++) devices.take(`node ${index}/37/0/currentValue`, bytes({ value: true }))
    expect(devices.size).toBe(1_000)
    expect(String(devices.find('nothing')).length).toBeLessThan(1_000)
  })
})
