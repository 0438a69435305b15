import type { RunFilter, RunPage, RunStore, StoredRun } from '../../core/storage/run-store.ts'
import { replaceNul } from '../nul.ts'
import { readRunCursor, writeRunCursor } from '../run-cursor.ts'
import { fromRunRow, type RunRow } from '../run-row.ts'
import type { PostgresDatabase, Statements } from './postgres-database.ts'

const LIST = `
  SELECT id, tenant, caller, model, service, started_at, duration_ms, stop_reason, iterations, tool_calls,
    prompt_tokens, completion_tokens, cost, error, question, answer
  FROM toolyard.runs
  WHERE tenant = $1
    AND ($2::text IS NULL OR model = $2)
    AND ($3::text IS NULL OR stop_reason = $3)
    AND ($4::text IS NULL OR (started_at, id) < ($4, $5))
  ORDER BY started_at DESC, id DESC LIMIT $6`

const GET = 'SELECT * FROM toolyard.runs WHERE tenant = $1 AND id = $2'

/** One that is there already stays as it is: who did not hear that it was kept says it twice. */
const PUT = `
  INSERT INTO toolyard.runs (tenant, id, caller, model, service, started_at, duration_ms, stop_reason, iterations,
    tool_calls, prompt_tokens, completion_tokens, cost, error, question, answer, steps,
    gate, recording)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::double precision[],
    $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::double precision[], $14::text[],
    $15::text[], $16::text[], $17::text[], $18::text[], $19::text[])
  ON CONFLICT (tenant, id) DO NOTHING`

/** Reads runs. */
export class PostgresRuns implements RunStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async list({ tenant, model, stopReason, limit, cursor }: RunFilter): Promise<RunPage> {
    const after = cursor === undefined ? undefined : readRunCursor(cursor)
    const values = [tenant, model, stopReason, after?.started_at, after?.id, limit + 1]
    const { rows } = await this.#database.run<RunPage['runs'][number]>(LIST, values)
    const runs = rows.slice(0, limit)
    const last = runs.at(-1)
    return rows.length > limit && last !== undefined ? { runs, next: writeRunCursor(last) } : { runs }
  }

  async get(tenant: string, id: string): Promise<StoredRun | undefined> {
    const { rows } = await this.#database.run<RunRow>(GET, [tenant, id])
    return rows[0] && fromRunRow(rows[0])
  }
}

/** All runs in one statement. */
export async function addRuns(statements: Statements, runs: readonly StoredRun[]): Promise<void> {
  const text = (of: (run: StoredRun) => string | null) => runs.map((run) => replaceNul(of(run)))
  await statements.run(PUT, [
    text((run) => run.tenant),
    text((run) => run.id),
    text((run) => run.caller),
    text((run) => run.model),
    text((run) => run.service),
    runs.map((run) => run.started_at),
    runs.map((run) => run.duration_ms),
    text((run) => run.stop_reason),
    runs.map((run) => run.iterations),
    runs.map((run) => run.tool_calls),
    runs.map((run) => run.prompt_tokens),
    runs.map((run) => run.completion_tokens),
    runs.map((run) => run.cost),
    text((run) => run.error),
    text((run) => run.question),
    text((run) => run.answer),
    runs.map((run) => JSON.stringify(run.steps)),
    runs.map((run) => (run.gate === undefined ? null : JSON.stringify(run.gate))),
    runs.map((run) => run.recording ?? null),
  ])
}
