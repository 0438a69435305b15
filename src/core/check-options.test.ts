import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { ABOVE_ZERO, COUNT, checkAll, checkKeys, checkNested, checkNumber, type NumberRange } from './check-options.ts'

describe('checkNumber', () => {
  test.each<[unknown, NumberRange]>([
    [1, COUNT],
    [Number.MAX_SAFE_INTEGER, COUNT],
    [0.001, ABOVE_ZERO],
    [-5, {}],
    [0, { min: 0, max: 2 }],
    [2, { min: 0, max: 2 }],
  ])('takes %s in %j', (value, range) => {
    expect(() => checkNumber('run', 'limit', value, range)).not.toThrow()
  })

  test.each<[unknown, NumberRange, string]>([
    [Number.NaN, COUNT, 'an integer of 1 or more, not NaN'],
    [Number.POSITIVE_INFINITY, COUNT, 'an integer of 1 or more, not Infinity'],
    [1.5, COUNT, 'an integer of 1 or more, not 1.5'],
    [2 ** 60, COUNT, 'an integer of 1 or more, not 1152921504606847000'],
    [0, ABOVE_ZERO, 'a number above 0, not 0'],
    [Number.NaN, ABOVE_ZERO, 'a number above 0, not NaN'],
    [Number.NEGATIVE_INFINITY, {}, 'a finite number, not -Infinity'],
    [101, { integer: true, min: 1, max: 100 }, 'an integer from 1 to 100, not 101'],
  ])('refuses %s in %j with a RangeError', (value, range, words) => {
    expect(() => checkNumber('run', 'limit', value, range)).toThrow(new RangeError(`run: limit must be ${words}`))
  })

  test.each<[unknown, string]>([
    ['5', '"5"'],
    [null, 'null'],
    [undefined, 'undefined'],
    [5n, '5'],
    [true, 'true'],
    [[5], 'an array'],
    [{ valueOf: () => 5 }, 'an object'],
    [() => 5, 'a function'],
    [Symbol('five'), 'Symbol(five)'],
  ])('refuses %o with a TypeError', (value, shown) => {
    const message = `run: limit must be an integer of 1 or more, not ${shown}`
    expect(() => checkNumber('run', 'limit', value, COUNT)).toThrow(new TypeError(message))
  })
})

describe('keys', () => {
  const known = { tokens: true, cost: true }

  test('names the nearest option, or all', () => {
    expect(() => checkKeys('run', { token: 1 }, known)).toThrow(
      new TypeError('run: unknown option "token". Did you mean "tokens"?'),
    )
    expect(() => checkNested('run', 'budget', { xyz: 1 }, known)).toThrow(
      new TypeError('run: budget: unknown option "xyz". Known options are tokens, cost'),
    )
  })

  test.each([
    ['a Map', new Map([['tokens', 1]])],
    [
      'an instance with a getter',
      new (class {
        get token() {
          return 1
        }
      })(),
    ],
    ['an object that inherits', Object.create({ tokens: 1 })],
    [
      'an object that inherits from one without a prototype',
      Object.create(Object.assign(Object.create(null), { tokens: 1 })),
    ],
  ])('refuses %s', (_, value) => {
    const words = 'not an object that inherits'
    expect(() => checkNested('run', 'budget', value, known)).toThrow(
      new TypeError(`run: budget must be an object with tokens, cost, ${words}`),
    )
    expect(() => checkAll('run', value, {})).toThrow(new TypeError(`run: options must be an object, ${words}`))
  })

  test('refuses keys that a copy leaves out', () => {
    const hidden = Object.defineProperty({}, 'tokens', { value: 1 })
    expect(() => checkNested('run', 'budget', hidden, known)).toThrow(
      new TypeError('run: budget.tokens is not enumerable: write it as {tokens: …}'),
    )
  })

  test('takes objects without a prototype, and of another realm', () => {
    for (const value of [Object.assign(Object.create(null), { tokens: 1 }), runInNewContext('({ tokens: 1 })')]) {
      expect(() => checkNested('run', 'budget', value, known)).not.toThrow()
    }
  })

  test.each([null, 5, 'tokens', [1]])('refuses %j as an object', (value) => {
    expect(() => checkNested('run', 'budget', value, known)).toThrow(
      /^run: budget must be an object with tokens, cost, /,
    )
  })
})
