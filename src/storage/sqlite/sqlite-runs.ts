import type { SQLInputValue } from 'node:sqlite'
import type { RunFilter, RunPage, RunStore, StoredRun } from '../../core/storage/run-store.ts'
import { readRunCursor, writeRunCursor } from '../run-cursor.ts'
import { fromRunRow, type RunRow } from '../run-row.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

const SELECT_RUNS = `SELECT id, tenant, caller, model, service, started_at, duration_ms, stop_reason, iterations,
  tool_calls, prompt_tokens, completion_tokens, cost, error, question, answer FROM runs WHERE tenant = ?`

export class SqliteRuns implements RunStore {
  readonly #database: SqliteDatabase

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  async list({ tenant, model, stopReason, limit, cursor }: RunFilter): Promise<RunPage> {
    const sql = [SELECT_RUNS]
    const values: SQLInputValue[] = [tenant]
    if (model !== undefined) {
      sql.push('AND model = ?')
      values.push(model)
    }
    if (stopReason !== undefined) {
      sql.push('AND stop_reason = ?')
      values.push(stopReason)
    }
    if (cursor !== undefined) {
      const { started_at, id } = readRunCursor(cursor)
      sql.push('AND (started_at, id) < (?, ?)')
      values.push(started_at, id)
    }
    sql.push('ORDER BY started_at DESC, id DESC LIMIT ?')
    const found = this.#database.all<RunPage['runs'][number]>(sql.join(' '), ...values, limit + 1)
    const runs = found.slice(0, limit).map((row) => ({ ...row }))
    const last = runs.at(-1)
    return found.length > limit && last !== undefined ? { runs, next: writeRunCursor(last) } : { runs }
  }

  async get(tenant: string, id: string): Promise<StoredRun | undefined> {
    const row = this.#database.get<RunRow>('SELECT * FROM runs WHERE tenant = ? AND id = ?', tenant, id)
    return row && fromRunRow(row)
  }

  /** One that is there already stays as it is: who did not hear that it was kept says it twice. */
  put(run: StoredRun): void {
    this.#database.run(
      `INSERT INTO runs (tenant, id, caller, model, service, started_at, duration_ms, stop_reason, iterations,
         tool_calls, prompt_tokens, completion_tokens, cost, error, question, answer, steps, gate, recording)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, id) DO NOTHING`,
      run.tenant,
      run.id,
      run.caller,
      run.model,
      run.service,
      run.started_at,
      run.duration_ms,
      run.stop_reason,
      run.iterations,
      run.tool_calls,
      run.prompt_tokens,
      run.completion_tokens,
      run.cost,
      run.error,
      run.question,
      run.answer,
      JSON.stringify(run.steps),
      run.gate === undefined ? null : JSON.stringify(run.gate),
      run.recording ?? null,
    )
  }

  remove(before: number): number {
    return this.#database.run('DELETE FROM runs WHERE started_at < ?', new Date(before).toISOString())
  }
}
