import { expect, test } from 'vitest'
import { readPythonCalls } from './read-printed.ts'

test.each<[string, string, object]>([
  ['no arguments', 'ls()', {}],
  ['keywords', "tail(file='log.txt', lines=20)", { file: 'log.txt', lines: 20 }],
  ['numbers and lists', "f(b=-1.5e3, c=[True, None, {'k': {}}])", { b: -1500, c: [true, null, { k: {} }] }],
  ['quotes and escapes', 'f(a = \'it\\\'s "so"\\n\', b="(x, y=1)")', { a: 'it\'s "so"\n', b: '(x, y=1)' }],
])('reads a call with %s', (_what, text, args) => {
  expect(readPythonCalls(text)?.[0]?.args).toEqual(args)
})

test.each([
  '',
  'ls',
  'ls(',
  'f(a=)',
  'f(a=b)',
  'f(a=1, 2)',
  "f('a)",
  'f(open("x"))',
  "f('x')",
  'f(1, 2, 3)',
  `f(${'['.repeat(99)}`,
])('refuses %s', (text) => {
  expect(readPythonCalls(text)).toBeUndefined()
})
