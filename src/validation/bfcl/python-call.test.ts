import { describe, expect, test } from 'vitest'
import { parsePythonCall } from './python-call.ts'

describe('a call in Python', () => {
  test.each<[string, string, unknown[], object]>([
    ['ls()', 'ls', [], {}],
    ["tail(file_name='log.txt', lines=20)", 'tail', [], { file_name: 'log.txt', lines: 20 }],
    ["a.b('x', 2, y=-1.5e3)", 'a.b', ['x', 2], { y: -1500 }],
    ['f(a=True, b=False, c=None)', 'f', [], { a: true, b: false, c: null }],
    [
      "f(tags=['#a', '#b',], at=(1, 2), of={'k': [1], 'l': {}})",
      'f',
      [],
      { tags: ['#a', '#b'], at: [1, 2], of: { k: [1], l: {} } },
    ],
    ['f(a=\'it\\\'s "so"\\n\', b="(x, y=1)")', 'f', [], { a: 'it\'s "so"\n', b: '(x, y=1)' }],
    ["f(a='\\u00e9\\x41\\\\')", 'f', [], { a: 'éA\\' }],
  ])('%s is read', (text, name, positional, named) => {
    expect(parsePythonCall(text)).toEqual({ name, positional, named })
  })

  test.each([
    '',
    'ls',
    'ls(',
    'ls() ls()',
    'f(a=)',
    'f(a=b)',
    'f(a=1, 2)',
    "f('a)",
    'f(open("x"))',
    `f(${'['.repeat(99)}`,
  ])('%s is refused with its place', (text) => {
    expect(() => parsePythonCall(text)).toThrow(/is no call in Python: expected .+ at character \d+/)
  })
})
