import type { Clock } from '../../../core/clock.ts'
import type { Log } from '../../../core/log.ts'
import type {
  ChunkWithoutVector,
  Collection,
  DocumentPart,
  KnowledgeHit,
  KnowledgeStore,
} from '../../../core/storage/knowledge-store.ts'
import { toCollection } from '../../knowledge/collection-row.ts'
import type { SqliteDatabase } from '../sqlite-database.ts'
import { GroupedWrites } from './grouped-writes.ts'
import { SqliteCleaner } from './sqlite-cleaner.ts'
import { SqliteCollections } from './sqlite-collections.ts'
import { SqliteDocuments } from './sqlite-documents.ts'
import { SqliteSearch } from './sqlite-search.ts'
import { SqliteChunkVectors, SqliteKnownVectors } from './sqlite-vectors.ts'

export class SqliteKnowledge implements KnowledgeStore {
  readonly #database: SqliteDatabase
  readonly #collections: SqliteCollections
  readonly #documents: SqliteDocuments
  readonly #vectors: SqliteChunkVectors
  readonly #known: SqliteKnownVectors
  readonly #search: SqliteSearch
  readonly #cleaner: SqliteCleaner
  readonly #writes: GroupedWrites

  constructor(database: SqliteDatabase, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    const collections = new SqliteCollections(database)
    const vectors = new SqliteChunkVectors(database, collections)
    const cleaner = new SqliteCleaner(database, vectors, log)
    this.#database = database
    this.#collections = collections
    this.#vectors = vectors
    this.#cleaner = cleaner
    this.#writes = new GroupedWrites(database)
    this.#documents = new SqliteDocuments(database, {
      collections,
      vectors,
      cleaner,
      writes: this.#writes,
      clock,
    })
    this.#known = new SqliteKnownVectors(database)
    this.#search = new SqliteSearch(database)
    this.clean()
  }

  /** Goes on removing what a process that ended before had left. */
  clean(): void {
    this.#cleaner.resume()
  }

  /** Writes what waits first. */
  close(): void {
    this.#writes.close()
    this.#cleaner.close()
  }

  async collections(tenant: string): Promise<Collection[]> {
    return this.#collections.list(tenant).map(toCollection)
  }

  async collection(tenant: string, name: string): Promise<Collection | undefined> {
    const row = this.#collections.find(tenant, name)
    return row && toCollection(row)
  }

  async open(...asked: Parameters<KnowledgeStore['open']>): Promise<Collection> {
    return toCollection(this.#collections.open(...asked))
  }

  put(part: DocumentPart): Promise<{ readonly complete: boolean; readonly chunks: number }> {
    return this.#documents.put(part)
  }

  async document(...asked: Parameters<KnowledgeStore['document']>): ReturnType<KnowledgeStore['document']> {
    return this.#documents.find(...asked)
  }

  async remove(...asked: Parameters<KnowledgeStore['remove']>): Promise<boolean> {
    return this.#documents.remove(...asked)
  }

  async drop(tenant: string, collection: string): Promise<boolean> {
    return this.#database.write(() => {
      const dropped = this.#collections.drop(tenant, collection)
      if (dropped) this.#cleaner.begin()
      return dropped
    })
  }

  async byText(query: Parameters<KnowledgeStore['byText']>[0]): Promise<KnowledgeHit[]> {
    return this.#search.byText(query)
  }

  async byVector(query: Parameters<KnowledgeStore['byVector']>[0]): Promise<KnowledgeHit[]> {
    return this.#search.byVector(query)
  }

  async withoutVector(tenant: string, collection: string, most: number): Promise<ChunkWithoutVector[]> {
    return this.#vectors.waiting(tenant, collection, most)
  }

  async setVectors(...asked: Parameters<KnowledgeStore['setVectors']>): Promise<void> {
    this.#vectors.set(...asked)
  }

  async knownVectors(embedder: string, hashes: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    return this.#known.get(embedder, hashes)
  }

  async keepVectors(...asked: Parameters<KnowledgeStore['keepVectors']>): Promise<void> {
    this.#known.keep(...asked)
  }

  async sweep(beforeMs: number): Promise<number> {
    return this.#documents.sweep(beforeMs)
  }
}
