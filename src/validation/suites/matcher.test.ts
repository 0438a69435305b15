import { describe, expect, test } from 'vitest'
import { expectedInWords, matcherProblems, mismatch } from './matcher.ts'

const kindOf = (expected: unknown, actual: unknown) => mismatch(expected, actual, 'x')?.kind

describe('a value', () => {
  test.each<[string, unknown, unknown, unknown]>([
    ['the same text', 'Paris', 'Paris', undefined],
    ['another text', 'Paris', 'paris', 'wrong_value'],
    ['a number as text', 5, '5', 'wrong_type'],
    ['null', null, null, undefined],
    ['nothing for null', 'a', null, 'wrong_type'],
    ['the same list', [1, [2]], [1, [2]], undefined],
    ['a list in another order', [1, 2], [2, 1], 'wrong_value'],
    ['a longer list', [1], [1, 2], 'wrong_value'],
    ['the same object', { a: 1, b: 2 }, { b: 2, a: 1 }, undefined],
    ['an object with an entry too few', { a: 1, b: 2 }, { a: 1 }, 'missing_parameter'],
    ['an object with an entry too many', { a: 1 }, { a: 1, b: 2 }, 'unexpected_parameter'],
    ['any value', { $any: true }, { a: [] }, undefined],
    ['one of several', { $one_of: ['a', 'b'] }, 'b', undefined],
    ['none of several', { $one_of: ['a', 'b'] }, 'c', 'wrong_value'],
    ['none of several by its type', { $one_of: ['a', 'b'] }, 1, 'wrong_type'],
    ['one of several matchers', { $one_of: [null, { $matches: '/^p/i' }] }, 'Paris', undefined],
    ['a number just near enough', { $number: 0.3, within: 0.1 }, 0.4, undefined],
    ['the very number', { $number: 3, within: 0 }, 3, undefined],
    ['a number too far', { $number: 0.3, within: 0.1 }, 0.41, 'wrong_value'],
    ['a text for a number', { $number: 1, within: 0 }, '1', 'wrong_type'],
    ['a string that matches', { $matches: '/^par/i' }, 'Paris', undefined],
    ['a text that does not', { $matches: '/^par/' }, 'Paris', 'wrong_value'],
    ['a number for a pattern', { $matches: '/1/' }, 1, 'wrong_type'],
    ['a value with a key like a matcher', { $equals: { $any: 1 } }, { $any: 1 }, undefined],
    ['another value than it', { $equals: { $any: 1 } }, { $any: 2 }, 'wrong_value'],
    ['a matcher inside', { a: [{ $any: true }, 2] }, { a: [1, 2] }, undefined],
    ['an optional entry left out', { a: { $optional: 1 } }, {}, undefined],
    ['a wrong optional entry', { a: { $optional: 1 } }, { a: 2 }, 'wrong_value'],
  ])('%s', (_what, expected, actual, kind) => {
    expect(kindOf(expected, actual)).toBe(kind)
  })

  test('reports the path of a mismatch', () => {
    expect(mismatch({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, 'x')).toEqual({
      kind: 'wrong_value',
      path: 'x.a[0].b',
      expected: 1,
      actual: 2,
    })
  })

  test('describes an expected value in words', () => {
    expect(expectedInWords({ $one_of: ['a', { $number: 1, within: 2 }] })).toBe('one of: "a", 1 within 2')
    expect(expectedInWords({ $optional: { $matches: '/a/' } })).toBe('a string that matches /a/')
  })
})

describe('a matcher', () => {
  test.each<[unknown, string]>([
    [{ $anny: true }, "x has the unknown matcher '$anny': did you mean '$any'?"],
    [{ $where: 1 }, 'Write a value with such a key as {"$equals": <any JSON>}.'],
    [{ $any: false }, 'x {"$any":false} isn\'t true: write it as {"$any": true}.'],
    [{ $number: 'a', within: 1 }, "isn't a number"],
    [{ $number: 1 }, 'needs a "within" of 0 or more: write it as {"$number": 3.14, "within": 0.01}.'],
    [{ $number: 1, within: -1 }, 'needs a "within" of 0 or more'],
    [{ $one_of: [] }, "isn't a list of values"],
    [{ $one_of: [{ $any: 1 }] }, 'x.$one_of[0] {"$any":1} isn\'t true'],
    [{ $matches: '^a' }, `x {"$matches":"^a"} isn't a regular expression: write it as {"$matches": "/^paris/i"}.`],
    [{ $matches: '/(a+)+(?=b)/' }, 'cannot be matched in bounded time'],
    [{ $any: true, more: 1 }, "has 'more' beside $any"],
    [[{ $optional: 1 }], 'x[0] {"$optional":1} is only allowed as the value of a key'],
    [{ a: { b: { $anny: 1 } } }, "x.a.b has the unknown matcher '$anny'"],
  ])('rejects %j with its path, its value and the fix', (value, message) => {
    expect(matcherProblems(value, 'x').join('\n')).toContain(message)
  })

  test('accepts valid matchers', () => {
    const value = { a: { $optional: { $one_of: [1, { $number: 2, within: 0.5 }] } }, b: { $equals: { $anny: 1 } } }
    expect(matcherProblems(value, 'x')).toEqual([])
  })
})
