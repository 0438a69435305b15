import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import type { OnceClaim, OnceKey, OnceResult, OnceState, OnceStore } from '../../core/once-store.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { ask, type Database, type Expiry, placeholders, type StoreEntry, SWEEP_LIMIT, type Work } from './database.ts'
import type { Table } from './table.ts'

const onceTable: Table = { name: 'once', large: true, copied: 't.expires_at > ?' }

/** Writes the row in any case, so that one of two concurrent claims sees the other. */
const CLAIM = `
  INSERT INTO toolyard.once (tenant, caller, key, fingerprint, instance, claim, expires_at)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, caller, key) DO UPDATE SET
    fingerprint = CASE WHEN once.expires_at <= ? THEN excluded.fingerprint ELSE once.fingerprint END,
    instance = CASE WHEN once.expires_at <= ? THEN excluded.instance ELSE once.instance END,
    claim = CASE WHEN once.expires_at <= ? THEN excluded.claim ELSE once.claim END,
    result = CASE WHEN once.expires_at <= ? THEN NULL ELSE once.result END,
    expires_at = CASE WHEN once.expires_at <= ? THEN excluded.expires_at ELSE once.expires_at END
  RETURNING claim, fingerprint, result,`
const LOOK = 'FROM toolyard.once WHERE tenant = ? AND caller = ? AND key = ? AND expires_at > ?'
/** Only claims of this process: another may have claimed the key again after it expired. */
const OWN_CLAIM = 'WHERE tenant = ? AND caller = ? AND key = ? AND fingerprint = ? AND result IS NULL AND instance IN'
const SWEEP_ONCE = `
  DELETE FROM toolyard.once WHERE expires_at <= ? AND (tenant, caller, key) IN (
    SELECT tenant, caller, key FROM toolyard.once WHERE expires_at <= ? LIMIT ?)`

interface ClaimRow {
  readonly claim: string | null
  readonly fingerprint: string
  readonly result: string | null
  readonly alive: boolean | number
}

/** Results of calls with an idempotency key. */
class Once implements OnceStore {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const { sql, values, read } = claiming(this.#database, claim, this.#clock.wall())
    return read((await this.#database.run<ClaimRow>(sql, values)).rows)
  }

  async look({ tenant, caller, key, fingerprint }: OnceKey): Promise<OnceState> {
    const alive = this.#database.alive('once.instance')
    const sql = ['SELECT claim, fingerprint, result,', alive.sql, 'AS alive', LOOK].join(' ')
    const values = [...alive.values, tenant, caller, key, this.#clock.wall()]
    const [row] = (await this.#database.run<ClaimRow>(sql, values)).rows
    return row === undefined ? { state: 'fresh' } : stateOf(row, fingerprint)
  }

  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    const { sql, values } = settling(this.#database, { claim, result })
    await this.#database.run(sql, values)
  }

  async release(claim: OnceClaim): Promise<void> {
    const { names } = this.#database
    const sql = ['DELETE FROM toolyard.once', OWN_CLAIM, placeholders(names)].join(' ')
    await this.#database.run(sql, [...keyOf(claim), ...names])
  }

  async sweep({ now }: Expiry): Promise<void> {
    await this.#database.run(SWEEP_ONCE, [now, now, SWEEP_LIMIT])
  }
}

export const once: StoreEntry<OnceStore> = { tables: [onceTable], open: (database, clock) => new Once(database, clock) }

/** Claims a key as part of a transaction. */
export function* claimKey(database: Database, claim: OnceClaim, now: number): Work<OnceState> {
  const { sql, values, read } = claiming(database, claim, now)
  return read((yield* ask<ClaimRow>(sql, values)).rows)
}

/** Stores the result of a key as part of a transaction. */
export function* settleKey(database: Database, result: OnceResult): Work<void> {
  const { sql, values } = settling(database, result)
  yield* ask(sql, values)
}

function claiming(database: Database, claim: OnceClaim, now: number) {
  const id = randomUUID()
  const alive = database.alive('once.instance')
  const times = [now, now, now, now, now]
  return {
    sql: [CLAIM, alive.sql, 'AS alive'].join(' '),
    values: [...keyOf(claim), database.names[0], id, claim.expiresAt, ...times, ...alive.values],
    read(rows: readonly ClaimRow[]): OnceState {
      const row = rows[0] as ClaimRow
      return row.claim === id ? { state: 'fresh' } : stateOf(row, claim.fingerprint)
    },
  }
}

/** The state of a key that was claimed before. */
function stateOf(row: ClaimRow, fingerprint: string | undefined): OnceState {
  if (fingerprint !== undefined && row.fingerprint !== fingerprint) return { state: 'other' }
  if (row.result !== null) return { state: 'done', result: JSON.parse(row.result) }
  return { state: row.alive ? 'running' : 'lost' }
}

const settling = ({ names }: Database, { claim, result }: OnceResult) => ({
  sql: ['UPDATE toolyard.once SET result = ?', OWN_CLAIM, placeholders(names)].join(' '),
  values: [JSON.stringify(result), ...keyOf(claim), ...names],
})

const keyOf = ({ tenant, caller, key, fingerprint }: OnceClaim) => [tenant, caller, key, fingerprint]
