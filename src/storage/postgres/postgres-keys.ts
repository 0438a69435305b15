import type { KeyStore, StoredKey } from '../../core/storage/key-store.ts'
import type { PostgresDatabase } from './postgres-database.ts'

const LIST = 'SELECT * FROM toolyard.keys ORDER BY created_at, id'

const CREATE = `
  WITH created AS (
    INSERT INTO toolyard.keys
      (id, hash, tenant, name, role, scopes, calls_per_minute, created_at, expires_at, revoked_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    RETURNING 1
  )
  SELECT pg_notify('toolyard', 'keys') FROM created`

const REVOKE = `
  WITH revoked AS (
    UPDATE toolyard.keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING 1
  )
  SELECT pg_notify('toolyard', 'keys') FROM revoked`

/** Keys of the installation; each change is told to all servers. */
export class PostgresKeys implements KeyStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async list(): Promise<readonly StoredKey[]> {
    const { rows } = await this.#database.run<StoredKey>(LIST)
    return rows
  }

  async create(key: StoredKey): Promise<void> {
    const { id, hash, tenant, name, role, scopes, calls_per_minute, created_at, expires_at, revoked_at } = key
    const values = [id, hash, tenant, name, role, scopes, calls_per_minute, created_at, expires_at, revoked_at]
    await this.#database.run(CREATE, values)
  }

  async revoke(id: string, at: string): Promise<boolean> {
    const { count } = await this.#database.run(REVOKE, [id, at])
    return count > 0
  }
}
