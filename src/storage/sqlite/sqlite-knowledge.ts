import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { DocumentPart, KnowledgeChunk, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import type { Quota, StoredUsage } from '../../core/storage/quota.ts'
import { errorTraits, ToolExecutionError } from '../../core/tool-result.ts'
import {
  bytesOf,
  checkPart,
  checkPartQuota,
  checkVectorOf,
  toCollection,
  type VersionRow,
} from '../knowledge/checks.ts'
import { searchWords } from '../knowledge/search-words.ts'
import { USAGE } from '../sql/database.ts'
import { SqliteCollections } from './sqlite-collections.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { SqliteSearch } from './sqlite-search.ts'
import { SqliteChunkVectors, SqliteCleaner, SqliteKnownVectors } from './sqlite-vectors.ts'
import { insertWords } from './words-table.ts'

export interface SqliteKnowledge extends KnowledgeStore {
  /** Continues a removal that another process began. */
  clean(): void
  /** Finishes pending writes first. */
  close(): void
}

export function sqliteKnowledge(
  database: SqliteDatabase,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): SqliteKnowledge {
  const collections = new SqliteCollections(database)
  const vectors = new SqliteChunkVectors(database, collections)
  const cleaner = new SqliteCleaner(database, vectors, log)
  const writes = new GroupedWrites(database)
  const documents = new SqliteDocuments(database, { collections, vectors, cleaner, writes, clock })
  const known = new SqliteKnownVectors(database)
  const search = new SqliteSearch(database)
  cleaner.resume()
  return {
    clean: () => cleaner.resume(),
    close() {
      writes.close()
      cleaner.close()
    },
    collections: async (tenant) => collections.list(tenant).map(toCollection),
    async collection(tenant, name) {
      const row = collections.find(tenant, name)
      return row && toCollection(row)
    },
    open: async (...asked) => toCollection(collections.open(...asked)),
    put: (part, quota) => documents.put(part, quota),
    document: async (...asked) => documents.find(...asked),
    staged: async (...asked) => documents.staged(...asked),
    remove: async (...asked) => documents.remove(...asked),
    drop: async (tenant, collection) =>
      database.write(() => {
        const dropped = collections.drop(tenant, collection)
        if (dropped) cleaner.begin()
        return dropped
      }),
    byText: async (query) => search.byText(query),
    byVector: async (query) => search.byVector(query),
    withoutVector: async (...asked) => vectors.waiting(...asked),
    setVectors: async (...asked) => vectors.set(...asked),
    knownVectors: async (...asked) => known.get(...asked),
    keepVectors: async (...asked) => known.keep(...asked),
    sweep: async (beforeMs) => documents.sweep(beforeMs),
  }
}

const SELECT = 'SELECT id, version, parts, parts_in, chunks, vectors, bytes FROM knowledge_versions WHERE'

const NEWEST_STAGED = `
  SELECT version, parts FROM knowledge_versions
  WHERE collection = ? AND document = ? AND state = 'staged' AND substr(version, 1, length(?)) = ? AND id > coalesce((
    SELECT id FROM knowledge_versions WHERE collection = ? AND document = ? AND state = 'visible'), 0)
  ORDER BY id DESC LIMIT 1`

const USAGE_SQL = USAGE.replaceAll('toolyard.', '')

/** A chunk with its indexed words. */
interface IndexedChunk extends KnowledgeChunk {
  readonly headingWords: string
  readonly textWords: string
}

/** Documents and their versions. A version is staged until it is complete, then visible, then gone. */
class SqliteDocuments {
  readonly #database: SqliteDatabase
  readonly #collections: SqliteCollections
  readonly #vectors: SqliteChunkVectors
  readonly #cleaner: SqliteCleaner
  readonly #writes: GroupedWrites
  readonly #clock: Clock

  constructor(
    database: SqliteDatabase,
    parts: {
      readonly collections: SqliteCollections
      readonly vectors: SqliteChunkVectors
      readonly cleaner: SqliteCleaner
      readonly writes: GroupedWrites
      readonly clock: Clock
    },
  ) {
    this.#database = database
    this.#collections = parts.collections
    this.#vectors = parts.vectors
    this.#cleaner = parts.cleaner
    this.#writes = parts.writes
    this.#clock = parts.clock
  }

  async put(given: DocumentPart, quota?: Quota): Promise<{ readonly complete: boolean; readonly chunks: number }> {
    const part = checkPart(given)
    // Outside the transaction, to keep it short.
    const chunks = part.chunks.map((chunk) => ({
      ...chunk,
      headingWords: searchWords(chunk.heading).join(' '),
      textWords: searchWords(chunk.text).join(' '),
    }))
    return this.#writes.write(chunks.length, () => {
      const collection = this.#collections.get(part.tenant, part.collection)
      for (const { vector } of chunks) if (vector !== undefined) checkVectorOf(collection, vector)
      const visible = this.#visible(collection.id, part.document_id)
      if (visible?.version === part.version) return { complete: true, chunks: visible.chunks }
      if (quota !== undefined) checkPartQuota(part, quota, this.#usage(part.tenant), visible === undefined)
      const staged = this.#add(collection.id, this.#staged(collection.id, part), part, chunks)
      const complete = staged.parts_in === staged.parts
      if (complete) this.#show(collection.id, staged, visible)
      return { complete, chunks: staged.chunks }
    })
  }

  find(
    tenant: string,
    name: string,
    document: string,
  ): { readonly version: string; readonly chunks: number } | undefined {
    const collection = this.#collections.find(tenant, name)
    const row = collection && this.#visible(collection.id, document)
    return row && { version: row.version, chunks: row.chunks }
  }

  staged(
    tenant: string,
    name: string,
    document: string,
    prefix: string,
  ): { readonly version: string; readonly parts: number } | undefined {
    const id = this.#collections.find(tenant, name)?.id
    if (id === undefined) return undefined
    const row = this.#database.get<VersionRow>(NEWEST_STAGED, id, document, prefix, prefix, id, document)
    return row && { version: row.version, parts: row.parts }
  }

  remove(tenant: string, name: string, document: string): boolean {
    return this.#database.write(() => {
      const collection = this.#collections.find(tenant, name)
      const visible = collection && this.#visible(collection.id, document)
      if (collection === undefined || visible === undefined) return false
      this.#hide(collection.id, visible)
      this.#cleaner.begin()
      return true
    })
  }

  sweep(before: number): number {
    return this.#database.write(() => {
      const swept = this.#database.all<{ parts_in: number; collection: number; bytes: number }>(
        `UPDATE knowledge_versions SET state = 'gone'
         WHERE state <> 'visible' AND state = 'staged' AND put_at < ?
           AND collection IN (SELECT id FROM knowledge_collections WHERE gone = 0)
         RETURNING parts_in, collection, bytes`,
        before,
      )
      for (const { collection, bytes } of swept) this.#shrink(collection, bytes)
      this.#cleaner.begin()
      return swept.reduce((sum, { parts_in }) => sum + parts_in, 0)
    })
  }

  #visible(collection: number, document: string): VersionRow | undefined {
    const sql = [SELECT, "collection = ? AND document = ? AND state = 'visible'"].join(' ')
    return this.#database.get<VersionRow>(sql, collection, document)
  }

  /** A staged version with another number of parts is replaced. */
  #staged(collection: number, { document_id, version, parts }: DocumentPart): VersionRow {
    const sql = [SELECT, "collection = ? AND document = ? AND version = ? AND state = 'staged'"].join(' ')
    const staged = this.#database.get<VersionRow>(sql, collection, document_id, version)
    if (staged?.parts === parts) return staged
    if (staged !== undefined) {
      this.#markGone(staged.id)
      this.#shrink(collection, staged.bytes)
    }
    return this.#database.get<VersionRow>(
      `INSERT INTO knowledge_versions (collection, document, version, state, parts, put_at)
       VALUES (?, ?, ?, 'staged', ?, ?) RETURNING id, version, parts, parts_in, chunks, vectors, bytes`,
      collection,
      document_id,
      version,
      parts,
      this.#clock.wall(),
    ) as VersionRow
  }

  /** Adds a part unless it is stored already, and returns the version. */
  #add(collection: number, staged: VersionRow, part: DocumentPart, chunks: readonly IndexedChunk[]): VersionRow {
    const metadata = JSON.stringify(part.metadata)
    const row = this.#database.get<{ id: number }>(
      `INSERT INTO knowledge_parts (version, part, source, metadata) VALUES (?, ?, ?, ?)
       ON CONFLICT (version, part) DO NOTHING RETURNING id`,
      staged.id,
      part.part,
      part.source,
      metadata,
    )
    if (row === undefined) return staged
    this.#database.run(
      'INSERT INTO knowledge_labels (collection, key, value, part) SELECT ?, key, value, ? FROM json_each(?)',
      collection,
      row.id,
      metadata,
    )
    for (const chunk of chunks) this.#addChunk(collection, row.id, chunk)
    const bytes = bytesOf(part)
    this.#shrink(collection, -bytes)
    return this.#database.get<VersionRow>(
      `UPDATE knowledge_versions SET parts_in = parts_in + 1, chunks = chunks + ?, vectors = vectors + ?,
         bytes = bytes + ?, put_at = ?
       WHERE id = ? RETURNING id, version, parts, parts_in, chunks, vectors, bytes`,
      chunks.length,
      chunks.filter(({ vector }) => vector !== undefined).length,
      bytes,
      this.#clock.wall(),
      staged.id,
    ) as VersionRow
  }

  #addChunk(collection: number, part: number, chunk: IndexedChunk): void {
    const { position, start, end, heading, text, vector, headingWords, textWords } = chunk
    const insert = this.#database.statement(
      `INSERT INTO knowledge_chunks (part, position, start_at, end_at, heading, text) VALUES (?, ?, ?, ?, ?, ?)`,
    )
    const id = Number(insert.run(part, position, start, end, heading, text).lastInsertRowid)
    this.#database.statement(insertWords(collection)).run(id, headingWords, textWords)
    this.#vectors.add(collection, id, vector)
  }

  #show(collection: number, staged: VersionRow, before: VersionRow | undefined): void {
    if (before !== undefined) this.#hide(collection, before)
    this.#database.run("UPDATE knowledge_versions SET state = 'visible' WHERE id = ?", staged.id)
    this.#collections.grow(collection, { documents: 1, chunks: staged.chunks, vectors: staged.vectors, bytes: 0 })
    this.#cleaner.begin()
  }

  #hide(collection: number, { id, chunks, vectors, bytes }: VersionRow): void {
    this.#markGone(id)
    this.#collections.grow(collection, { documents: -1, chunks: -chunks, vectors: -vectors, bytes: -bytes })
  }

  #shrink(collection: number, bytes: number): void {
    this.#collections.grow(collection, { documents: 0, chunks: 0, vectors: 0, bytes: -bytes })
  }

  #usage(tenant: string): StoredUsage {
    return this.#database.get<StoredUsage>(USAGE_SQL, tenant, tenant, tenant, tenant, tenant) as StoredUsage
  }

  #markGone(id: number): void {
    this.#database.run("UPDATE knowledge_versions SET state = 'gone' WHERE id = ?", id)
  }
}

