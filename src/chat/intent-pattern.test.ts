import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { intentPattern } from './intent-pattern.ts'

describe('intentPattern', () => {
  test.each([
    ['(weather|forecast)', 'i'],
    ['^b.?a$', 'm'],
    ['^b.?a$', ''],
    ['a.b', 's'],
    ['a.b', 'is'],
    ['[a-b]\\s+B', 'i'],
    ['\\bB\\S', ''],
    ['^\\p{L}\\s*$', 'um'],
    ['é', 'iu'],
  ])('matches what JavaScript matches with /%s/%s', (source, flags) => {
    const pattern = intentPattern(`/${source}/${flags}`)
    const native = new RegExp(source, flags)
    const piece = fc.constantFrom(...'abBéÉ \n\r\v\u00a0\u2028\u3000.', 'weather', 'FORECAST')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = pieces.join('')
        expect([text, pattern.test(text)]).toEqual([text, native.test(text)])
      }),
    )
  })

  test('keeps no state with the flags g and y', () => {
    const pattern = intentPattern('/weather/gy')
    expect([1, 2, 3].map(() => pattern.test('the weather'))).toEqual([true, true, true])
  })

  test.each([
    ['weather', 'isn\'t a regular expression: write it as "/(weather|forecast)/i"'],
    ['//', "isn't a regular expression: write it as"],
    ['/(weather/i', "isn't a regular expression: Unterminated group"],
    ['/a/ii', "isn't a regular expression: "],
    ['/a/x', "has the unknown flag 'x': use i, m, s or u"],
    ['/a/v', "has the unknown flag 'v'"],
    ['/(?=a)b/', 'cannot be matched in bounded time: write it without lookahead'],
    ['/(a)\\1/', 'cannot be matched in bounded time'],
    ['/(a{1,100}){1,10}/', 'cannot be matched in bounded time'],
    ['/a{1,5000}/', 'cannot be matched in bounded time'],
  ])('rejects %s with the reason', (literal, reason) => {
    expect(() => intentPattern(literal)).toThrow(SyntaxError)
    expect(() => intentPattern(literal)).toThrow(reason)
  })

  test('takes bounded time, and never matches extremely long messages', () => {
    const pattern = intentPattern('/^(a+)+$/i')
    expect(pattern.test('a'.repeat(200_000))).toBe(true)
    expect(pattern.test(`${'a'.repeat(200_000)}!`)).toBe(false)
    expect(pattern.test('a'.repeat(20_000_000))).toBe(false)
  })
})
