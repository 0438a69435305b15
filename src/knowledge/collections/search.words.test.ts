import { setImmediate as nextTurn } from 'node:timers/promises'
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

test('is 1 for all words, 0 for none, and includes headings', async () => {
  expect(
    await wordCoverage('a stone in the water', [hit('Water on stones'), hit('Sand'), hit('Stone', 'Water')], 1_000),
  ).toEqual([1, 0, 1])
})

test('weighs rare words most and common words least', async () => {
  const hits = [...Array.from({ length: 300 }, () => hit('a call')), hit('a deadline')]
  const [call, deadline] = [
    (await wordCoverage('call deadline', hits, 1_000))[0],
    (await wordCoverage('call deadline', hits, 1_000)).at(-1),
  ]
  expect(deadline).toBeGreaterThan(0.7)
  expect(call).toBeLessThan(0.3)
  expect((await wordCoverage('Python decorators', [hit('Python')], 1_000))[0]).toBeLessThan(0.5)
})

test('does not overrate words in a small collection', async () => {
  const [coverage] = await wordCoverage('How long does sourdough take?', [hit('Sourdough takes two days.')], 1)
  expect(coverage).toBeGreaterThan(0.5)
})

test.each([
  ['cancelling', 'cancelled'],
  ['executes', 'execution'],
  ['categories', 'category'],
  ['naïve', 'naive'],
  ['检索增强', '检索增强生成'],
])('treats %s and %s as the same word', async (asked, held) => {
  expect(await wordCoverage(asked, [hit(held)], 1_000)).toEqual([1])
})

test('is 0 for queries of stop words', async () => {
  expect(await wordCoverage('what is this', [hit('This is it')], 1_000)).toEqual([0])
})

test.each([
  ['cat', 'cathedral', 1],
  ['cathedral', 'cat', 1],
  ['ca', 'cathedral', 0],
  ['cathedral', 'ca', 0],
  ['cat', 'dog', 0],
])('words begin alike from three letters on: %s and %s', async (asked, held, coverage) => {
  expect(await wordCoverage(asked, [hit(held)], 1_000)).toEqual([coverage])
})

test('lets other work run while it reads long passages', async () => {
  const hits = Array.from({ length: 100 }, () => hit('abc '.repeat(8_000)))
  let turns = 0
  let ended = false
  const covered = wordCoverage('abc', hits, 1_000).finally(() => {
    ended = true
  })
  for (; !ended; turns++) await nextTurn()
  expect(await covered).toHaveLength(100)
  expect(turns).toBeGreaterThan(10)
})

test('stops when the call is cancelled', async () => {
  const hits = Array.from({ length: 100 }, () => hit('abc '.repeat(8_000)))
  await expect(wordCoverage('abc', hits, 1_000, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})
