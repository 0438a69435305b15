import { addToolUse } from '../../core/storage/add-tool-use.ts'
import {
  type DoubtfulToolUse,
  KEPT_SCHEMAS,
  type StoredToolUse,
  type ToolUseAddition,
  type ToolUseStore,
} from '../../core/storage/tool-use-store.ts'
import { fromToolUseRow, type ToolUseRow, toToolUseRow } from '../tool-use-row.ts'
import type { SqliteChanges } from './sqlite-changes.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

export class SqliteToolUse implements ToolUseStore {
  readonly #database: SqliteDatabase
  readonly #changes: SqliteChanges

  constructor(database: SqliteDatabase, changes: SqliteChanges) {
    this.#database = database
    this.#changes = changes
  }

  async list(tenant: string): Promise<readonly StoredToolUse[]> {
    const rows = this.#database.all<ToolUseRow>(
      'SELECT * FROM tool_use WHERE tenant = ? ORDER BY model_id, tool, schema_hash',
      tenant,
    )
    return rows.map(fromToolUseRow)
  }

  async add(additions: readonly ToolUseAddition[]): Promise<void> {
    this.#changes.write('validations', () => {
      for (const { tenant, ...more } of additions) {
        const row = this.#database.get<ToolUseRow>(
          'SELECT * FROM tool_use WHERE tenant = ? AND model_id = ? AND tool = ? AND schema_hash = ?',
          tenant,
          more.model_id,
          more.tool,
          more.schema_hash,
        )
        this.#put(tenant, addToolUse(row && fromToolUseRow(row), more))
        if (row === undefined) this.#forgetOldest(tenant, more)
      }
    })
  }

  async replace(tenant: string, uses: readonly StoredToolUse[]): Promise<void> {
    this.#changes.write('validations', () => {
      this.#database.run('DELETE FROM tool_use WHERE tenant = ?', tenant)
      for (const use of uses) this.#put(tenant, use)
    })
  }

  async doubtful(minimumTrials: number, threshold: number): Promise<readonly DoubtfulToolUse[]> {
    const rows = this.#database.all<DoubtfulToolUse>(
      `SELECT tenant, model_id, tool, schema_hash, trials, successes
       FROM tool_use WHERE trials >= ? AND successes < ? * trials`,
      minimumTrials,
      threshold,
    )
    return rows.map((row) => ({ ...row }))
  }

  #put(tenant: string, use: StoredToolUse): void {
    const { model_id, tool, schema_hash, trials, successes, last_used, details } = toToolUseRow(use)
    this.#database.run(
      `INSERT INTO tool_use (tenant, model_id, tool, schema_hash, trials, successes, last_used, details)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (tenant, model_id, tool, schema_hash) DO UPDATE SET trials = excluded.trials,
         successes = excluded.successes, last_used = excluded.last_used, details = excluded.details`,
      tenant,
      model_id,
      tool,
      schema_hash,
      trials,
      successes,
      last_used,
      details,
    )
  }

  /** A tool that is described anew at every start must not fill the table. */
  #forgetOldest(tenant: string, { model_id, tool }: StoredToolUse): void {
    this.#database.run(
      `DELETE FROM tool_use WHERE rowid IN (
         SELECT rowid FROM tool_use WHERE tenant = ? AND model_id = ? AND tool = ?
         ORDER BY last_used DESC, schema_hash LIMIT -1 OFFSET ?
       )`,
      tenant,
      model_id,
      tool,
      KEPT_SCHEMAS,
    )
  }
}
