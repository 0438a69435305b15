import type { Clock } from '../../core/clock.ts'
import type { OnceClaim, OnceState, OnceStore } from '../../core/storage/once-store.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { SqliteInstances } from './sqlite-instances.ts'

interface OnceRow {
  readonly fingerprint: string
  readonly result: string | null
  readonly alive: number
}

/** How many forgotten answers are swept at a time: a sweep must not hold up what waits behind it. */
const SWEPT_AT_ONCE = 5_000

export class SqliteOnce implements OnceStore {
  readonly #database: SqliteDatabase
  readonly #instances: SqliteInstances
  readonly #clock: Clock

  constructor(database: SqliteDatabase, instances: SqliteInstances, clock: Clock) {
    this.#database = database
    this.#instances = instances
    this.#clock = clock
  }

  async claim({ tenant, caller, key, fingerprint, expiresAt }: OnceClaim): Promise<OnceState> {
    for (;;) {
      const claimed = this.#database.run(
        `INSERT INTO once (tenant, caller, key, fingerprint, instance, expires_at) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (tenant, caller, key) DO UPDATE SET fingerprint = excluded.fingerprint,
           instance = excluded.instance, expires_at = excluded.expires_at, result = NULL
         WHERE once.expires_at <= ?`,
        tenant,
        caller,
        key,
        fingerprint,
        this.#instances.names[0] as string,
        expiresAt,
        this.#clock.wall(),
      )
      if (claimed > 0) return { state: 'fresh' }
      const row = this.#database.get<OnceRow>(
        `SELECT fingerprint, result,
           EXISTS (SELECT 1 FROM instances WHERE instances.instance = once.instance AND seen_at >= ?) AS alive
         FROM once WHERE tenant = ? AND caller = ? AND key = ?`,
        this.#instances.deadBefore(),
        tenant,
        caller,
        key,
      )
      // Another process has let go of it in between.
      if (row === undefined) continue
      if (row.fingerprint !== fingerprint) return { state: 'other' }
      if (row.result !== null) return { state: 'done', result: JSON.parse(row.result) as ToolResult }
      return { state: row.alive ? 'running' : 'lost' }
    }
  }

  /** Only of what this process has claimed: another may have claimed the key anew after its time. */
  async settle({ tenant, caller, key, fingerprint }: OnceClaim, result: ToolResult): Promise<void> {
    this.#database.run(
      `UPDATE once SET result = ? WHERE tenant = ? AND caller = ? AND key = ? AND fingerprint = ?
         AND result IS NULL AND instance IN (SELECT value FROM json_each(?))`,
      JSON.stringify(result),
      tenant,
      caller,
      key,
      fingerprint,
      JSON.stringify(this.#instances.names),
    )
  }

  async release({ tenant, caller, key, fingerprint }: OnceClaim): Promise<void> {
    this.#database.run(
      `DELETE FROM once WHERE tenant = ? AND caller = ? AND key = ? AND fingerprint = ?
         AND result IS NULL AND instance IN (SELECT value FROM json_each(?))`,
      tenant,
      caller,
      key,
      fingerprint,
      JSON.stringify(this.#instances.names),
    )
  }

  sweep(): void {
    this.#database.run(
      'DELETE FROM once WHERE rowid IN (SELECT rowid FROM once WHERE expires_at <= ? LIMIT ?)',
      this.#clock.wall(),
      SWEPT_AT_ONCE,
    )
  }
}
