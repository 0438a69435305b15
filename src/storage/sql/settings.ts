import type { Setting, SettingKind, SettingStore } from '../../core/storage/setting-store.ts'
import { ask, type Database, type StoreEntry } from './database.ts'
import type { Table } from './table.ts'

export const settingTable: Table = {
  name: 'settings',
  columns: { kind: 'id', name: 'id', value: 'text' },
  key: 'kind, name',
  sealed: { value: { place: "'secret ' || name", json: true, where: "kind = 'stored_secret'" } },
  copied: "t.kind <> 'copy' AND NOT (t.kind = 'secret' AND t.name = 'audit_key')",
}

const LIST_SETTINGS = 'SELECT name, value FROM toolyard.settings WHERE kind = ? ORDER BY name'
const GET_SETTING = 'SELECT value FROM toolyard.settings WHERE kind = ? AND name = ?'
const PUT_SETTING = `
  INSERT INTO toolyard.settings (kind, name, value) VALUES (?, ?, ?)
  ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value`
const PUT_FIRST_SETTING = `
  INSERT INTO toolyard.settings (kind, name, value) VALUES (?, ?, ?) ON CONFLICT (kind, name) DO NOTHING`
const REPLACE_SETTING = 'UPDATE toolyard.settings SET value = ? WHERE kind = ? AND name = ? AND value = ?'
const REMOVE_SETTING = 'DELETE FROM toolyard.settings WHERE kind = ? AND name = ?'

/** Settings that can be changed while servers run. */
class Settings implements SettingStore {
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

  async replace(setting: Setting, before?: unknown): Promise<boolean> {
    const [kind, name, value] = valuesOf(setting)
    const work = () =>
      before === undefined
        ? ask<never>(PUT_FIRST_SETTING, [kind, name, value])
        : ask<never>(REPLACE_SETTING, [value, kind, name, JSON.stringify(before)])
    const isTold = kind !== 'alerts' && kind !== 'tool_names'
    const { count } = await (isTold ? this.#database.change('settings', work) : this.#database.transaction(work))
    return count > 0
  }

  async remove(kind: SettingKind, name: string): Promise<boolean> {
    const { count } = await this.#database.change('settings', () => ask(REMOVE_SETTING, [kind, name]))
    return count > 0
  }
}

const valuesOf = ({ kind, name, value }: Setting) => [kind, name, JSON.stringify(value ?? null)] as const

export const settings: StoreEntry<SettingStore> = { tables: [settingTable], open: (database) => new Settings(database) }