/** One transaction takes about 50 ms, so that others do not wait long. */
const BATCH_LIMIT = 400

interface Waiting {
  /** Writes, and returns a function that resolves the caller's promise. */
  readonly work: () => () => void
  readonly size: number
  readonly reject: (error: unknown) => void
}

/** Combines the writes of one turn in one transaction: syncing takes as long for one as for many. */
export class GroupedWrites {
  readonly #database: SqliteDatabase
  #waiting: Waiting[] = []
  #next: NodeJS.Immediate | undefined

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  /** `size` is the number of rows. If `work` throws, nothing of it is written. */
  write<T>(size: number, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const andSay = () => {
        const value = work()
        return () => resolve(value)
      }
      this.#waiting.push({ work: andSay, size, reject })
      this.#next ??= setImmediate(() => this.#flush())
    })
  }

  close(): void {
    while (this.#waiting.length > 0) this.#flush()
    clearImmediate(this.#next)
  }

  #flush(): void {
    const group = this.#group()
    this.#next = this.#waiting.length > 0 ? setImmediate(() => this.#flush()) : undefined
    try {
      const said = this.#database.write(() => group.map((each) => this.#one(each)))
      for (const say of said) say()
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  /** An error of one caller does not fail the others; an error of the file does. */
  #one({ work, reject }: Waiting): () => void {
    this.#database.exec('SAVEPOINT one')
    try {
      const say = work()
      this.#database.exec('RELEASE one')
      return say
    } catch (error) {
      if (!(error instanceof ToolExecutionError && errorTraits(error.code).ofCaller)) throw error
      this.#database.exec('ROLLBACK TO one')
      this.#database.exec('RELEASE one')
      return () => reject(error)
    }
  }

  #group(): readonly Waiting[] {
    let size = 0
    const end = this.#waiting.findIndex((each, index) => {
      size += each.size
      return index > 0 && size > BATCH_LIMIT
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }
}
