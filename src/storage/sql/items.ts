import type {
  Item,
  ItemFilter,
  ItemKey,
  ItemLimits,
  ItemStore,
  ListedItem,
  NewItem,
} from '../../core/storage/item-store.ts'
import { checkQuota, type StoredUsage } from '../../core/storage/quota.ts'
import {
  ADD_BYTES,
  ask,
  type Database,
  type Expiry,
  freeBytes,
  type StoreEntry,
  SWEEP_LIMIT,
  USAGE,
  Where,
} from './database.ts'
import type { Table } from './table.ts'

const itemTable: Table = {
  name: 'items',
  since: 23,
  columns: {
    tenant: 'id',
    kind: 'id',
    owner: 'id',
    id: 'id',
    owner_name: 'text',
    subject: 'id?',
    label: 'id?',
    name: 'text',
    content: 'text',
    bytes: 'bigint',
    created_at: 'real',
    updated_at: 'real',
  },
  key: 'tenant, kind, owner, id',
  indexes: {
    items_by_subject: { on: 'tenant, kind, subject, label', where: 'subject IS NOT NULL' },
    items_by_time: 'updated_at',
  },
  large: true,
}

const LISTED = 'owner, id, owner_name, subject, label, name, created_at, updated_at'
const OF_KEY = 'tenant = ? AND kind = ? AND owner = ? AND id = ?'
const GET = ['SELECT tenant, kind,', LISTED, ', content FROM toolyard.items WHERE', OF_KEY].join(' ')
const STATE = ['SELECT tenant, bytes, created_at, updated_at FROM toolyard.items WHERE', OF_KEY].join(' ')
const COUNT = 'SELECT count(*) AS count FROM toolyard.items WHERE tenant = ? AND kind = ? AND owner = ?'
const PUT = `
  INSERT INTO toolyard.items (tenant, kind, owner, id, owner_name, subject, label, name, content, bytes, created_at,
    updated_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, kind, owner, id) DO UPDATE SET owner_name = excluded.owner_name, subject = excluded.subject,
    label = excluded.label, name = excluded.name, content = excluded.content, bytes = excluded.bytes,
    updated_at = excluded.updated_at`
const REMOVE = ['DELETE FROM toolyard.items WHERE', OF_KEY, 'RETURNING tenant, bytes'].join(' ')
const TRIM = `
  DELETE FROM toolyard.items WHERE tenant = ? AND kind = ? AND owner = ? AND id IN (
    SELECT id FROM toolyard.items WHERE tenant = ? AND kind = ? AND owner = ?
    ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?)
  RETURNING tenant, bytes`
/** Saved views have no end. */
const SWEEP = `
  DELETE FROM toolyard.items WHERE (tenant, kind, owner, id) IN (
    SELECT tenant, kind, owner, id FROM toolyard.items WHERE updated_at < ? AND kind <> 'view' LIMIT ?)
  RETURNING tenant, bytes`

interface Bytes {
  readonly tenant: string
  readonly bytes: number
}

const keyOf = ({ tenant, kind, owner, id }: ItemKey) => [tenant, kind, owner, id]

/** Threads, saved views and ratings. */
class Items implements ItemStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(filter: ItemFilter): Promise<readonly ListedItem[]> {
    const { tenant, kind, owner, orLabel, subject, label, limit } = filter
    const where = new Where().and('tenant = ?', tenant).and('kind = ?', kind).and('subject = ?', subject)
    where.and('label = ?', label)
    if (orLabel === undefined) where.and('owner = ?', owner)
    else where.and('(owner = ? OR label = ?)', owner, orLabel)
    const content = kind === 'thread' ? "'null' AS content" : 'content'
    const order = 'ORDER BY updated_at DESC, id DESC LIMIT ?'
    const sql = ['SELECT', LISTED, ',', content, 'FROM toolyard.items WHERE', where.sql, order].join(' ')
    return (await this.#database.run<ListedItem>(sql, [...where.values, limit])).rows
  }

  async get(key: ItemKey): Promise<Item | undefined> {
    return (await this.#database.run<Item>(GET, keyOf(key))).rows[0]
  }

  put(item: NewItem, { quota, most, refuse = false, before }: ItemLimits): Promise<boolean> {
    const { tenant, kind, owner, subject, label, content, updated_at } = item
    // PostgreSQL stores no NUL.
    const [name, owner_name] = [item.name, item.owner_name].map((text) => text.replaceAll('\0', '')) as [string, string]
    const bytes = Buffer.byteLength(content) + Buffer.byteLength(name)
    return this.#database.transaction(function* () {
      // One at a time for each tenant: otherwise two could both be the last one that there is room for.
      yield* ask(ADD_BYTES, [tenant, 0])
      const { rows } = yield* ask<Bytes & Pick<Item, 'created_at' | 'updated_at'>>(STATE, keyOf(item))
      const known = rows[0]
      if (before !== undefined && (known?.updated_at ?? null) !== before) return false
      const group = [tenant, kind, owner]
      if (refuse && known === undefined) {
        const { rows: counted } = yield* ask<{ readonly count: number }>(COUNT, group)
        if ((counted[0]?.count ?? 0) >= most) return false
      }
      const added = bytes - (known?.bytes ?? 0)
      if (quota !== undefined && added > 0) {
        const used = yield* ask<StoredUsage>(USAGE, [tenant, tenant, tenant, tenant, tenant])
        checkQuota(tenant, quota, used.rows[0] as StoredUsage, { storage_bytes: added })
      }
      const times = [known?.created_at ?? updated_at, updated_at]
      yield* ask(PUT, [...keyOf(item), owner_name, subject, label, name, content, bytes, ...times])
      yield* ask(ADD_BYTES, [tenant, added])
      if (!refuse) yield* freeBytes((yield* ask<Bytes>(TRIM, [...group, ...group, SWEEP_LIMIT, most])).rows)
      return true
    })
  }

  remove(key: ItemKey): Promise<boolean> {
    return this.#database.transaction(function* () {
      const { rows } = yield* ask<Bytes>(REMOVE, keyOf(key))
      yield* freeBytes(rows)
      return rows.length > 0
    })
  }

  async sweep({ before }: Expiry): Promise<void> {
    await this.#database.transaction(function* () {
      yield* freeBytes((yield* ask<Bytes>(SWEEP, [before, SWEEP_LIMIT])).rows)
    })
  }
}

export const items: StoreEntry<ItemStore> = { tables: [itemTable], open: (database) => new Items(database) }
