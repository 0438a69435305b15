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
import { ask, type Database, type Work } from './database.ts'

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
export class Validations implements ValidationStore {
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
export class ToolUse implements ToolUseStore {
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
