import {
  KEPT_TESTS,
  type ModelTest,
  type StoredValidation,
  type ValidationStore,
} from '../../core/storage/validation-store.ts'
import type { SqliteChanges } from './sqlite-changes.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

type ValidationRow = Omit<StoredValidation, 'test_history'> & { readonly test_history: string }

export class SqliteValidations implements ValidationStore {
  readonly #database: SqliteDatabase
  readonly #changes: SqliteChanges

  constructor(database: SqliteDatabase, changes: SqliteChanges) {
    this.#database = database
    this.#changes = changes
  }

  async list(tenant: string): Promise<readonly StoredValidation[]> {
    const rows = this.#database.all<ValidationRow>(
      `SELECT model_id, test_count, success_count, test_history
       FROM validations WHERE tenant = ? ORDER BY model_id`,
      tenant,
    )
    return rows.map(readRow)
  }

  async record(tenant: string, model: string, test: ModelTest): Promise<StoredValidation> {
    return this.#changes.write('validations', () => {
      const row = this.#database.get<ValidationRow>(
        `SELECT model_id, test_count, success_count, test_history
         FROM validations WHERE tenant = ? AND model_id = ?`,
        tenant,
        model,
      )
      const old = row && readRow(row)
      const validation: StoredValidation = {
        model_id: model,
        test_count: (old?.test_count ?? 0) + 1,
        success_count: (old?.success_count ?? 0) + (test.success ? 1 : 0),
        test_history: [...(old?.test_history ?? []), test].slice(-KEPT_TESTS),
      }
      this.#put(tenant, validation)
      return validation
    })
  }

  async replace(tenant: string, validations: readonly StoredValidation[]): Promise<void> {
    this.#changes.write('validations', () => {
      this.#database.run('DELETE FROM validations WHERE tenant = ?', tenant)
      for (const validation of validations) {
        this.#put(tenant, { ...validation, test_history: validation.test_history.slice(-KEPT_TESTS) })
      }
    })
  }

  #put(tenant: string, { model_id, test_count, success_count, test_history }: StoredValidation): void {
    this.#database.run(
      `INSERT INTO validations (tenant, model_id, test_count, success_count, test_history) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (tenant, model_id) DO UPDATE SET test_count = excluded.test_count,
         success_count = excluded.success_count, test_history = excluded.test_history`,
      tenant,
      model_id,
      test_count,
      success_count,
      JSON.stringify(test_history),
    )
  }
}

const readRow = (row: ValidationRow): StoredValidation => ({ ...row, test_history: JSON.parse(row.test_history) })
