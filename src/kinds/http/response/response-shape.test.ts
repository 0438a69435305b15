import { describe, expect, test } from 'vitest'
import { silentLog } from '../../../core/log.ts'
import { snapshotResult } from '../../../core/snapshot.ts'
import { captureLog } from '../../../testing/index.ts'
import type { HttpImplementation } from '../definition/http-implementation.ts'
import { ResponseShape } from './response-shape.ts'

const shape = (parts: Partial<HttpImplementation>) =>
  new ResponseShape('weather', { type: 'http', url: 'https://api.test', ...parts }, silentLog)

const apply = (parts: Partial<HttpImplementation>, value: unknown): unknown => shape(parts).apply(value)

const DAYS = [
  { day: 1, rain: 3, wind: { speed: 5, from: 'N', gusts: [{ speed: 9, at: 1 }] } },
  { day: 2, rain: 0, wind: { speed: 6, from: 'S', gusts: [] } },
]

describe('pick', () => {
  test('keeps the named keys of an object', () => {
    expect(apply({ pick: ['rain', 'day', 'snow'] }, DAYS[0])).toEqual({ rain: 3, day: 1 })
  })

  test('keeps them of each object of a list', () => {
    expect(apply({ pick: ['rain'] }, DAYS)).toEqual([{ rain: 3 }, { rain: 0 }])
  })

  test('keeps a nested key in its place', () => {
    expect(apply({ pick: ['day', 'wind.speed', 'wind.gusts.at'] }, DAYS)).toEqual([
      { day: 1, wind: { speed: 5, gusts: [{ at: 1 }] } },
      { day: 2, wind: { speed: 6, gusts: [] } },
    ])
  })

  test('keeps the whole value if it and a part of it are named', () => {
    const whole = { wind: DAYS[1]?.wind }
    expect(apply({ pick: ['wind.speed', 'wind'] }, DAYS[1])).toEqual(whole)
    expect(apply({ pick: ['wind', 'wind.speed'] }, DAYS[1])).toEqual(whole)
  })

  test('keeps a key that has a dot in its name', () => {
    expect(apply({ pick: ['@odata.count'] }, { '@odata.count': 3, value: [] })).toEqual({ '@odata.count': 3 })
  })

  test('does not change values that are not objects', () => {
    expect(apply({ pick: ['a'] }, ['x', 1, null, [{ a: 1, b: 2 }]])).toEqual(['x', 1, null, [{ a: 1 }]])
    expect(apply({ pick: ['a'] }, null)).toBeNull()
  })

  test('picks own keys only, with any name', () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "a": 2}')
    const picked = apply({ pick: ['__proto__', 'constructor', 'toString'] }, value) as object
    expect(Object.getPrototypeOf(picked)).toBe(Object.prototype)
    expect(JSON.stringify(picked)).toBe('{"__proto__":{"polluted":true},"constructor":1}')
    expect(JSON.stringify(snapshotResult(picked, 1_000_000))).toBe('{"__proto__":{"polluted":true},"constructor":1}')
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('max_items', () => {
  test('truncates a list and logs it', () => {
    const log = captureLog()
    const implementation = { type: 'http', url: 'https://api.test', max_items: 2 } as const
    expect(new ResponseShape('weather', implementation, log).apply([1, 2, 3, 4, 5])).toEqual([1, 2])
    expect(log.lines).toMatchObject([{ level: 'debug', fields: { tool: 'weather', kept: 2, left_out: 3 } }])
  })

  test.each([[[1, 2]], [{ a: [1, 2, 3] }], ['abc'], [null]])('leaves %j as it is', (value) => {
    expect(apply({ max_items: 2 }, value)).toBe(value)
  })
})

describe('a shape', () => {
  test('is the path, then the cut, then the keys', () => {
    const parts = { response_path: '$.days', max_items: 1, pick: ['rain'] }
    expect(apply(parts, { days: DAYS })).toEqual([{ rain: 3 }])
    expect(apply({ response_path: '$.days[*].rain', max_items: 1 }, { days: DAYS })).toEqual([3])
    expect(apply({ response_path: '$.weeks', pick: ['rain'] }, { days: DAYS })).toBeNull()
  })

  test('that asks for nothing changes nothing', () => {
    expect(apply({}, DAYS)).toBe(DAYS)
  })

  test.each([
    [{}, false],
    [{ max_items: 1 }, false],
    [{ pick: ['a'] }, true],
    [{ response_path: '$.a' }, true],
  ])('%j needs JSON: %s', (parts, expected) => {
    expect(shape(parts).needsJson).toBe(expected)
  })

  test('is refused with a path that is none', () => {
    expect(() => shape({ response_path: 'days' })).toThrow('"days" is not a JSONPath')
  })
})
