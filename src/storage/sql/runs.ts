import type { ListedRun, RunFilter, RunPage, RunStore, StoredRun } from '../../core/storage/run-store.ts'
import {
  addToolUse,
  type DoubtfulToolUse,
  KEPT_FAILURES,
  KEPT_SCHEMAS,
  type StoredToolUse,
  type ToolUseAddition,
  type ToolUseStore,
} from '../../core/storage/tool-use-store.ts'
import {
  KEPT_TESTS,
  type ModelTest,
  type StoredValidation,
  type ValidationStore,
} from '../../core/storage/validation-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { ask, type Database, placeholders, type Statement, type StoreEntry, Where, type Work } from './database.ts'
import { type Column, columnTypes, type Table } from './table.ts'

const runColumns = {
  tenant: 'id',
  id: 'id',
  caller: 'text?',
  model: 'text',
  service: 'text',
  started_at: 'id',
  duration_ms: 'real',
  stop_reason: 'text',
  iterations: 'bigint',
  tool_calls: 'bigint',
  prompt_tokens: 'tokens',
  completion_tokens: 'tokens',
  cost: 'real?',
  error: 'text?',
  question: 'text',
  answer: 'text',
  steps: 'text',
  // JSON: what was decided about its tools, and what it is replayed from.
  gate: 'text?',
  recording: 'text?',
  parent_run: { type: 'id?', since: 11 },
  // 1 if its tools were mocks.
  mocked: { type: 'flag?', since: 22 },
  // The tool that the run belongs to.
  agent: { type: 'text?', since: 25 },
} as const satisfies Record<keyof StoredRun, Column>

export const runTable: Table = {
  name: 'runs',
  columns: runColumns,
  key: 'tenant, id',
  indexes: {
    runs_by_tenant: 'tenant, started_at, id',
    runs_by_time: 'started_at',
    runs_by_parent: { on: 'tenant, parent_run, started_at', where: 'parent_run IS NOT NULL', since: 11 },
  },
  large: true,
}

export const toolUseTable: Table = {
  name: 'tool_use',
  columns: {
    tenant: 'id',
    model_id: 'id',
    tool: 'id',
    schema_hash: 'id',
    trials: 'bigint',
    successes: 'bigint',
    last_used: 'id',
    // JSON: the counts by source, the kinds of failures, and the last of them.
    details: 'text',
  },
  key: 'tenant, model_id, tool, schema_hash',
  rowid: true,
}

const LIST = `
  SELECT id, tenant, caller, model, service, started_at, duration_ms, stop_reason, iterations, tool_calls,
    prompt_tokens, completion_tokens, cost, error, question, answer, agent, mocked
  FROM toolyard.runs WHERE`

const CALLED = `EXISTS (
  SELECT 1 FROM toolyard.audit WHERE audit.run_id = runs.id AND audit.tenant = runs.tenant AND audit.tool = ?)`

const RATED = `EXISTS (SELECT 1 FROM toolyard.items WHERE items.tenant = runs.tenant AND items.kind = 'rating'
  AND items.subject = 'run:' || runs.id AND items.label = ?)`
const RATINGS = `
  SELECT subject, label, count(*) AS count FROM toolyard.items
  WHERE tenant = ? AND kind = 'rating' AND subject IN`

const timeText = (ms: number | undefined): string | undefined => (ms === undefined ? ms : new Date(ms).toISOString())

const COLUMNS = columnTypes(runTable)

interface RatingCount {
  readonly subject: string
  readonly label: string
  readonly count: number
}

type ListedRow = Omit<ListedRun, 'agent' | 'mocked' | 'ratings'> & {
  readonly agent: string | null
  readonly mocked: number | null
}

/** A run as a row: `steps` and `gate` are JSON texts. */
type RunRow = ListedRow & {
  readonly parent_run: string | null
  readonly steps: string
  readonly gate: string | null
  readonly recording: string | null
}

