import type { KeyStore, StoredKey } from '../../core/storage/key-store.ts'
import type { Setting, SettingKind, SettingStore } from '../../core/storage/setting-store.ts'
import { ask, type Database } from './database.ts'

const LIST_KEYS = 'SELECT * FROM toolyard.keys ORDER BY created_at, id'
const CREATE_KEY = `
  INSERT INTO toolyard.keys (id, hash, tenant, name, role, scopes, calls_per_minute, created_at, expires_at, revoked_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const REVOKE_KEY = 'UPDATE toolyard.keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?'

/** API keys of the installation. */
export class Keys implements KeyStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(): Promise<readonly StoredKey[]> {
    const { rows } = await this.#database.run<StoredKey & { scopes: string | null }>(LIST_KEYS)
    return rows.map((row) => ({ ...row, scopes: row.scopes === null ? null : JSON.parse(row.scopes) }))
  }

  async create(key: StoredKey): Promise<void> {
    const { id, hash, tenant, name, role, calls_per_minute, created_at, expires_at, revoked_at } = key
    const scopes = key.scopes === null ? null : JSON.stringify(key.scopes)
    const values = [id, hash, tenant, name, role, scopes, calls_per_minute, created_at, expires_at, revoked_at]
    await this.#database.change('keys', () => ask(CREATE_KEY, values))
  }

  async revoke(id: string, at: string): Promise<boolean> {
    const { count } = await this.#database.change('keys', () => ask(REVOKE_KEY, [at, id]))
    return count > 0
  }
}

const LIST_SETTINGS = 'SELECT name, value FROM toolyard.settings WHERE kind = ? ORDER BY name'
const GET_SETTING = 'SELECT value FROM toolyard.settings WHERE kind = ? AND name = ?'
const PUT_SETTING = `
  INSERT INTO toolyard.settings (kind, name, value) VALUES (?, ?, ?)
  ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value`
const PUT_FIRST_SETTING = `
  INSERT INTO toolyard.settings (kind, name, value) VALUES (?, ?, ?) ON CONFLICT (kind, name) DO NOTHING`
const REMOVE_SETTING = 'DELETE FROM toolyard.settings WHERE kind = ? AND name = ?'

/** Settings that can be changed while servers run. */
export class Settings implements SettingStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(kind: SettingKind): Promise<readonly Setting[]> {
    const { rows } = await this.#database.run<{ name: string; value: string }>(LIST_SETTINGS, [kind])
    return rows.map(({ name, value }) => ({ kind, name, value: JSON.parse(value) }))
  }

  async put(setting: Setting): Promise<void> {
    await this.#database.change('settings', () => ask(PUT_SETTING, valuesOf(setting)))
  }

  putFirst(setting: Setting): Promise<unknown> {
    const { kind, name } = setting
    return this.#database.change('settings', function* () {
      yield* ask(PUT_FIRST_SETTING, valuesOf(setting))
      const { rows } = yield* ask<{ value: string }>(GET_SETTING, [kind, name])
      return JSON.parse((rows[0] as { value: string }).value)
    })
  }

  async remove(kind: SettingKind, name: string): Promise<boolean> {
    const { count } = await this.#database.change('settings', () => ask(REMOVE_SETTING, [kind, name]))
    return count > 0
  }
}

const valuesOf = ({ kind, name, value }: Setting): readonly string[] => [kind, name, JSON.stringify(value ?? null)]
