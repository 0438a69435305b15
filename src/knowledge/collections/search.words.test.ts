import { expect, test } from 'vitest'
import type { KnowledgeHit } from '../../core/storage/knowledge-store.ts'
import { wordCoverage } from './search.ts'

const hit = (text: string, heading = ''): KnowledgeHit => ({
  chunk_id: text,
  document_id: 'a',
  source: 'a',
  position: 0,
  start: 0,
  end: text.length,
  heading,
  text,
  metadata: {},
  score: 1,
})

test('it is 1 where all words are held, 0 where none is, and headings count', () => {
  expect(
    wordCoverage('a stone in the water', [hit('Water on stones'), hit('Sand'), hit('Stone', 'Water')], 1_000),
  ).toEqual([1, 0, 1])
})

test('a word that is nowhere weighs most, a common one least', () => {
  const hits = [...Array.from({ length: 300 }, () => hit('a call')), hit('a deadline')]
  const [call, deadline] = [
    wordCoverage('call deadline', hits, 1_000)[0],
    wordCoverage('call deadline', hits, 1_000).at(-1),
  ]
  expect(deadline).toBeGreaterThan(0.7)
  expect(call).toBeLessThan(0.3)
  expect(wordCoverage('Python decorators', [hit('Python')], 1_000)[0]).toBeLessThan(0.5)
})

test('one passage alone is not held against the words that it does not have', () => {
  expect(wordCoverage('How long does sourdough take?', [hit('Sourdough takes two days.')], 1)[0]).toBeGreaterThan(0.5)
})

test.each([
  ['cancelling', 'cancelled'],
  ['executes', 'execution'],
  ['categories', 'category'],
  ['naïve', 'naive'],
  ['检索增强', '检索增强生成'],
])('%s and %s are one word', (asked, held) => {
  expect(wordCoverage(asked, [hit(held)], 1_000)).toEqual([1])
})

test('without words of meaning nothing is covered', () => {
  expect(wordCoverage('what is this', [hit('This is it')], 1_000)).toEqual([0])
})