/** Reads runs; the ledger writes them. */
class Runs implements RunStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list({
    tenant,
    model,
    stopReason,
    tool,
    caller,
    rating,
    from,
    to,
    limit,
    cursor,
  }: RunFilter): Promise<RunPage> {
    const after = cursor === undefined ? undefined : readCursor(cursor, 'string')
    const where = new Where().and('tenant = ?', tenant).and('model = ?', model).and('stop_reason = ?', stopReason)
    where.and('caller = ?', caller).and(CALLED, tool).and('started_at >= ?', timeText(from))
    where.and('started_at < ?', timeText(to)).and(RATED, rating)
    if (after !== undefined) where.and('(started_at, id) < (?, ?)', ...after)
    const sql = [LIST, where.sql, 'ORDER BY started_at DESC, id DESC LIMIT ?'].join(' ')
    const { rows } = await this.#database.run<ListedRow>(sql, [...where.values, limit + 1])
    const runs = await this.#withRatings(tenant, rows.slice(0, limit).map(listedRun))
    const last = runs.at(-1)
    if (rows.length <= limit || last === undefined) return { runs }
    return { runs, next: Buffer.from(JSON.stringify([last.started_at, last.id])).toString('base64url') }
  }

  /** Adds how often each run was rated. */
  async #withRatings(tenant: string, runs: readonly ListedRun[]): Promise<readonly ListedRun[]> {
    if (runs.length === 0) return runs
    const subjects = runs.map(({ id }) => `run:${id}`)
    const sql = [RATINGS, placeholders(subjects), 'GROUP BY subject, label'].join(' ')
    const { rows } = await this.#database.run<RatingCount>(sql, [tenant, ...subjects])
    if (rows.length === 0) return runs
    const counted = Map.groupBy(rows, ({ subject }) => subject)
    return runs.map((run) => {
      const own = counted.get(`run:${run.id}`)
      if (own === undefined) return run
      const count = (label: string) => own.find((one) => one.label === label)?.count ?? 0
      return { ...run, ratings: { good: count('good'), bad: count('bad') } }
    })
  }

  async trim(tenant: string, most: number): Promise<number> {
    const { rows } = await this.#database.run<{ started_at: string; id: string }>(OLDEST_TO_KEEP, [tenant, most - 1])
    if (rows[0] === undefined) return 0
    return (await this.#database.run(REMOVE_OLDER, [tenant, rows[0].started_at, rows[0].id])).count
  }

  async get(tenant: string, id: string): Promise<StoredRun | undefined> {
    const sql = 'SELECT * FROM toolyard.runs WHERE tenant = ? AND id = ?'
    const { rows } = await this.#database.run<RunRow>(sql, [tenant, id])
    if (rows[0] === undefined) return undefined
    const { steps, gate, recording, parent_run, ...run } = rows[0]
    return {
      ...listedRun(run),
      steps: JSON.parse(steps),
      ...(gate !== null && { gate: JSON.parse(gate) }),
      ...(recording !== null && { recording }),
      ...(parent_run !== null && { parent_run }),
    }
  }

  async children(tenant: string, id: string, limit: number): Promise<readonly ListedRun[]> {
    const sql = [LIST, 'tenant = ? AND parent_run = ? ORDER BY started_at, id LIMIT ?'].join(' ')
    return (await this.#database.run<ListedRow>(sql, [tenant, id, limit])).rows.map(listedRun)
  }

  tenantOf(id: string): Promise<string | undefined> {
    return tenantOf(this.#database, runTable, id)
  }
}

export const runs: StoreEntry<RunStore> = { tables: [runTable], open: (database) => new Runs(database) }

const listedRun = ({ agent, mocked, ...run }: ListedRow): ListedRun => ({
  ...run,
  ...(agent !== null && { agent }),
  ...(mocked === 1 && { mocked: true }),
})

/** The tenant of a row, by its id. */
export async function tenantOf(database: Database, table: Table, id: string): Promise<string | undefined> {
  const sql = ['SELECT tenant FROM', `toolyard.${table.name}`, 'WHERE id = ? LIMIT 1'].join(' ')
  return (await database.run<{ tenant: string }>(sql, [id])).rows[0]?.tenant
}

const OLDEST_TO_KEEP = `
  SELECT started_at, id FROM toolyard.runs WHERE tenant = ? ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET ?`
const REMOVE_OLDER = 'DELETE FROM toolyard.runs WHERE tenant = ? AND (started_at, id) < (?, ?)'

/** A run that is stored already stays as it is: a batch whose answer was lost is written twice. */
export function insertRuns(database: Database, runs: readonly StoredRun[]): Statement {
  const rows = runs.map((run) => {
    const texts: RunRow = {
      ...run,
      steps: JSON.stringify(run.steps),
      gate: run.gate === undefined ? null : JSON.stringify(run.gate),
      recording: run.recording ?? null,
      parent_run: run.parent_run ?? null,
      agent: run.agent ?? null,
      mocked: run.mocked ? 1 : null,
    }
    return (Object.keys(COLUMNS) as (keyof StoredRun)[]).map((name) => texts[name])
  })
  return database.insert('toolyard.runs', COLUMNS, rows, 'ON CONFLICT (tenant, id) DO NOTHING')
}

/** A cursor is the time and the id of the last row of its page. */
export function readCursor(cursor: string, time: 'string' | 'number'): readonly [time: unknown, id: string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(value) && value.length === 2) {
      const [at, id] = value as unknown[]
      if (typeof at === time && typeof id === 'string') return [at, id]
    }
  } catch {
    // Reported below.
  }
  throw new ToolExecutionError(
    'INVALID_PARAMETERS',
    `cursor: "${cursor.slice(0, 60)}" is not a cursor of an earlier page`,
  )
}

