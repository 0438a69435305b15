import { describe, expect, test, vi } from 'vitest'
import { snapshotParams, snapshotResult } from './snapshot.ts'

const refusal = (value: unknown): string => {
  try {
    snapshotParams(value)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  throw new Error('was accepted')
}

const nested = (levels: number): object => {
  let value: object = {}
  for (let level = 1; level < levels; level++) value = { inner: value }
  return value
}

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

describe('snapshotParams', () => {
  test('returns an equal copy that shares nothing with the original', () => {
    const original = { a: 1, b: 'x', c: [true, null, { d: [] }], e: {} }
    const { params } = snapshotParams(original)
    expect(params).toEqual(original)
    ;(original.c[2] as { d: unknown[] }).d.push('later')
    expect(params).toEqual({ a: 1, b: 'x', c: [true, null, { d: [] }], e: {} })
  })

  test('counts the values', () => {
    expect(snapshotParams({ a: 1, b: [2, 3] }).nodes).toBe(5)
  })

  test.each([
    ['null', null, 'parameters must be one JSON object, not null'],
    ['an array', [1], 'parameters must be one JSON object, not an array'],
    ['a string', '{}', 'parameters must be one JSON object, not a string'],
    ['a __proto__ key', JSON.parse('{"a":{"__proto__":{"x":1}}}'), "the key '__proto__' is not allowed"],
    ['a constructor key', { list: [{ constructor: 1 }] }, "the key 'constructor' is not allowed"],
    ['a prototype key', { prototype: 1 }, "the key 'prototype' is not allowed"],
    ['Infinity', { n: JSON.parse('1e400') }, 'Infinity is not a finite number'],
    ['NaN', { n: Number.NaN }, 'NaN is not a finite number'],
    ['a BigInt', { n: 1n }, 'a BigInt is not valid JSON'],
    ['a Set', { ids: new Set([1]) }, 'a value of type Set is not valid JSON'],
    ['a lone surrogate', { text: '\ud800' }, 'lone surrogate'],
    ['a lone surrogate in a list', { texts: ['\udfff'] }, 'lone surrogate'],
    ['65 levels', nested(65), 'nested deeper than 64 levels'],
    ['10,000 levels', nested(10_000), 'nested deeper than 64 levels'],
    ['a long array', { a: new Array(10_001).fill(0) }, 'an array has more than 10000 entries'],
    ['a wide object', Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 1])), 'more than 10000'],
    ['what cannot even be asked what it is', revoked(), 'could not be read'],
    ['50 MB of text', { text: 'x'.repeat(50_000_000) }, 'larger than 1048576 bytes'],
    ['text whose bytes are too many', { text: 'é'.repeat(600_000) }, 'larger than 1048576 bytes'],
    [
      'a getter that throws',
      Object.defineProperty({}, 'x', { enumerable: true, get: () => fail() }),
      'could not be read',
    ],
  ])('refuses %s', (_, value, message) => {
    expect(refusal(value)).toContain(message)
  })

  test('accepts parameters at the limits', () => {
    expect(() => snapshotParams(nested(64))).not.toThrow()
    expect(() => snapshotParams({ a: new Array(10_000).fill(0) })).not.toThrow()
    expect(() => snapshotParams({ text: 'x'.repeat(1_000_000) })).not.toThrow()
  })

  test.each([
    ['at the top', (wide: object) => wide],
    ['further down', (wide: object) => ({ a: [wide] })],
  ])('counts the entries of an object %s before it copies them', (_, around) => {
    let reads = 0
    const keys = Array.from({ length: 10_001 }, (_, index) => `k${index}`)
    const wide = new Proxy(
      {},
      {
        ownKeys: () => keys,
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
        get: (target, key) => (key === 'constructor' || typeof key === 'symbol' ? Reflect.get(target, key) : reads++),
      },
    )
    expect(refusal(around(wide))).toContain('an object has more than 10000 entries')
    expect(reads).toBe(0)
  })

  test('reads the length of an array once', () => {
    let length = 0
    const get = (_: object, key: string | symbol) => (key === 'length' ? ++length : undefined)
    expect(snapshotParams({ list: new Proxy([], { get }) }).params).toEqual({ list: [null] })
  })

  test('treats undefined as absent, and dates as their text', () => {
    const { params } = snapshotParams({ a: undefined, when: new Date(0), list: [undefined] })
    expect(params).toEqual({ when: '1970-01-01T00:00:00.000Z', list: [null] })
    expect(Object.keys(params)).toEqual(['when', 'list'])
  })
})

