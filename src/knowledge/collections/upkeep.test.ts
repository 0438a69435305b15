import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { captureLog, ManualClock, wordEmbedder } from '../../testing/stand-ins.ts'
import { givenCollections, givenStore } from './fixtures/given-collections.ts'
import { Upkeep } from './upkeep.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'upkeep-'))
  for (let page = 0; page < 40; page++) await writeFile(join(folder, `${page}.md`), `# Page ${page}\n\nA stone.`)
})
afterEach(() => rm(folder, { recursive: true }))

async function given(more: object = {}) {
  const clock = new ManualClock()
  const docs = pathToFileURL(`${folder}/`)
  const collections = await givenCollections({ docs, clock, ...more })
  const log = captureLog()
  const upkeep = new Upkeep({ collections: () => collections.collections, clock, log })
  onTestFinished(() => upkeep.end())
  return { ...collections, clock, log, upkeep }
}

test('stores the docs at once, and embeds them 10 s later in batches', async () => {
  const { store, clock, embedder, upkeep } = await given()
  await vi.waitFor(async () => expect(await store.collection('(toolyard)', 'docs')).toMatchObject({ chunks: 40 }))
  clock.advance(9_999)
  await new Promise((resolve) => setImmediate(resolve))
  expect(embedder.requests).toEqual([])
  clock.advance(1)
  await vi.waitFor(async () => {
    // The clock ends the pause after each batch.
    clock.advance(1)
    expect(await store.collection('(toolyard)', 'docs')).toMatchObject({
      without_vector: 0,
      embedder: 'stand-in:words',
    })
  })
  expect(embedder.requests.map((texts) => texts.length)).toEqual([16, 16, 8])
  await upkeep.end()
})

test('starts nothing after the end, and stops running work', async () => {
  let asked = 0
  const embedder = wordEmbedder({ before: () => void asked++ })
  const { clock, upkeep, log } = await given({ embedder })
  clock.advance(10_000)
  await vi.waitFor(() => expect(asked).toBe(1))
  await upkeep.end()
  clock.advance(10_000_000)
  await new Promise((resolve) => setImmediate(resolve))
  expect(asked).toBe(1)
  expect(log.lines).toEqual([])
})

test('removes parts of incomplete documents after a day, checking every hour', async () => {
  const store = await givenStore()
  const sweep = vi.spyOn(store, 'sweep')
  const { clock } = await given({ store, embedder: undefined })
  await vi.waitFor(() => expect(sweep).toHaveBeenCalledOnce())
  expect(sweep).toHaveBeenCalledWith(clock.wall() - 86_400_000)
  clock.advance(3_600_000)
  await vi.waitFor(() => expect(sweep).toHaveBeenCalledTimes(2))
})

test('logs a failure once and continues', async () => {
  const embedder = wordEmbedder({
    before: () => {
      throw new Error('down')
    },
  })
  const { clock, log, store } = await given({ embedder })
  clock.advance(10_000)
  await vi.waitFor(() => expect(log.lines).toHaveLength(1))
  expect(log.lines[0]).toMatchObject({ level: 'warn' })
  expect(await store.collection('(toolyard)', 'docs')).toMatchObject({ chunks: 40 })
  clock.advance(100_000)
  await new Promise((resolve) => setImmediate(resolve))
  expect(log.lines).toHaveLength(1)
})

test('a reload ends the embedding without a warning, and another one embeds the rest', async () => {
  let isClosed = false
  let asked = 0
  const waiting = Promise.withResolvers<void>()
  const embedder = wordEmbedder({
    before: async () => {
      asked++
      if (asked > 1) return
      await waiting.promise
      if (isClosed) throw new Error('it is closed')
    },
  })
  const { clock, upkeep, log, store } = await given({ embedder })
  clock.advance(10_000)
  await vi.waitFor(() => expect(asked).toBe(1))
  upkeep.again()
  isClosed = true
  waiting.resolve()
  clock.advance(10_000)
  await vi.waitFor(async () => {
    clock.advance(1)
    expect(await store.collection('(toolyard)', 'docs')).toMatchObject({ without_vector: 0 })
  })
  expect(log.lines).toEqual([])
})
