import { expect, test } from 'vitest'
import { periodInWords, waitInWords } from './problem-words.ts'

test.each([
  [1, '1 s'],
  [59_001, '60 s'],
  [119_000, '119 s'],
  [300_000, 'about 5 min'],
  [86_400_000, 'about 24 h'],
  [10 * 86_400_000, 'about 10 days'],
])('a wait of %i ms is %s', (ms, words) => {
  expect(waitInWords(ms)).toBe(words)
})

test.each([
  [250, '250 ms'],
  [90_000, '90 s'],
  [120_000, '2 min'],
  [86_400_000, '24 h'],
])('a period of %i ms is %s', (ms, words) => {
  expect(periodInWords(ms)).toBe(words)
})