const LIST_VALIDATIONS = `
  SELECT model_id, test_count, success_count, test_history FROM toolyard.validations
  WHERE tenant = ? ORDER BY model_id`
const GET_VALIDATION = `
  SELECT model_id, test_count, success_count, test_history FROM toolyard.validations
  WHERE tenant = ? AND model_id = ?`
const PUT_VALIDATION = `
  INSERT INTO toolyard.validations (tenant, model_id, test_count, success_count, test_history) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (tenant, model_id) DO UPDATE SET test_count = excluded.test_count,
    success_count = excluded.success_count, test_history = excluded.test_history`
const CLEAR_VALIDATIONS = 'DELETE FROM toolyard.validations WHERE tenant = ?'

type ValidationRow = Omit<StoredValidation, 'test_history'> & { readonly test_history: string }

/** Test results of models, by tenant. */
class Validations implements ValidationStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(tenant: string): Promise<readonly StoredValidation[]> {
    const { rows } = await this.#database.run<ValidationRow>(LIST_VALIDATIONS, [tenant])
    return rows.map(readValidation)
  }

  record(tenant: string, model: string, test: ModelTest): Promise<StoredValidation> {
    return this.#database.change('validations', function* () {
      const { rows } = yield* ask<ValidationRow>(GET_VALIDATION, [tenant, model])
      const before = rows[0] && readValidation(rows[0])
      const validation: StoredValidation = {
        model_id: model,
        test_count: (before?.test_count ?? 0) + 1,
        success_count: (before?.success_count ?? 0) + (test.success ? 1 : 0),
        test_history: [...(before?.test_history ?? []), test].slice(-KEPT_TESTS),
      }
      yield* putValidation(tenant, validation)
      return validation
    })
  }

  replace(tenant: string, validations: readonly StoredValidation[]): Promise<void> {
    return this.#database.change('validations', function* () {
      yield* ask(CLEAR_VALIDATIONS, [tenant])
      for (const validation of validations) yield* putValidation(tenant, validation)
    })
  }
}

export const validations: StoreEntry<ValidationStore> = { tables: [], open: (database) => new Validations(database) }

function* putValidation(tenant: string, validation: StoredValidation): Work<void> {
  const { model_id, test_count, success_count, test_history } = validation
  const history = JSON.stringify(test_history.slice(-KEPT_TESTS))
  yield* ask(PUT_VALIDATION, [tenant, model_id, test_count, success_count, history])
}

