import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { silentLog } from '../core/log.ts'
import { chunk, EMBEDDER, unit, whole } from './fixtures/given-knowledge.ts'
import { openStorage } from './open-storage.ts'
import type { Storage } from './sql/engine.ts'

let folder: string
let workers: Worker[]
let storage: Storage
const keepWorker = (worker: Worker) => workers.push(worker)
const query = { tenant: 'acme', collection: 'docs', most: 5, text: 'stone' }

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'open-storage-search-'))
  workers = []
  process.on('worker', keepWorker)
  storage = await openStorage({ folder, instance: 'one', keepDays: 7 }, { log: silentLog })
  await storage.knowledge.open('acme', 'docs', EMBEDDER)
  const chunks = [chunk(0, 'stone', { vector: unit(1, 0, 0, 0) })]
  await storage.knowledge.put(whole('a', [], { chunks }))
})

afterEach(async () => {
  process.off('worker', keepWorker)
  await storage.close()
  rmSync(folder, { recursive: true })
})

describe('the thread of searches', () => {
  it('is started with the first search, and ends with the store', async () => {
    expect(workers.length).toBe(1)
    expect((await storage.knowledge.byText(query)).length).toBe(1)
    const piece = Float32Array.of(7, 1, 0, 0, 0, 7).subarray(1, 5)
    expect((await storage.knowledge.byVector({ ...query, vector: piece })).length).toBe(1)
    expect(workers.length).toBe(2)
    const exits = workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve)))
    await storage.close()
    await Promise.all(exits)
    expect(readdirSync(folder).toSorted()).toEqual(['audit.key', 'toolyard.db', 'toolyard.reserve'])
    await expect(storage.knowledge.byText(query)).rejects.toMatchObject({ message: 'The store is closed' })
    expect(workers.length).toBe(2)
  })

  it('is not started by a search in a store that is closed', async () => {
    await storage.close()
    await expect(storage.knowledge.byText(query)).rejects.toMatchObject({ message: 'The store is closed' })
    expect(workers.length).toBe(1)
  })

  it('is started again when it ends, and holds up nothing else meanwhile', async () => {
    await storage.knowledge.byText(query)
    await workers[1]?.terminate()
    await storage.keys.list()
    const search = () => storage.knowledge.byText(query)
    expect((await vi.waitFor(search)).length).toBe(1)
    expect(workers.length).toBe(3)
  })

  it('finds acknowledged data', async () => {
    for (let version = 2; version < 30; version++) {
      await storage.knowledge.put(whole('a', [`stone ${version}`], { version: `${version}` }))
      const texts = (await storage.knowledge.byText(query)).map(({ text }) => text)
      expect(texts).toEqual([`stone ${version}`])
    }
  })

  it('lets writes pass that come after a search', async () => {
    for (let part = 0; part < 4; part++) {
      const chunks = Array.from({ length: 1_000 }, (_, index) => chunk(index, `stone bread salt ${index}`))
      await storage.knowledge.put(whole(`many ${part}`, [], { chunks }))
    }
    await storage.knowledge.byText(query)
    const done: string[] = []
    const searches = Array.from({ length: 30 }, async () => {
      await storage.knowledge.byText({ ...query, text: 'stone bread salt' })
      done.push('search')
    })
    await storage.settings.put({ kind: 'tenant', name: 'acme', value: 1 })
    done.push('write')
    await Promise.all(searches)
    expect(done.at(-1)).toBe('search')
  })

  it('rejects an invalid vector', async () => {
    const vector = [1, 0, 0, 0] as unknown as Float32Array
    await expect(storage.knowledge.byVector({ ...query, vector })).rejects.toMatchObject({ code: 'INVALID_PARAMETERS' })
  })
})
