import { expect, test, vi } from 'vitest'
import { wordEmbedder } from '../../testing/stand-ins.ts'
import { givenCollections } from './fixtures/given-collections.ts'

const ABOUT_NOTHING = 'Good morning to you all, and thank you for taking the time to read this today. '

/** A long query with its topic at the end. */
const LONG = `${ABOUT_NOTHING.repeat(12)}\n\nHow much salt goes into the bread?`

async function givenBread() {
  const given = await givenCollections({ embedder: wordEmbedder({ dimensions: 2048 }) })
  await given.ingest('Bread takes salt, flour and water.', { document_id: 'bread.md' })
  await given.ingest('A boat needs a sail and some wind.', { document_id: 'boat.md' })
  return given
}

test.each(['text', 'vector', 'hybrid'] as const)('finds a topic at the end of a long query by %s', async (by) => {
  const { search } = await givenBread()
  expect((await search(LONG, { by })).results[0]?.source).toBe('bread.md')
})

test('searches for each piece of a long query', async () => {
  const { search, store, embedder } = await givenBread()
  const [byText, byVector, embed] = [
    vi.spyOn(store, 'byText'),
    vi.spyOn(store, 'byVector'),
    vi.spyOn(embedder, 'embed'),
  ]
  await search('salt in bread')
  expect([byText, byVector, embed].map(({ mock }) => mock.calls.length)).toEqual([1, 1, 1])
  await search(LONG)
  expect(byText.mock.calls.length).toBeGreaterThan(3)
  expect(byVector.mock.calls.length).toBe(byText.mock.calls.length)
  expect(embed).toHaveBeenCalledTimes(2)
})

test('stops searching when the caller aborts', async () => {
  const { collections, store } = await givenBread()
  const controller = new AbortController()
  const byText = vi.spyOn(store, 'byText').mockImplementation(async () => {
    controller.abort(new Error('enough'))
    return []
  })
  const question = { tenant: 'acme', collection: 'wiki', query: LONG, most: 5, by: 'text' } as const
  await expect(collections.search(question, { signal: controller.signal })).rejects.toThrow('enough')
  expect(byText).toHaveBeenCalledTimes(1)
})
