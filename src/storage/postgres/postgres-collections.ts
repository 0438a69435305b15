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
import type { PostgresDatabase, Statements } from './postgres-database.ts'

const LIST = `
  SELECT id, tenant, name, embedder, dimensions, documents, chunks, vectors FROM toolyard.knowledge_collections
  WHERE tenant = $1 AND NOT gone ORDER BY name`

const FIND = `
  SELECT id, tenant, name, embedder, dimensions, documents, chunks, vectors FROM toolyard.knowledge_collections
  WHERE tenant = $1 AND name = $2 AND NOT gone`

const COUNT = 'SELECT count(*) AS count FROM toolyard.knowledge_collections WHERE tenant = $1 AND NOT gone'

const CREATE = `
  INSERT INTO toolyard.knowledge_collections (tenant, name) VALUES ($1, $2)
  ON CONFLICT (tenant, name) WHERE NOT gone DO NOTHING`

const TAKE_ON = `
  UPDATE toolyard.knowledge_collections SET embedder = $3, dimensions = $4
  WHERE tenant = $1 AND name = $2 AND NOT gone AND embedder IS NULL`

const DROP = 'UPDATE toolyard.knowledge_collections SET gone = true WHERE tenant = $1 AND name = $2 AND NOT gone'

const GROW = `
  UPDATE toolyard.knowledge_collections
  SET documents = documents + $2, chunks = chunks + $3, vectors = vectors + $4, bytes = bytes + $5 WHERE id = $1`

export class PostgresCollections {
  readonly #database: PostgresDatabase
  readonly #vectors: boolean

  constructor(database: PostgresDatabase, vectors: boolean) {
    this.#database = database
    this.#vectors = vectors
  }

  async list(tenant: string): Promise<CollectionRow[]> {
    const { rows } = await this.#database.run<CollectionRow>(LIST, [tenant])
    return rows.map((row) => usableRow(row, this.#vectors))
  }

  async find(
    tenant: string,
    name: string,
    statements: Statements = this.#database,
  ): Promise<CollectionRow | undefined> {
    const { rows } = await statements.run<CollectionRow>(FIND, [tenant, name])
    return rows[0] && usableRow(rows[0], this.#vectors)
  }

  async get(tenant: string, name: string, statements: Statements = this.#database): Promise<CollectionRow> {
    const row = await this.find(tenant, name, statements)
    if (row === undefined) throw refused(`There is no collection ${quoted(name)}: open it first`)
    return row
  }

  async open(...asked: Parameters<KnowledgeStore['open']>): Promise<CollectionRow> {
    const { tenant, name, embedder, dimensions } = checkCollection(...asked)
    const takesOn = embedder !== null && this.#vectors
    const there = await this.find(tenant, name)
    if (there !== undefined && (there.embedder !== null || !takesOn)) return there
    if (there === undefined) await this.#create(tenant, name)
    if (takesOn) await this.#database.run(TAKE_ON, [tenant, name, embedder, dimensions])
    return this.get(tenant, name)
  }

  /** Hides the collection; its rows are removed later. */
  async drop(tenant: string, name: string): Promise<boolean> {
    return (await this.#database.run(DROP, [tenant, name])).count > 0
  }

  /** Must be the last statement of a transaction, since it locks the collection. */
  async grow(statements: Statements, id: number, { documents, chunks, vectors, bytes }: Growth): Promise<void> {
    await statements.run(GROW, [id, documents, chunks, vectors, bytes])
  }

  async #create(tenant: string, name: string): Promise<void> {
    const { rows } = await this.#database.run<{ count: number }>(COUNT, [tenant])
    const count = rows[0]?.count ?? 0
    if (count >= KNOWLEDGE_BOUNDS.collectionsOfTenant) {
      throw refused(`The tenant has ${count} collections, the maximum: remove one before you create ${quoted(name)}`)
    }
    await this.#database.run(CREATE, [tenant, name])
  }
}
