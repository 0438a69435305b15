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

test('is 1 for all words, 0 for none, and includes headings', () => {
  expect(
    wordCoverage('a stone in the water', [hit('Water on stones'), hit('Sand'), hit('Stone', 'Water')], 1_000),
  ).toEqual([1, 0, 1])
})

test('weighs rare words most and common words least', () => {
  const hits = [...Array.from({ length: 300 }, () => hit('a call')), hit('a deadline')]
  const [call, deadline] = [
    wordCoverage('call deadline', hits, 1_000)[0],
    wordCoverage('call deadline', hits, 1_000).at(-1),
  ]
  expect(deadline).toBeGreaterThan(0.7)
  expect(call).toBeLessThan(0.3)
  expect(wordCoverage('Python decorators', [hit('Python')], 1_000)[0]).toBeLessThan(0.5)
})

test('does not overrate words in a small collection', () => {
  expect(wordCoverage('How long does sourdough take?', [hit('Sourdough takes two days.')], 1)[0]).toBeGreaterThan(0.5)
})

test.each([
  ['cancelling', 'cancelled'],
  ['executes', 'execution'],
  ['categories', 'category'],
  ['naïve', 'naive'],
  ['检索增强', '检索增强生成'],
])('treats %s and %s as the same word', (asked, held) => {
  expect(wordCoverage(asked, [hit(held)], 1_000)).toEqual([1])
})

test('is 0 for queries of stop words', () => {
  expect(wordCoverage('what is this', [hit('This is it')], 1_000)).toEqual([0])
})
