import type { RunFilter, RunPage, RunStore, StoredRun } from '../../core/storage/run-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { type Database, type Statement, Where } from './database.ts'

const LIST = `
  SELECT id, tenant, caller, model, service, started_at, duration_ms, stop_reason, iterations, tool_calls,
    prompt_tokens, completion_tokens, cost, error, question, answer
  FROM toolyard.runs WHERE`

const COLUMNS = {
  tenant: 'text',
  id: 'text',
  caller: 'text',
  model: 'text',
  service: 'text',
  started_at: 'text',
  duration_ms: 'double precision',
  stop_reason: 'text',
  iterations: 'bigint',
  tool_calls: 'bigint',
  prompt_tokens: 'bigint',
  completion_tokens: 'bigint',
  cost: 'double precision',
  error: 'text',
  question: 'text',
  answer: 'text',
  steps: 'text',
  gate: 'text',
  recording: 'text',
} satisfies Record<keyof StoredRun, string>

/** A run as a row: `steps` and `gate` are JSON texts. */
type RunRow = Omit<StoredRun, 'steps' | 'gate' | 'recording'> & {
  readonly steps: string
  readonly gate: string | null
  readonly recording: string | null
}

/** Reads runs; the ledger writes them. */
export class Runs implements RunStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list({ tenant, model, stopReason, limit, cursor }: RunFilter): Promise<RunPage> {
    const after = cursor === undefined ? undefined : readCursor(cursor)
    const where = new Where().and('tenant = ?', tenant).and('model = ?', model).and('stop_reason = ?', stopReason)
    if (after !== undefined) where.and('(started_at, id) < (?, ?)', ...after)
    const sql = [LIST, where.sql, 'ORDER BY started_at DESC, id DESC LIMIT ?'].join(' ')
    const { rows } = await this.#database.run<RunPage['runs'][number]>(sql, [...where.values, limit + 1])
    const runs = rows.slice(0, limit)
    const last = runs.at(-1)
    if (rows.length <= limit || last === undefined) return { runs }
    return { runs, next: Buffer.from(JSON.stringify([last.started_at, last.id])).toString('base64url') }
  }

  async get(tenant: string, id: string): Promise<StoredRun | undefined> {
    const sql = 'SELECT * FROM toolyard.runs WHERE tenant = ? AND id = ?'
    const { rows } = await this.#database.run<RunRow>(sql, [tenant, id])
    if (rows[0] === undefined) return undefined
    const { steps, gate, recording, ...run } = rows[0]
    return {
      ...run,
      steps: JSON.parse(steps),
      ...(gate !== null && { gate: JSON.parse(gate) }),
      ...(recording !== null && { recording }),
    }
  }
}

/** A run that is stored already stays as it is: a batch whose answer was lost is written twice. */
export function insertRuns(database: Database, runs: readonly StoredRun[]): Statement {
  const rows = runs.map((run) => {
    const texts: RunRow = {
      ...run,
      steps: JSON.stringify(run.steps),
      gate: run.gate === undefined ? null : JSON.stringify(run.gate),
      recording: run.recording ?? null,
    }
    return (Object.keys(COLUMNS) as (keyof StoredRun)[]).map((name) => texts[name])
  })
  return database.insert('toolyard.runs', COLUMNS, rows, 'ON CONFLICT (tenant, id) DO NOTHING')
}

function readCursor(cursor: string): readonly [startedAt: string, id: string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(value) && value.length === 2) {
      const [startedAt, id] = value as unknown[]
      if (typeof startedAt === 'string' && typeof id === 'string') return [startedAt, id]
    }
  } catch {
    // Reported below.
  }
  throw new ToolExecutionError(
    'INVALID_PARAMETERS',
    `cursor: "${cursor.slice(0, 60)}" is none that a page gave as next`,
  )
}
