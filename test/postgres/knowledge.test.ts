import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import type { KnowledgeStore } from '../../src/core/storage/knowledge-store.ts'
import { EMBEDDER, textsOf, unit, whole } from '../../src/storage/fixtures/given-knowledge.ts'
import { openStorage } from '../../src/storage/fixtures/open-storage-thread.ts'
import { PostgresDatabase } from '../../src/storage/postgres/postgres-database.ts'
import { migrate } from '../../src/storage/postgres/postgres-engine.ts'
import { type PostgresKnowledge, postgresKnowledge } from '../../src/storage/postgres/postgres-knowledge.ts'
import { PostgresKnownVectors } from '../../src/storage/postgres/postgres-vectors.ts'
import { shareKnowledge } from '../contracts/knowledge/share-knowledge.ts'
import { knowledgeContract } from '../contracts/knowledge-contract.ts'
import { FULL, someOf } from '../setup/full.ts'
import { startPgvector } from '../setup/start-pgvector.ts'
import { ask, type Databases, startDatabases } from './databases.ts'

const REAL = process.env.TOOLYARD_TEST_PGVECTOR_URL

describe('the contract of knowledge: PostgreSQL without pgvector', () => {
  let databases: Databases
  beforeAll(async () => {
    databases = await startDatabases()
  })
  afterAll(() => databases.stop())
  const urls = new Map<string, Promise<string>>()
  const contract = knowledgeContract({
    vectors: false,
    open: async ({ store, ...options }) => {
      const url = urls.get(store) ?? databases.create()
      urls.set(store, url)
      return databases.open({ ...options, url: await url })
    },
  })
  for (const { name, run } of someOf(contract, 8)) test(name, run)

  test.runIf(FULL)('a collection that is dropped leaves no row, whoever goes on with it', async () => {
    const url = await databases.create()
    const [one, other] = [await databases.open({ url }), await databases.open({ url })]
    const left = async () => {
      const rows = await ask<{ count: string }>(
        url,
        `SELECT (SELECT count(*) FROM toolyard.knowledge_collections) + (SELECT count(*) FROM toolyard.knowledge_versions)
           + (SELECT count(*) FROM toolyard.knowledge_parts) + (SELECT count(*) FROM toolyard.knowledge_chunks)
           + (SELECT count(*) FROM toolyard.knowledge_waiting) AS count`,
      )
      return Number(rows[0]?.count)
    }
    const fill = async () => {
      await one.knowledge.open('acme', 'docs', null)
      for (let index = 0; index < 250; index++) await one.knowledge.put(whole(`d${index}`, ['stone']))
    }
    await fill()
    expect(await left()).toBe(1_001)
    await one.knowledge.drop('acme', 'docs')
    await vi.waitFor(async () => expect(await left()).toBe(0))
    await fill()
    await ask(url, 'UPDATE toolyard.knowledge_collections SET gone = true')
    const knowledge = other.knowledge as PostgresKnowledge
    knowledge.clean()
    await vi.waitFor(async () => expect(await left()).toBe(0))
  })

  test('of known vectors the oldest go', async () => {
    const url = await databases.create()
    await databases.open({ url })
    const database = await PostgresDatabase.open(url, 2)
    onTestFinished(() => database.close())
    const known = new PostgresKnownVectors(database, 3)
    for (const hash of ['a', 'b', 'c', 'd', 'e']) await known.keep('m', [{ hash, vector: unit(1, 0) }])
    expect([...(await known.get('m', ['a', 'b', 'c', 'd', 'e'])).keys()].toSorted()).toEqual(['c', 'd', 'e'])
  })

  test('many who keep the same vectors at once do not stand in each other’s way', async () => {
    const url = await databases.create()
    const both = [await databases.open({ url }), await databases.open({ url })]
    const vectors = Array.from({ length: 200 }, (_, index) => ({ hash: `h${index}`, vector: unit(1, index) }))
    const orders = [vectors, vectors.toReversed(), vectors, vectors.toReversed()]
    await Promise.all(orders.map((order, index) => both[index % 2]?.knowledge.keepVectors('m', order)))
    const hashes = vectors.map(({ hash }) => hash)
    expect((await both[0]?.knowledge.knownVectors('m', hashes))?.size).toBe(200)
  })

  test('it works in a thread of its own', async () => {
    const options = { folder: '', url: await databases.create(), keepDays: 7, instance: 'one' }
    const storage = await openStorage(options, { log: silentLog })
    onTestFinished(() => storage.close())
    await storage.knowledge.open('acme', 'docs', EMBEDDER)
    await storage.knowledge.put(whole('a', ['stone']))
    expect(await textsOf(storage.knowledge, 'stone')).toEqual(['stone'])
  })
})

describe(`the contract of knowledge: PostgreSQL with pgvector (${REAL === undefined ? 'PGlite' : 'a real one'})`, () => {
  const ways: KnowledgeStore[] = []
  const ends: (() => Promise<void>)[] = []
  beforeAll(async () => {
    const { url, stop } = REAL === undefined ? await startPgvector() : { url: REAL, stop: async () => {} }
    // Concurrent writers queue for the one connection of PGlite, longer on a slow machine than a server waits.
    const database = await PostgresDatabase.open(url, REAL === undefined ? 1 : 8, 60_000)
    const { vectors } = await migrate(database)
    expect(vectors).toBe(true)
    for (const _ of ['one', 'other']) {
      const knowledge = postgresKnowledge(database, { vectors, clock: systemClock, log: silentLog })
      ways.push(knowledge)
      ends.push(() => knowledge.close())
    }
    ends.push(() => database.close(), stop)
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })
  const contract = knowledgeContract({ vectors: true, open: shareKnowledge(() => ways) })
  // The last clause puts thousands of vectors.
  for (const { name, run } of someOf(contract.slice(0, FULL ? undefined : -1), 8)) test(name, run, 300_000)
})
