import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Model, ToolHandlers } from 'toolyard'
import { type GivenTurn, ManualClock, scripted, wordEmbedder } from 'toolyard/testing'
import { systemClock } from '../src/core/clock.ts'
import { silentLog } from '../src/core/log.ts'
import type { KnowledgeStore } from '../src/core/storage/knowledge-store.ts'
import { addKnowledgeHandlers, registerModelTools } from '../src/knowledge/tools/register-knowledge-tools.ts'
import { openStorage } from '../src/storage/open-storage.ts'
import { PostgresKnowledge } from '../src/storage/postgres/knowledge/postgres-knowledge.ts'
import { migrate } from '../src/storage/postgres/migrate.ts'
import { PostgresDatabase } from '../src/storage/postgres/postgres-database.ts'
import { startDatabases } from '../test/postgres/databases.ts'
import { startPgvector } from '../test/setup/start-pgvector.ts'
import { configured } from './yard.ts'

/** A yard without a single configured tool, over a model that gives these replies, one a question. */
export const replying = (...replies: readonly GivenTurn[]) => knowledgeYard(scripted(...replies))

/** A yard without a single configured tool, over this model. */
export async function knowledgeYard<Asked extends Model>(model: Asked) {
  const handlers = new ToolHandlers()
  const yard = await configured([], { handlers })
  const clock = new ManualClock()
  const parts = { model: async () => model, clock }
  const collections = yard.manager.getCollections()
  addKnowledgeHandlers(handlers, collections, parts)
  registerModelTools(yard.registry, parts)
  return { ...yard, model, clock }
}

/** A store for collections, and the way to let go of it. */
export interface StoreOfYard {
  readonly knowledge: KnowledgeStore
  close(): Promise<void>
}

/** `vectors`: whether it keeps them. */
export interface StorageOfYard {
  readonly name: string
  readonly vectors: boolean
  open(): Promise<StoreOfYard>
}

/** The storages that scenarios of collections are shown on. */
export const STORAGES: readonly StorageOfYard[] = [
  { name: 'SQLite', vectors: true, open: openSqlite },
  { name: 'PostgreSQL with pgvector', vectors: true, open: openPgvector },
  { name: 'PostgreSQL without pgvector', vectors: false, open: openPostgres },
]

async function openSqlite(): Promise<StoreOfYard> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-spec-'))
  const storage = await openStorage({ folder, instance: 'spec', keepDays: 7 }, { log: silentLog })
  const close = async () => {
    await storage.close()
    await rm(folder, { recursive: true })
  }
  return { knowledge: storage.knowledge, close }
}

/** PGlite, which takes one connection at a time, where no other is named. */
async function openPgvector(): Promise<StoreOfYard> {
  const real = process.env.TOOLYARD_TEST_PGVECTOR_URL
  const { url, stop } = real === undefined ? await startPgvector() : { url: real, stop: async () => {} }
  const database = await PostgresDatabase.open(url, real === undefined ? 1 : 4)
  const { vectors } = await migrate(database)
  const knowledge = new PostgresKnowledge(database, { vectors, clock: systemClock, log: silentLog })
  const close = async () => {
    await knowledge.close()
    await database.close()
    await stop()
  }
  return { knowledge, close }
}

async function openPostgres(): Promise<StoreOfYard> {
  const databases = await startDatabases()
  const { knowledge } = await databases.open()
  return { knowledge, close: () => databases.stop() }
}

const SEARCH = {
  name: 'search_documents',
  description: 'Searches the documents',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string' }, collection: { type: 'string' }, max_results: { type: 'integer' } },
    required: ['query'],
  },
  implementation: { type: 'internal', handler: 'rag_query' },
  timeout_ms: 60_000,
}

/** A yard whose collections are in this store, for a tenant that has nothing in it yet; `batch`: texts embedded at once. */
export async function collectionYard(knowledge: KnowledgeStore, batch = 16) {
  const embedder = wordEmbedder({ batch })
  const config = { responses: [{ llm: 'mini', model: 'v0', prompt: '' }] }
  const around = { config, handlers: new ToolHandlers(), knowledge: async () => knowledge, embedder }
  const yard = await configured([SEARCH, 'ingest_docs'], around)
  const tenant = `spec-${crypto.randomUUID()}`
  const reports: unknown[] = []
  const report = (progress: unknown) => void reports.push(progress)
  const execute = async (name: string, params: object) => yard.execute(name, params, { tenant, report })
  const find = async (query: string, more: object = {}) => {
    const found = (await execute('search_documents', { query, ...more })) as { result: { results: Found[] } }
    return found.result.results
  }
  const texts = async (query: string) => (await find(query)).map(({ text }) => text).toSorted()
  return { ...yard, execute, find, texts, embedder, reports, tenant }
}

export interface Found {
  readonly text: string
  readonly score: number
  readonly source: string
  readonly position: number
  readonly metadata: Readonly<Record<string, string>>
}
