import type { Clock } from '../../../core/clock.ts'
import type { DocumentPart, KnowledgeChunk } from '../../../core/storage/knowledge-store.ts'
import { checkPart, checkVectorOf } from '../../knowledge/checks.ts'
import { searchWords } from '../../knowledge/search-words.ts'
import type { SqliteDatabase } from '../sqlite-database.ts'
import type { GroupedWrites } from './grouped-writes.ts'
import type { SqliteCleaner } from './sqlite-cleaner.ts'
import type { SqliteCollections } from './sqlite-collections.ts'
import type { SqliteChunkVectors } from './sqlite-vectors.ts'
import { insertWords } from './words-table.ts'

interface VersionRow {
  readonly id: number
  readonly version: string
  readonly parts: number
  readonly parts_in: number
  readonly chunks: number
  readonly vectors: number
}

const SELECT = 'SELECT id, version, parts, parts_in, chunks, vectors FROM knowledge_versions WHERE'

/** A chunk, and its words as they are indexed. */
interface IndexedChunk extends KnowledgeChunk {
  readonly headingWords: string
  readonly textWords: string
}

/** Documents and their versions. A version is staged until it is whole, then visible, then gone. */
export class SqliteDocuments {
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

  async put(given: DocumentPart): Promise<{ readonly complete: boolean; readonly chunks: number }> {
    const part = checkPart(given)
    // Before anybody has to wait for the transaction.
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
      const swept = this.#database.all<{ parts_in: number }>(
        `UPDATE knowledge_versions SET state = 'gone'
         WHERE state <> 'visible' AND state = 'staged' AND put_at < ?
           AND collection IN (SELECT id FROM knowledge_collections WHERE gone = 0) RETURNING parts_in`,
        before,
      )
      this.#cleaner.begin()
      return swept.reduce((sum, { parts_in }) => sum + parts_in, 0)
    })
  }

  #visible(collection: number, document: string): VersionRow | undefined {
    const sql = [SELECT, "collection = ? AND document = ? AND state = 'visible'"].join(' ')
    return this.#database.get<VersionRow>(sql, collection, document)
  }

  /** One that was to have another number of parts is not the same: it is begun anew. */
  #staged(collection: number, { document_id, version, parts }: DocumentPart): VersionRow {
    const sql = [SELECT, "collection = ? AND document = ? AND version = ? AND state = 'staged'"].join(' ')
    const staged = this.#database.get<VersionRow>(sql, collection, document_id, version)
    if (staged?.parts === parts) return staged
    if (staged !== undefined) this.#markGone(staged.id)
    return this.#database.get<VersionRow>(
      `INSERT INTO knowledge_versions (collection, document, version, state, parts, put_at)
       VALUES (?, ?, ?, 'staged', ?, ?) RETURNING id, version, parts, parts_in, chunks, vectors`,
      collection,
      document_id,
      version,
      parts,
      this.#clock.wall(),
    ) as VersionRow
  }

  /** Gives the version as it is then. A part that is in already is left as it is. */
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
    return this.#database.get<VersionRow>(
      `UPDATE knowledge_versions SET parts_in = parts_in + 1, chunks = chunks + ?, vectors = vectors + ?, put_at = ?
       WHERE id = ? RETURNING id, version, parts, parts_in, chunks, vectors`,
      chunks.length,
      chunks.filter(({ vector }) => vector !== undefined).length,
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
    this.#collections.grow(collection, { documents: 1, chunks: staged.chunks, vectors: staged.vectors })
    this.#cleaner.begin()
  }

  #hide(collection: number, { id, chunks, vectors }: VersionRow): void {
    this.#markGone(id)
    this.#collections.grow(collection, { documents: -1, chunks: -chunks, vectors: -vectors })
  }

  #markGone(id: number): void {
    this.#database.run("UPDATE knowledge_versions SET state = 'gone' WHERE id = ?", id)
  }
}
