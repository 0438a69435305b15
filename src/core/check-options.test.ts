import { describe, expect, test } from 'vitest'
import { ABOVE_ZERO, COUNT, checkKeys, checkNested, checkNumber, type NumberRange } from './check-options.ts'

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

  test.each([null, 5, 'tokens', [1]])('refuses %j as an object', (value) => {
    expect(() => checkNested('run', 'budget', value, known)).toThrow(
      /^run: budget must be an object with tokens, cost, /,
    )
  })
})
