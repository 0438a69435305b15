import { expect, test } from 'vitest'
import type { HandlerContext } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import type { Params } from '../../core/tool.ts'
import { string } from './shipped.ts'

const context: HandlerContext = {
  signal: new AbortController().signal,
  tenant: 'local',
  flags: {},
  report: () => {},
  log: silentLog,
}
const call = (params: Params) => string(params, context)
const FAMILY = '👨‍👩‍👧'

const good: [string, Params, unknown][] = [
  ['upper', { text: 'straße' }, 'STRASSE'],
  ['lower', { text: 'ÀB' }, 'àb'],
  ['title', { text: "the LIFE of o'neil's élan" }, "The Life Of O'neil's Élan"],
  ['trim', { text: ' \t a b \n' }, 'a b'],
  ['length', { text: `né${FAMILY}` }, 3],
  ['length', { text: '' }, 0],
  ['reverse', { text: `ab${FAMILY}e\u0301` }, `e\u0301${FAMILY}ba`],
  ['contains', { text: 'a.c', search: '.' }, true],
  ['contains', { text: 'abc', search: '.' }, false],
  ['count', { text: 'aaaa', search: 'aa' }, 2],
  ['replace', { text: 'a.b.c', search: '.', replacement: '$&' }, 'a$&b$&c'],
  ['replace', { text: 'a b', search: ' ', replacement: '' }, 'ab'],
  ['split', { text: ' two  words ' }, ['two', 'words']],
  ['split', { text: 'a,b,,c', separator: ',' }, ['a', 'b', '', 'c']],
  ['split', { text: `a${FAMILY}`, separator: '' }, ['a', FAMILY]],
  ['slice', { text: `${FAMILY}abc`, start: 1 }, 'abc'],
  ['slice', { text: 'abcdef', start: -3, end: -1 }, 'de'],
  ['slice', { text: 'abc', end: 2 }, 'ab'],
  ['slug', { text: '  Crème Brûlée, 2 cups! ' }, 'creme-brulee-2-cups'],
  ['slug', { text: 'हिन्दी में' }, 'हिन्दी-में'],
]

test.each(good)('%s of %o', (operation, params, result) => {
  expect(call({ operation, ...params })).toEqual({ result })
})

const bad: [string, Params, string][] = [
  ['an unknown operation', { operation: 'rot13', text: 'a' }, 'not "rot13"'],
  ['an operation of the prototype', { operation: 'constructor', text: 'a' }, 'not "constructor"'],
  ['no text', { operation: 'upper' }, "missing 'text'"],
  ['a number for a text', { operation: 'upper', text: 5 }, 'text must be a string'],
  [
    'too much text',
    { operation: 'upper', text: 'a'.repeat(100_001) },
    'text must not be longer than 100000 characters',
  ],
  ['nothing to search for', { operation: 'count', text: 'a' }, "missing 'search'"],
  [
    'a search as long as a text',
    { operation: 'count', text: 'a', search: 'a'.repeat(1_001) },
    'search must not be longer than 1000 characters',
  ],
  ['an empty search', { operation: 'replace', text: 'a', search: '', replacement: 'b' }, 'search must not be empty'],
  ['no replacement', { operation: 'replace', text: 'a', search: 'a' }, "missing 'replacement'"],
  ['half a position', { operation: 'slice', text: 'a', start: 0.5 }, 'start must be an integer'],
]

test.each(bad)('%s is refused', (_, params, message) => {
  expect(() => call(params)).toThrow(message)
  expect(() => call(params)).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETERS' }))
})

test('a replacement that would grow beyond a million characters is refused before it is made', () => {
  const text = 'a'.repeat(100_000)
  expect(() => call({ operation: 'replace', text, search: 'a', replacement: text })).toThrow(
    'the result would have 10000000000 characters, and at most 1000000 are allowed',
  )
  expect(call({ operation: 'replace', text, search: 'a', replacement: 'b'.repeat(10) })).toEqual({
    result: 'b'.repeat(1_000_000),
  })
})
