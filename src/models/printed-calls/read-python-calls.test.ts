import { expect, test } from 'vitest'
import { readPythonCalls } from './read-python-calls.ts'

const parameters = () => ['a', 'b']

test.each<[string, string, object]>([
  ['no arguments', 'ls()', {}],
  ['keywords', "tail(file='log.txt', lines=20)", { file: 'log.txt', lines: 20 }],
  ['positions', "f('x', -1.5e3)", { a: 'x', b: -1500 }],
  ['a position, then a keyword', "f('x', c=[True, None, {'k': {}}])", { a: 'x', c: [true, null, { k: {} }] }],
  ['quotes and escapes', 'f(\'it\\\'s "so"\\n\', b="(x, y=1)")', { a: 'it\'s "so"\n', b: '(x, y=1)' }],
])('reads a call with %s', (_what, text, args) => {
  expect(readPythonCalls(text, parameters)?.[0]?.args).toEqual(args)
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
  'f(1, 2, 3)',
  `f(${'['.repeat(99)}`,
])('refuses %s', (text) => {
  expect(readPythonCalls(text, parameters)).toBeUndefined()
})

test('refuses arguments without a keyword if the parameters are unknown', () => {
  expect(readPythonCalls("f('x')")).toBeUndefined()
})
