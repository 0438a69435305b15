import {
  KEPT_TESTS,
  type ModelTest,
  type StoredValidation,
  type ValidationStore,
} from '../../core/storage/validation-store.ts'
import type { PostgresDatabase } from './postgres-database.ts'

const LIST = `
  SELECT model_id, test_count, success_count, test_history FROM toolyard.validations
  WHERE tenant = $1 ORDER BY model_id`

/** One statement, so that no test that is recorded at the same time is lost. */
const RECORD = `
  WITH recorded AS (
    INSERT INTO toolyard.validations AS v (tenant, model_id, test_count, success_count, test_history)
    VALUES ($1, $2, 1, $3, ARRAY[$4::text])
    ON CONFLICT (tenant, model_id) DO UPDATE SET
      test_count = v.test_count + 1,
      success_count = v.success_count + excluded.success_count,
      test_history = (v.test_history || excluded.test_history)[greatest(1, cardinality(v.test_history) + 2 - $5):]
    RETURNING model_id, test_count, success_count, test_history
  )
  SELECT recorded.*, pg_notify('toolyard', 'validations') FROM recorded`

/** Nobody may record meanwhile: what is put in its place is all there is afterwards. */
const LOCK = 'LOCK TABLE toolyard.validations IN SHARE ROW EXCLUSIVE MODE'

const CLEAR = 'DELETE FROM toolyard.validations WHERE tenant = $1'

const ADD = `
  INSERT INTO toolyard.validations (tenant, model_id, test_count, success_count, test_history)
  VALUES ($1, $2, $3, $4, $5)`

const TELL = "SELECT pg_notify('toolyard', 'validations')"

interface ValidationRow extends Omit<StoredValidation, 'test_history'> {
  readonly test_history: readonly string[]
}

/** Which model passed which tests, by tenant; each change is told to all servers. */
export class PostgresValidations implements ValidationStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async list(tenant: string): Promise<readonly StoredValidation[]> {
    const { rows } = await this.#database.run<ValidationRow>(LIST, [tenant])
    return rows.map(toValidation)
  }

  async record(tenant: string, model: string, test: ModelTest): Promise<StoredValidation> {
    const values = [tenant, model, test.success ? 1 : 0, JSON.stringify(test), KEPT_TESTS]
    const { rows } = await this.#database.run<ValidationRow>(RECORD, values)
    return toValidation(rows[0] as ValidationRow)
  }

  async replace(tenant: string, validations: readonly StoredValidation[]): Promise<void> {
    await this.#database.transaction(async (statements) => {
      await statements.run(LOCK)
      await statements.run(CLEAR, [tenant])
      for (const { model_id, test_count, success_count, test_history } of validations) {
        const history = test_history.slice(-KEPT_TESTS).map((test) => JSON.stringify(test))
        await statements.run(ADD, [tenant, model_id, test_count, success_count, history])
      }
      await statements.run(TELL)
    })
  }
}

const toValidation = ({ model_id, test_count, success_count, test_history }: ValidationRow): StoredValidation => ({
  model_id,
  test_count,
  success_count,
  test_history: test_history.map((test) => JSON.parse(test)),
})
