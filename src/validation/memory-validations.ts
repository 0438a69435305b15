import {
  KEPT_TESTS,
  type ModelTest,
  type StoredValidation,
  type ValidationStore,
} from '../core/storage/validation-store.ts'

/** Records of one process, gone when it ends. */
export class MemoryValidations implements ValidationStore {
  readonly #tenants = new Map<string, ReadonlyMap<string, StoredValidation>>()

  async list(tenant: string): Promise<readonly StoredValidation[]> {
    return structuredClone([...(this.#tenants.get(tenant)?.values() ?? [])].sort(byModel))
  }

  async record(tenant: string, model: string, test: ModelTest): Promise<StoredValidation> {
    const models = this.#tenants.get(tenant)
    const before = models?.get(model)
    const after: StoredValidation = {
      model_id: model,
      test_count: (before?.test_count ?? 0) + 1,
      success_count: (before?.success_count ?? 0) + (test.success ? 1 : 0),
      test_history: [...(before?.test_history ?? []), test].slice(-KEPT_TESTS),
    }
    this.#tenants.set(tenant, new Map(models).set(model, after))
    return structuredClone(after)
  }

  async replace(tenant: string, validations: readonly StoredValidation[]): Promise<void> {
    this.#tenants.set(tenant, new Map(structuredClone(validations).map((one) => [one.model_id, one])))
  }
}

const byModel = (a: StoredValidation, b: StoredValidation): number => (a.model_id < b.model_id ? -1 : 1)
