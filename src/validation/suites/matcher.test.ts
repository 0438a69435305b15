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
    ['a text that matches', { $matches: '/^par/i' }, 'Paris', undefined],
    ['a text that does not', { $matches: '/^par/' }, 'Paris', 'wrong_value'],
    ['a number for a pattern', { $matches: '/1/' }, 1, 'wrong_type'],
    ['a value with a key like a matcher', { $equals: { $any: 1 } }, { $any: 1 }, undefined],
    ['another value than it', { $equals: { $any: 1 } }, { $any: 2 }, 'wrong_value'],
    ['a matcher inside', { a: [{ $any: true }, 2] }, { a: [1, 2] }, undefined],
    ['an optional entry left out', { a: { $optional: 1 } }, {}, undefined],
    ['an optional entry said wrong', { a: { $optional: 1 } }, { a: 2 }, 'wrong_value'],
  ])('%s', (_what, expected, actual, kind) => {
    expect(kindOf(expected, actual)).toBe(kind)
  })

  test('is named by its path where it is wrong', () => {
    expect(mismatch({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, 'x')).toEqual({
      kind: 'wrong_value',
      path: 'x.a[0].b',
      expected: 1,
      actual: 2,
    })
  })

  test('is named in words where it is expected', () => {
    expect(expectedInWords({ $one_of: ['a', { $number: 1, within: 2 }] })).toBe('one of: "a", 1 within 2')
    expect(expectedInWords({ $optional: { $matches: '/a/' } })).toBe('a text that matches /a/')
  })
})

describe('a matcher', () => {
  test.each<[unknown, string]>([
    [{ $anny: true }, "x has the unknown matcher '$anny': did you mean '$any'?"],
    [{ $where: 1 }, 'A value with such a key is written as {"$equals": <any JSON>}.'],
    [{ $any: false }, 'x {"$any":false} is not true: write it as {"$any": true}.'],
    [{ $number: 'a', within: 1 }, 'is no number'],
    [{ $number: 1 }, 'has no "within" from 0 up: write it as {"$number": 3.14, "within": 0.01}.'],
    [{ $number: 1, within: -1 }, 'has no "within" from 0 up'],
    [{ $one_of: [] }, 'is no list of values'],
    [{ $one_of: [{ $any: 1 }] }, 'x.$one_of[0] {"$any":1} is not true'],
    [{ $matches: '^a' }, 'x {"$matches":"^a"} is no regular expression: write it as {"$matches": "/^paris/i"}.'],
    [{ $matches: '/(a+)+(?=b)/' }, 'cannot be matched in bounded time'],
    [{ $any: true, more: 1 }, "has 'more' beside $any"],
    [[{ $optional: 1 }], 'x[0] {"$optional":1} stands where nothing can be left out'],
    [{ a: { b: { $anny: 1 } } }, "x.a.b has the unknown matcher '$anny'"],
  ])('%j is refused with its path, its value and the fix', (value, message) => {
    expect(matcherProblems(value, 'x').join('\n')).toContain(message)
  })

  test('that is right has no problem', () => {
    const value = { a: { $optional: { $one_of: [1, { $number: 2, within: 0.5 }] } }, b: { $equals: { $anny: 1 } } }
    expect(matcherProblems(value, 'x')).toEqual([])
  })
})
