import { expect, test } from 'vitest'
import { sentence } from './sentence.ts'

test('reasons become sentences, and names stay as they are', () => {
  expect(sentence('the operation has no id')).toBe('The operation has no id.')
  expect(sentence('Does it work?')).toBe('Does it work?')
  expect(sentence('toolyard.config.json is read-only')).toBe('toolyard.config.json is read-only.')
  expect(sentence('get_weather has no description')).toBe('get_weather has no description.')
})
