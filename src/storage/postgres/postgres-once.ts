import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import type { OnceClaim, OnceState, OnceStore } from '../../core/storage/once-store.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { Presence } from './presence.ts'

/** Writes the row in any case, so that of two claims at once one sees the other's. */
const CLAIM = `
  INSERT INTO toolyard.once AS o (tenant, caller, key, fingerprint, instance, claim, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (tenant, caller, key) DO UPDATE SET
    fingerprint = CASE WHEN o.expires_at <= $8 THEN excluded.fingerprint ELSE o.fingerprint END,
    instance = CASE WHEN o.expires_at <= $8 THEN excluded.instance ELSE o.instance END,
    claim = CASE WHEN o.expires_at <= $8 THEN excluded.claim ELSE o.claim END,
    result = CASE WHEN o.expires_at <= $8 THEN NULL ELSE o.result END,
    expires_at = CASE WHEN o.expires_at <= $8 THEN excluded.expires_at ELSE o.expires_at END
  RETURNING claim, fingerprint, result, toolyard.is_alive(instance, $5, $9) AS alive`

const SETTLE = `
  UPDATE toolyard.once SET result = $6
  WHERE tenant = $1 AND caller = $2 AND key = $3 AND fingerprint = $4 AND instance = ANY ($5) AND result IS NULL`

const RELEASE = `
  DELETE FROM toolyard.once
  WHERE tenant = $1 AND caller = $2 AND key = $3 AND fingerprint = $4 AND instance = ANY ($5) AND result IS NULL`

interface ClaimRow {
  readonly claim: string
  readonly fingerprint: string
  readonly result: string | null
  readonly alive: boolean
}

/** Answers of calls with an idempotency key, shared by all servers. */
export class PostgresOnce implements OnceStore {
  readonly #database: PostgresDatabase
  readonly #presence: Presence
  readonly #clock: Clock

  constructor(database: PostgresDatabase, presence: Presence, clock: Clock) {
    this.#database = database
    this.#presence = presence
    this.#clock = clock
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const mine = randomUUID()
    const { instance, aliveMs } = this.#presence
    const values = [...naming(claim), instance, mine, claim.expiresAt, this.#clock.wall(), aliveMs]
    const { rows } = await this.#database.run<ClaimRow>(CLAIM, values)
    const row = rows[0] as ClaimRow
    if (row.claim === mine) return { state: 'fresh' }
    if (row.fingerprint !== claim.fingerprint) return { state: 'other' }
    if (row.result !== null) return { state: 'done', result: JSON.parse(row.result) }
    return { state: row.alive ? 'running' : 'lost' }
  }

  /** Only of what this process has claimed: another may have claimed the key anew after its time. */
  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    await this.#database.run(SETTLE, [...naming(claim), this.#presence.names, JSON.stringify(result)])
  }

  async release(claim: OnceClaim): Promise<void> {
    await this.#database.run(RELEASE, [...naming(claim), this.#presence.names])
  }
}

const naming = ({ tenant, caller, key, fingerprint }: OnceClaim) => [tenant, caller, key, fingerprint]
