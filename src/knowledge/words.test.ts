import { expect, test } from 'vitest'
import { words } from './words.ts'

test('only the words that carry meaning are left', () => {
  expect(words('How do I use the `timeout_ms` of a tool?')).toEqual(['timeout', 'ms', 'tool'])
  expect(words('what is this')).toEqual([])
})

test.each([
  ['execute executes executed executing', 'execut'],
  ['tool tools', 'tool'],
  ['cache caches cached caching', 'cach'],
  ['string strings', 'string'],
])('the forms of a word meet: %s', (forms, stem) => {
  expect(new Set(words(forms))).toEqual(new Set([stem]))
})

test('other scripts and numbers are words too', () => {
  expect(words('Überlauf 404 検 索')).toEqual(['überlauf', '404', '検', '索'])
})
