import type { Setting, SettingKind, SettingStore } from '../../core/storage/setting-store.ts'
import type { PostgresDatabase } from './postgres-database.ts'

const LIST = 'SELECT kind, name, value FROM toolyard.settings WHERE kind = $1 ORDER BY name'

const PUT = `
  WITH put AS (
    INSERT INTO toolyard.settings (kind, name, value) VALUES ($1, $2, $3)
    ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value
    RETURNING 1
  )
  SELECT pg_notify('toolyard', 'settings') FROM put`

const PUT_FIRST = `
  WITH put AS (
    INSERT INTO toolyard.settings (kind, name, value) VALUES ($1, $2, $3)
    ON CONFLICT (kind, name) DO NOTHING
    RETURNING 1
  )
  SELECT pg_notify('toolyard', 'settings') FROM put`

const GET = 'SELECT value FROM toolyard.settings WHERE kind = $1 AND name = $2'

const REMOVE = `
  WITH removed AS (DELETE FROM toolyard.settings WHERE kind = $1 AND name = $2 RETURNING 1)
  SELECT pg_notify('toolyard', 'settings') FROM removed`

/** What can be changed while servers run; each change is told to all. */
export class PostgresSettings implements SettingStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async list(kind: SettingKind): Promise<readonly Setting[]> {
    const { rows } = await this.#database.run<Setting & { value: string }>(LIST, [kind])
    return rows.map((row) => ({ ...row, value: JSON.parse(row.value) }))
  }

  async put(setting: Setting): Promise<void> {
    await this.#database.run(PUT, valuesOf(setting))
  }

  async putFirst(setting: Setting): Promise<unknown> {
    for (;;) {
      const { count } = await this.#database.run(PUT_FIRST, valuesOf(setting))
      if (count > 0) return setting.value
      const { rows } = await this.#database.run<{ value: string }>(GET, [setting.kind, setting.name])
      // Where it has been removed in between, it is put after all.
      if (rows[0] !== undefined) return JSON.parse(rows[0].value)
    }
  }

  async remove(kind: SettingKind, name: string): Promise<boolean> {
    const { count } = await this.#database.run(REMOVE, [kind, name])
    return count > 0
  }
}

const valuesOf = ({ kind, name, value }: Setting): readonly string[] => [kind, name, JSON.stringify(value ?? null)]
