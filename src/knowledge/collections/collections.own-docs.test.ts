import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { wordEmbedder } from '../../testing/stand-ins.ts'
import { givenCollections, givenStore } from './fixtures/given-collections.ts'

let folder: string
let docs: URL

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'own-docs-'))
  docs = pathToFileURL(`${folder}/`)
  await mkdir(join(folder, 'tools'))
  await page('errors.md', '# Errors\n\nA tool that runs past its deadline is cancelled.')
  await page('tools/weather.md', '# get_weather\n\nThe weather of a city.')
  await page('notes.txt', 'Deadlines of another kind.')
})
afterEach(() => rm(folder, { recursive: true }))

const page = (name: string, text: string) => writeFile(join(folder, name), text)
const inDocs = { tenant: 'acme', collection: 'docs' }

describe("Toolyard's docs", () => {
  test('are the collection docs of tenants without one', async () => {
    const { search, collections, embedder } = await givenCollections({ docs })
    expect(await search('deadline', inDocs)).toEqual({
      by: 'text',
      results: [
        {
          text: '# Errors\n\nA tool that runs past its deadline is cancelled.',
          score: 1,
          source: 'errors.md',
          position: 0,
          metadata: { title: 'Errors', heading: 'Errors' },
        },
      ],
      note: 'Collection "docs" has no vectors: searched by words only.',
    })
    expect((await search('weather', { ...inDocs, tenant: 'other' })).results).toMatchObject([
      { source: 'tools/weather.md' },
    ])
    expect(await collections.list('acme')).toMatchObject([
      { tenant: '(toolyard)', name: 'docs', documents: 2, chunks: 2 },
    ])
    // A search opens no embedder while there are no vectors.
    expect(embedder.requests).toEqual([])
  })

  test("are replaced by a tenant's own docs for that tenant only", async () => {
    const { search, ingest, collections } = await givenCollections({ docs })
    await ingest('One stone.', { ...inDocs, document_id: 'a', part: 1, parts: 2 })
    expect((await search('deadline', inDocs)).results).toHaveLength(1)
    await ingest('Two stones.', { ...inDocs, document_id: 'a', part: 2, parts: 2 })
    expect((await search('deadline', inDocs)).results).toEqual([])
    expect((await search('stone', inDocs)).results).toHaveLength(2)
    expect(await collections.list('acme')).toMatchObject([{ tenant: 'acme', name: 'docs' }])
    expect((await search('deadline', { ...inDocs, tenant: 'other' })).results).toHaveLength(1)
  })

  test('are replaced as a whole if a page changes', async () => {
    const store = await givenStore()
    const before = await givenCollections({ docs, store })
    await before.collections.putOwnDocs()
    await page('errors.md', '# Errors\n\nA tool that is late is stopped.')
    await rm(join(folder, 'tools/weather.md'))
    expect((await before.search('weather', inDocs)).results).toHaveLength(1)
    const after = await givenCollections({ docs, store })
    expect((await after.search('weather', inDocs)).results).toEqual([])
    expect((await after.search('stopped', inDocs)).results).toHaveLength(1)
  })

  test('are embedded with the current embedder', async () => {
    const store = await givenStore()
    const first = await givenCollections({ docs, store })
    expect(await first.collections.embedOwnDocs()).toBe(2)
    expect(await first.collections.embedOwnDocs()).toBe(0)
    expect(await first.search('deadline', inDocs)).toMatchObject({ by: 'hybrid', results: [{ source: 'errors.md' }] })
    const other = await givenCollections({ docs, store, embedder: wordEmbedder({ id: 'other:model', dimensions: 8 }) })
    expect(await other.collections.embedOwnDocs()).toBe(2)
    expect(await other.collections.list('acme')).toMatchObject([
      { embedder: 'other:model', chunks: 2, without_vector: 0 },
    ])
    const none = await givenCollections({ docs, store, embedder: undefined })
    expect(await none.collections.embedOwnDocs()).toBe(0)
  })

  test('cause an error without a path if unreadable, and are read again', async () => {
    const late = join(folder, 'late')
    const { search } = await givenCollections({ docs: pathToFileURL(`${late}/`) })
    await expect(search('weather', inDocs)).rejects.toThrow(
      /^The documents cannot be read \(ENOENT\): check that their folder exists$/,
    )
    await mkdir(late)
    await page('late/weather.md', '# Weather\n\nSunny.')
    expect((await search('weather', inDocs)).results).toHaveLength(1)
  })

  test('are stored again if the collection was dropped', async () => {
    const { search, store } = await givenCollections({ docs })
    await search('weather', inDocs)
    await store.drop('(toolyard)', 'docs')
    expect((await search('weather', inDocs)).results).toHaveLength(1)
  })
})
