import { expect, test } from 'vitest'
import type { KnowledgeHit } from '../../core/storage/knowledge-store.ts'
import { rankHits, weighText, weighVectors } from './search.ts'

const hit = (id: string, score: number, text = `Text of ${id}.`): KnowledgeHit => ({
  chunk_id: id,
  document_id: id,
  source: id,
  position: 0,
  start: 0,
  end: text.length,
  heading: '',
  text,
  metadata: {},
  score,
})

const byVector = (...lists: KnowledgeHit[][]) =>
  rankHits({ byText: [], byVector: lists.map(weighVectors) }, 5).map(({ source, score }) => [source, score])

test('keeps order and scores for one piece', () => {
  expect(byVector([hit('a', 0.9), hit('b', 0.5)])).toEqual([
    ['a', 0.9],
    ['b', 0.5],
  ])
})

test('ranks hits for several pieces first', () => {
  const ranked = byVector([hit('a', 0.6), hit('b', 0.5)], [hit('c', 0.6), hit('b', 0.5)])
  expect(ranked.map(([source]) => source)).toEqual(['b', 'a', 'c'])
  expect(ranked[0]?.[1]).toBe(0.6)
})

test('ranks one strong match above several weak ones', () => {
  const ranked = byVector([hit('a', 0.9), hit('b', 0.3)], [hit('b', 0.3)], [hit('b', 0.3)])
  expect(ranked.map(([source]) => source)).toEqual(['a', 'b'])
})

test('omits unrelated passages', async () => {
  expect(byVector([hit('a', 0.1)], [hit('b', 0.15)])).toEqual([])
  expect(await weighText('python decorators', [hit('a', 3, 'All about something else.')], 1_000)).toEqual([])
})

test('combines both methods', async () => {
  const hits = [hit('a', 8, 'Vinegar for the kettle.'), hit('b', 6, 'A kettle.')]
  const text = [await weighText('kettle vinegar', hits, 1_000)]
  const vectors = [weighVectors([hit('b', 0.7), hit('a', 0.6)])]
  const both = rankHits({ byText: text, byVector: vectors }, 5)
  expect(both.map(({ source }) => source).sort()).toEqual(['a', 'b'])
  for (const { score } of both) expect(score).toBeLessThanOrEqual(1)
})
