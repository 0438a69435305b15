import fc from 'fast-check'
import { expect, test } from 'vitest'
import { printable, printableLine } from './terminal.ts'

test.each([
  ['an escape sequence', '\u001b[31mred', '\\u001b[31mred'],
  ['a bell and a backspace', 'a\u0007\b', 'a\\u0007\\u0008'],
  ['a carriage return, which would overwrite the line', 'good\rbad', 'good\\u000dbad'],
  ['the one-byte form of an escape', '\u009b31m', '\\u009b31m'],
  ['DEL', '\u007f', '\\u007f'],
  ['turned text', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
  ['half a character', 'a\ud800b', 'a\\ud800b'],
])('%s is written out', (_, text, expected) => {
  expect(printable(text)).toBe(expected)
})

test('ordinary text stays as it is, whatever its script', () => {
  const text = 'Zürich, 東京, नमस्ते, שלום, 👨‍👩‍👧\n\tnext line'
  expect(printable(text)).toBe(text)
})

test('a line stays a line', () => {
  expect(printableLine('a\nb\tc')).toBe('a\\u000ab\\u0009c')
})

test('JSON that is made printable is the same JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(JSON.parse(printable(JSON.stringify({ [text]: text })))).toEqual({ [text]: text })
    }),
  )
})