const readValidation = (row: ValidationRow): StoredValidation => ({
  ...row,
  test_history: JSON.parse(row.test_history),
})

const LIST_TOOL_USE = 'SELECT * FROM toolyard.tool_use WHERE tenant = ? ORDER BY model_id, tool, schema_hash'
const GET_TOOL_USE = `
  SELECT * FROM toolyard.tool_use WHERE tenant = ? AND model_id = ? AND tool = ? AND schema_hash = ?`
const PUT_TOOL_USE = `
  INSERT INTO toolyard.tool_use (tenant, model_id, tool, schema_hash, trials, successes, last_used, details)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, model_id, tool, schema_hash) DO UPDATE SET trials = excluded.trials,
    successes = excluded.successes, last_used = excluded.last_used, details = excluded.details`
/** A tool whose description changes at every start must not fill the table. */
const FORGET_OLDEST = `
  DELETE FROM toolyard.tool_use WHERE tenant = ? AND model_id = ? AND tool = ? AND schema_hash NOT IN (
    SELECT schema_hash FROM toolyard.tool_use WHERE tenant = ? AND model_id = ? AND tool = ?
    ORDER BY last_used DESC, schema_hash LIMIT ?
  )`
const CLEAR_TOOL_USE = 'DELETE FROM toolyard.tool_use WHERE tenant = ?'
const DOUBTFUL = `
  SELECT tenant, model_id, tool, schema_hash, trials, successes FROM toolyard.tool_use
  WHERE trials >= ? AND successes < CAST(? AS double precision) * trials`

interface ToolUseRow {
  readonly model_id: string
  readonly tool: string
  readonly schema_hash: string
  readonly last_used: string
  /** JSON: the counts by source, the kinds of failures, and the last failures. */
  readonly details: string
}

/** How models use tools, by tenant. */
class ToolUse implements ToolUseStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(tenant: string): Promise<readonly StoredToolUse[]> {
    const { rows } = await this.#database.run<ToolUseRow>(LIST_TOOL_USE, [tenant])
    return rows.map(readToolUse)
  }

  add(additions: readonly ToolUseAddition[]): Promise<void> {
    return this.#database.change('validations', function* () {
      for (const { tenant, ...more } of additions) {
        const version = [tenant, more.model_id, more.tool]
        const { rows } = yield* ask<ToolUseRow>(GET_TOOL_USE, [...version, more.schema_hash])
        yield* putToolUse(tenant, addToolUse(rows[0] && readToolUse(rows[0]), more))
        if (rows.length === 0) yield* ask(FORGET_OLDEST, [...version, ...version, KEPT_SCHEMAS])
      }
    })
  }

  replace(tenant: string, uses: readonly StoredToolUse[]): Promise<void> {
    return this.#database.change('validations', function* () {
      yield* ask(CLEAR_TOOL_USE, [tenant])
      for (const use of uses) yield* putToolUse(tenant, use)
    })
  }

  async doubtful(minimumTrials: number, threshold: number): Promise<readonly DoubtfulToolUse[]> {
    return (await this.#database.run<DoubtfulToolUse>(DOUBTFUL, [minimumTrials, threshold])).rows
  }
}

export const toolUse: StoreEntry<ToolUseStore> = { tables: [toolUseTable], open: (database) => new ToolUse(database) }

function* putToolUse(tenant: string, use: StoredToolUse): Work<void> {
  const { model_id, tool, schema_hash, last_used, suite, run, failure_kinds } = use
  const failures = use.failures.slice(-KEPT_FAILURES)
  const details = JSON.stringify({ suite, run, failure_kinds, failures })
  const counts = [suite.trials + run.trials, suite.successes + run.successes]
  yield* ask(PUT_TOOL_USE, [tenant, model_id, tool, schema_hash, ...counts, last_used, details])
}

function readToolUse({ model_id, tool, schema_hash, last_used, details }: ToolUseRow): StoredToolUse {
  const { suite, run, failure_kinds, failures } = JSON.parse(details)
  return { model_id, tool, schema_hash, suite, run, last_used, failure_kinds, failures }
}
