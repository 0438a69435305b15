import type { Clock } from '../../../core/clock.ts'
import { type Log, writeLog } from '../../../core/log.ts'
import type {
  ChunkWithoutVector,
  Collection,
  DocumentPart,
  KnowledgeHit,
  KnowledgeStore,
} from '../../../core/storage/knowledge-store.ts'
import { toCollection } from '../../knowledge/collection-row.ts'
import type { PostgresDatabase } from '../postgres-database.ts'
import { PostgresChunkVectors } from './postgres-chunk-vectors.ts'
import { PostgresCollections } from './postgres-collections.ts'
import { PostgresDocuments } from './postgres-documents.ts'
import { PostgresKnownVectors } from './postgres-known-vectors.ts'
import { PostgresSearch } from './postgres-search.ts'

interface Around {
  /** Whether pgvector is there. */
  readonly vectors: boolean
  readonly clock: Clock
  readonly log: Log
}

export class PostgresKnowledge implements KnowledgeStore {
  readonly #collections: PostgresCollections
  readonly #documents: PostgresDocuments
  readonly #vectors: PostgresChunkVectors
  readonly #known: PostgresKnownVectors
  readonly #search: PostgresSearch
  readonly #log: Log
  #cleaning: Promise<void> | undefined
  #closed = false

  constructor(database: PostgresDatabase, { vectors, clock, log }: Around) {
    this.#collections = new PostgresCollections(database, vectors)
    this.#vectors = new PostgresChunkVectors(database, this.#collections)
    this.#documents = new PostgresDocuments(database, {
      collections: this.#collections,
      vectors: this.#vectors,
      clock,
    })
    this.#known = new PostgresKnownVectors(database)
    this.#search = new PostgresSearch(database, this.#collections)
    this.#log = log
  }

  /** Removes what collections that are gone have left, whoever dropped them. */
  clean(): void {
    this.#cleaning ??= this.#clean()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#cleaning
  }

  async collections(tenant: string): Promise<Collection[]> {
    return (await this.#collections.list(tenant)).map(toCollection)
  }

  async collection(tenant: string, name: string): Promise<Collection | undefined> {
    const row = await this.#collections.find(tenant, name)
    return row && toCollection(row)
  }

  async open(...asked: Parameters<KnowledgeStore['open']>): Promise<Collection> {
    return toCollection(await this.#collections.open(...asked))
  }

  async put(part: DocumentPart): Promise<{ readonly complete: boolean; readonly chunks: number }> {
    return this.#documents.put(part)
  }

  document(...asked: Parameters<KnowledgeStore['document']>): ReturnType<KnowledgeStore['document']> {
    return this.#documents.find(...asked)
  }

  remove(...asked: Parameters<KnowledgeStore['remove']>): Promise<boolean> {
    return this.#documents.remove(...asked)
  }

  async drop(tenant: string, collection: string): Promise<boolean> {
    const dropped = await this.#collections.drop(tenant, collection)
    if (dropped) this.clean()
    return dropped
  }

  byText(query: Parameters<KnowledgeStore['byText']>[0]): Promise<KnowledgeHit[]> {
    return this.#search.byText(query)
  }

  byVector(query: Parameters<KnowledgeStore['byVector']>[0]): Promise<KnowledgeHit[]> {
    return this.#search.byVector(query)
  }

  withoutVector(tenant: string, collection: string, most: number): Promise<ChunkWithoutVector[]> {
    return this.#vectors.waiting(tenant, collection, most)
  }

  setVectors(...asked: Parameters<KnowledgeStore['setVectors']>): Promise<void> {
    return this.#vectors.set(...asked)
  }

  knownVectors(embedder: string, hashes: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    return this.#known.get(embedder, hashes)
  }

  keepVectors(...asked: Parameters<KnowledgeStore['keepVectors']>): Promise<void> {
    return this.#known.keep(...asked)
  }

  sweep(beforeMs: number): Promise<number> {
    return this.#documents.sweep(beforeMs)
  }

  async #clean(): Promise<void> {
    try {
      while (!this.#closed && (await this.#documents.clean()));
    } catch (err) {
      writeLog(this.#log, 'warn', { err }, 'What is gone from the collections could not be removed yet')
    }
    this.#cleaning = undefined
  }
}