describe('snapshotResult', () => {
  test.each([['text'], [0], [false], [null], [[1, 'a']], [{ a: { b: [] } }]])('returns %j unchanged', (value) => {
    expect(snapshotResult(value, 1_000)).toEqual(value)
  })

  test('converts undefined to null', () => {
    expect(snapshotResult(undefined, 1_000)).toBeNull()
  })

  test('copies the fields of an instance, also if it has none', () => {
    class Row {}
    expect(snapshotResult([new Row(), Object.assign(new Row(), { id: 1 }), Object.create(null)], 1_000)).toEqual([
      {},
      { id: 1 },
      {},
    ])
  })

  test('treats a __proto__ key as data', () => {
    const result = snapshotResult(JSON.parse('{"__proto__":{"polluted":{"deep":1}}}'), 1_000)
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":{"deep":1}}}')
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  const circular: { self?: unknown } = {}
  circular.self = circular
  test.each([
    ['circular', circular, 'nested deeper than 512 levels, or circular'],
    ['BigInt', { n: 1n }, 'a BigInt is not valid JSON'],
    ['NaN', { n: Number.NaN }, 'NaN is not a finite number'],
    ['Map', { rows: new Map([[1, 'one']]) }, 'a value of type Map is not valid JSON: use objects'],
    ['Promise', { rows: Promise.resolve(1) }, 'a value of type Promise is not valid JSON: await it'],
    ['AsyncGenerator', (async function* () {})(), 'a value of type AsyncGenerator is not valid JSON'],
    ['Uint8Array', new Uint8Array([1]), 'a value of type Uint8Array is not valid JSON'],
    ['Error', new Error('returned'), 'a value of type Error is not valid JSON'],
    ['unreadable', Object.defineProperty({}, 'x', { enumerable: true, get: () => fail() }), 'it could not be read'],
  ])('refuses a %s value as EXECUTION_ERROR', (_, value, message) => {
    expect(() => snapshotResult(value, 1_000_000)).toThrow(
      expect.objectContaining({ code: 'EXECUTION_ERROR', message: expect.stringContaining(message) }),
    )
  })

  test('reads no element of a typed array', () => {
    const read = vi.fn()
    const bytes = Object.defineProperty(new Uint8Array(8), 'more', { enumerable: true, get: read })
    expect(() => snapshotResult({ bytes }, 1_000_000)).toThrow('a value of type Uint8Array is not valid JSON')
    expect(() => snapshotParams({ bytes })).toThrow('a value of type Uint8Array is not valid JSON')
    expect(read).not.toHaveBeenCalled()
  })

  test.each([
    ['one character too many', 'x'.repeat(99), 100],
    ['characters that take several bytes', '€'.repeat(34), 100],
    ['characters that are escaped', '\u0001'.repeat(20), 100],
  ])('refuses %s as RESULT_TOO_LARGE', (_, value, max) => {
    expect(() => snapshotResult(value, max)).toThrow(expect.objectContaining({ code: 'RESULT_TOO_LARGE' }))
  })

  test('accepts a result of exactly the allowed size', () => {
    expect(snapshotResult('x'.repeat(98), 100)).toHaveLength(98)
    expect(snapshotResult('€'.repeat(32), 100)).toHaveLength(32)
  })
})

function fail(): never {
  throw new Error('secret detail')
}
