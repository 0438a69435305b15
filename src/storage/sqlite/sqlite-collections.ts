import { quoted } from '../../core/schema/problem-words.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import {
  type CollectionRow,
  checkCollection,
  type Growth,
  KNOWLEDGE_BOUNDS,
  refused,
  usableRow,
} from '../knowledge/checks.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { createWords, dropWords } from './words-table.ts'

const SELECT =
  'SELECT id, tenant, name, embedder, dimensions, documents, chunks, vectors FROM knowledge_collections WHERE gone = 0'

export class SqliteCollections {
  readonly #database: SqliteDatabase

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  list(tenant: string): CollectionRow[] {
    const rows = this.#database.all<CollectionRow>([SELECT, 'AND tenant = ? ORDER BY name'].join(' '), tenant)
    return rows.map((row) => usableRow(row, this.#database.vectors))
  }

  find(tenant: string, name: string): CollectionRow | undefined {
    const row = this.#database.get<CollectionRow>([SELECT, 'AND tenant = ? AND name = ?'].join(' '), tenant, name)
    return row && usableRow(row, this.#database.vectors)
  }

  get(tenant: string, name: string): CollectionRow {
    const row = this.find(tenant, name)
    if (row === undefined) throw refused(`There is no collection ${quoted(name)}: open it first`)
    return row
  }

  open(...asked: Parameters<KnowledgeStore['open']>): CollectionRow {
    const { tenant, name, embedder, dimensions } = checkCollection(...asked)
    const takesOn = embedder !== null && this.#database.vectors
    const there = this.find(tenant, name)
    if (there !== undefined && (there.embedder !== null || !takesOn)) return there
    this.#database.write(() => {
      if (this.find(tenant, name) === undefined) this.#create(tenant, name)
      if (!takesOn) return
      this.#database.run(
        `UPDATE knowledge_collections SET embedder = ?, dimensions = ?
         WHERE tenant = ? AND name = ? AND gone = 0 AND embedder IS NULL`,
        embedder,
        dimensions,
        tenant,
        name,
      )
    })
    return this.get(tenant, name)
  }

  /** Inside a transaction. Hides the collection; its rows are removed later. */
  drop(tenant: string, name: string): boolean {
    const row = this.find(tenant, name)
    if (row === undefined) return false
    dropWords(this.#database, row.id)
    this.#database.run('UPDATE knowledge_collections SET gone = 1 WHERE id = ?', row.id)
    return true
  }

  grow(id: number, { documents, chunks, vectors, bytes }: Growth): void {
    this.#database.run(
      `UPDATE knowledge_collections SET documents = documents + ?, chunks = chunks + ?, vectors = vectors + ?,
         bytes = bytes + ?
       WHERE id = ?`,
      documents,
      chunks,
      vectors,
      bytes,
      id,
    )
  }

  #create(tenant: string, name: string): void {
    const sql = 'SELECT count(*) AS count FROM knowledge_collections WHERE gone = 0 AND tenant = ?'
    const count = this.#database.get<{ count: number }>(sql, tenant)?.count ?? 0
    if (count >= KNOWLEDGE_BOUNDS.collectionsOfTenant) {
      throw refused(`The tenant has ${count} collections, the maximum: remove one before you create ${quoted(name)}`)
    }
    const row = this.#database.get<{ id: number }>(
      'INSERT INTO knowledge_collections (tenant, name) VALUES (?, ?) RETURNING id',
      tenant,
      name,
    )
    createWords(this.#database, (row as { id: number }).id)
  }
}
