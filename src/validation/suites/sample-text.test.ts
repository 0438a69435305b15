import { expect, test } from 'vitest'
import { samplePattern, sampleText } from './sample-text.ts'

test.each([
  '^[a-z0-9][a-z0-9_-]*$',
  '^I?\\d+[:|-]\\d+(?:;\\d+[:|-]\\d+)*$',
  '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$',
  '^[a-zA-Z0-9_.-]+\\.(png|svg|gif)$',
  '^(\\+\\d{1,3} )?\\(\\d{3}\\) \\d{3}-\\d{4}$',
  '^(?<year>\\d{4})/[^/]+$',
  '^\\p{Lu}\\w{2,}\\s.$',
  '^\\u0041\\x42\\.$',
  'abc|def',
])('finds a string that matches %s', (source) => {
  expect(samplePattern(source)).toMatch(new RegExp(source, 'u'))
})

test.each(['^(?=a)b$', '[^\\s\\S]', 'a{9999}', 'x'.repeat(1001)])('finds no string for %s', (source) => {
  expect(samplePattern(source)).toBeUndefined()
})

test('respects lengths beside a pattern', () => {
  const rules = { name: 'code', pattern: '^[A-Z]+$', minLength: 10, maxLength: 20, number: 0 }
  expect(sampleText(rules)).toMatch(/^[A-Z]{10,20}$/)
})

test('bounds the length of a string that its schema makes enormous', () => {
  expect(sampleText({ name: 'text', minLength: 1e10, number: 0 })).toHaveLength(10_000)
  expect(sampleText({ name: 'text', minLength: 1e10, maxLength: 5, number: 0 })).toHaveLength(10_000)
})
