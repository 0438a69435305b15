import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { linearPattern, nativePattern } from './linear-pattern.ts'

const PATTERNS = [
  '^[a-z]+$',
  'a|b',
  '^$',
  '',
  '.',
  '^.$',
  '\\s',
  '\\S',
  '[^\\s]',
  '[\\s\\d]',
  '[^\\S\\n]',
  '\\w+\\b',
  '\\d{2,4}',
  '^\\p{L}+$',
  '\\u00e9',
  '\\u{1F600}',
  '\\x41',
  '\\cJ',
  '[\\w.-]+@[\\w.-]+',
  '^(?:a|b)*?c',
  '(?<year>\\d{4})',
  '\\/',
  '[a\\]b]',
  '[.]',
  '\\.',
  '\\\\s',
  '^[^.]+$',
  'a$',
  '\\0',
  '\\t|\\v|\\f',
  '^😀$',
  '[😀é]',
]

describe('linearPattern', () => {
  it.each(PATTERNS)('matches what JavaScript matches with %j', (source) => {
    const linear = linearPattern(source)
    const native = nativePattern(source)
    const character = fc.constantFrom(...'aAbcé1_-.@/\\ \n\r\t\v\u0000\u00a0\u2028\u3000\ufeff]s', '😀')
    expect(linear).toBeDefined()
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 6 }), (text) => {
        expect([text, linear?.test(text)]).toEqual([text, native.test(text)])
      }),
    )
  })

  it.each([
    '(?=a)',
    '(?!a)',
    '(?<=a)b',
    '(a)\\1',
    '(?<x>a)\\k<x>',
    'a{1,5000}',
    '(a{1,100}){1,100}',
    '[]',
    '[^]',
    '(?i:a)',
    '\\z',
    '[[:alpha:]]',
    '(',
  ])('leaves %j to the native engine', (source) => {
    expect(linearPattern(source)).toBeUndefined()
  })

  it('does not hang if backtracking would', () => {
    // Only the test's timeout can end one that does.
    for (const source of [
      '^(a+)+$',
      '(x+x+)+y',
      '^(([a-z])+.)+[A-Z]([a-z])+$',
      '(a|a)*$',
      'a[ab]{400}[cd]',
      '(?:a[ab]{0,90}){5}[cd]',
    ]) {
      linearPattern(source)?.test(`${'ab'.repeat(200_000)}!`)
      linearPattern(source)?.test(`${'a'.repeat(400_000)}!`)
    }
  })
})
