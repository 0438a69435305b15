import { type Log, writeLog } from '../../core/log.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { SqliteChunkVectors } from './sqlite-vectors.ts'
import { deleteWords } from './words-table.ts'

/** Removing this many chunks takes about 30 ms, so that others do not wait long. */
const AT_ONCE = 200

interface GoneVersion {
  readonly id: number
  readonly collection: number
  /** Whether the whole collection was dropped, and its words with it. */
  readonly whole: number
}

/** Removes rows that are marked as gone in small steps. */
export class SqliteCleaner {
  readonly #database: SqliteDatabase
  readonly #vectors: SqliteChunkVectors
  readonly #log: Log
  #next: NodeJS.Immediate | undefined
  #closed = false

  constructor(database: SqliteDatabase, vectors: SqliteChunkVectors, log: Log) {
    this.#database = database
    this.#vectors = vectors
    this.#log = log
  }

  /** Inside a transaction: removes the first rows at once and the rest soon after. */
  begin(): void {
    if (this.#removeSome()) this.resume()
  }

  /** Continues the removal that this process or another one began. */
  resume(): void {
    if (this.#closed) return
    this.#next ??= setImmediate(() => {
      this.#next = undefined
      try {
        if (this.#gone() === undefined) return
        if (this.#database.write(() => this.#removeSome())) this.resume()
      } catch (err) {
        writeLog(this.#log, 'warn', { err }, 'Removed documents could not be deleted yet')
      }
    })
  }

  close(): void {
    this.#closed = true
    clearImmediate(this.#next)
  }

  /** Returns whether something is left. */
  #removeSome(): boolean {
    let removed = 0
    for (let version = this.#gone(); version !== undefined; version = this.#gone()) {
      if (removed >= AT_ONCE) return true
      removed += Math.max(1, this.#removePart(version))
    }
    this.#database.run(
      `DELETE FROM knowledge_collections WHERE gone = 1
         AND NOT EXISTS (SELECT 1 FROM knowledge_versions WHERE collection = knowledge_collections.id)`,
    )
    return false
  }

  #gone(): GoneVersion | undefined {
    return this.#database.get<GoneVersion>(
      `SELECT versions.id, versions.collection, collections.gone AS whole
       FROM knowledge_collections AS collections
       JOIN knowledge_versions AS versions ON versions.collection = collections.id
       WHERE collections.gone = 1
       UNION ALL
       SELECT versions.id, versions.collection, 0 FROM knowledge_versions AS versions
       WHERE versions.state <> 'visible' AND versions.state = 'gone' LIMIT 1`,
    )
  }

  /** Removes the chunks of one part, or the version if it has no parts left. */
  #removePart({ id, collection, whole }: GoneVersion): number {
    const part = this.#database.get<{ id: number; metadata: string }>(
      'SELECT id, metadata FROM knowledge_parts WHERE version = ? LIMIT 1',
      id,
    )
    if (part === undefined) {
      this.#database.run('DELETE FROM knowledge_versions WHERE id = ?', id)
      return 0
    }
    const chunks = this.#database.all<{ id: number }>('SELECT id FROM knowledge_chunks WHERE part = ?', part.id)
    let vectors = 0
    for (const chunk of chunks) {
      if (this.#vectors.remove(collection, chunk.id)) vectors++
      if (!whole) this.#database.statement(deleteWords(collection)).run(chunk.id)
    }
    this.#database.run('DELETE FROM knowledge_chunks WHERE part = ?', part.id)
    this.#database.run(
      `DELETE FROM knowledge_labels WHERE (collection, key, value, part) IN
         (SELECT ?, key, value, ? FROM json_each(?))`,
      collection,
      part.id,
      part.metadata,
    )
    this.#database.run('DELETE FROM knowledge_parts WHERE id = ?', part.id)
    this.#database.run(
      'UPDATE knowledge_versions SET chunks = chunks - ?, vectors = vectors - ? WHERE id = ?',
      chunks.length,
      vectors,
      id,
    )
    return chunks.length
  }
}
