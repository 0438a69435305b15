import type { Setting, SettingKind, SettingStore } from '../../core/storage/setting-store.ts'
import type { SqliteChanges } from './sqlite-changes.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

export class SqliteSettings implements SettingStore {
  readonly #database: SqliteDatabase
  readonly #changes: SqliteChanges

  constructor(database: SqliteDatabase, changes: SqliteChanges) {
    this.#database = database
    this.#changes = changes
  }

  async list(kind: SettingKind): Promise<readonly Setting[]> {
    const rows = this.#database.all<{ name: string; value: string }>(
      'SELECT name, value FROM settings WHERE kind = ? ORDER BY name',
      kind,
    )
    return rows.map(({ name, value }) => ({ kind, name, value: JSON.parse(value) }))
  }

  async put({ kind, name, value }: Setting): Promise<void> {
    const text = JSON.stringify(value)
    this.#changes.write('settings', () =>
      this.#database.run(
        `INSERT INTO settings (kind, name, value) VALUES (?, ?, ?)
         ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value`,
        kind,
        name,
        text,
      ),
    )
  }

  async putFirst({ kind, name, value }: Setting): Promise<unknown> {
    const text = JSON.stringify(value)
    return this.#changes.write('settings', () => {
      this.#database.run(
        'INSERT INTO settings (kind, name, value) VALUES (?, ?, ?) ON CONFLICT (kind, name) DO NOTHING',
        kind,
        name,
        text,
      )
      const row = this.#database.get<{ value: string }>(
        'SELECT value FROM settings WHERE kind = ? AND name = ?',
        kind,
        name,
      )
      return JSON.parse(row?.value ?? text)
    })
  }

  async remove(kind: SettingKind, name: string): Promise<boolean> {
    return this.#changes.write(
      'settings',
      () => this.#database.run('DELETE FROM settings WHERE kind = ? AND name = ?', kind, name) > 0,
    )
  }
}
