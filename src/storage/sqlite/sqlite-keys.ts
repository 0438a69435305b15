import type { KeyStore, StoredKey } from '../../core/storage/key-store.ts'
import type { SqliteChanges } from './sqlite-changes.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

type KeyRow = Omit<StoredKey, 'scopes'> & { readonly scopes: string | null }

export class SqliteKeys implements KeyStore {
  readonly #database: SqliteDatabase
  readonly #changes: SqliteChanges

  constructor(database: SqliteDatabase, changes: SqliteChanges) {
    this.#database = database
    this.#changes = changes
  }

  async list(): Promise<readonly StoredKey[]> {
    const rows = this.#database.all<KeyRow>(
      `SELECT id, hash, tenant, name, role, scopes, calls_per_minute, created_at, expires_at, revoked_at
       FROM keys ORDER BY created_at, id`,
    )
    return rows.map((row) => ({ ...row, scopes: row.scopes === null ? null : JSON.parse(row.scopes) }))
  }

  async create(key: StoredKey): Promise<void> {
    this.#changes.write('keys', () =>
      this.#database.run(
        `INSERT INTO keys (id, hash, tenant, name, role, scopes, calls_per_minute, created_at, expires_at, revoked_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        key.id,
        key.hash,
        key.tenant,
        key.name,
        key.role,
        key.scopes === null ? null : JSON.stringify(key.scopes),
        key.calls_per_minute,
        key.created_at,
        key.expires_at,
        key.revoked_at,
      ),
    )
  }

  async revoke(id: string, at: string): Promise<boolean> {
    return this.#changes.write(
      'keys',
      () => this.#database.run('UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?', at, id) > 0,
    )
  }
}
