/** Stored tests per model. Older ones are only counted. */
export const KEPT_TESTS = 100

export interface ModelTest {
  readonly timestamp: string
  readonly success: boolean
  readonly details?: unknown
  readonly error?: string
}

export interface ModelValidation {
  readonly model_id: string
  readonly tested: boolean
  readonly validated: boolean
  readonly test_count: number
  readonly success_count: number
  readonly last_tested: string | null
  /** Newest last. Tests before the last 100 are only counted. */
  readonly test_history: readonly ModelTest[]
}

export interface StoredValidation {
  readonly model_id: string
  readonly test_count: number
  readonly success_count: number
  readonly test_history: readonly ModelTest[]
}

export interface ValidationStore {
  list(tenant: string): Promise<readonly StoredValidation[]>
  /** Adds one test. Returns the updated record. */
  record(tenant: string, model: string, test: ModelTest): Promise<StoredValidation>
  /** Replaces all records of the tenant. */
  replace(tenant: string, validations: readonly StoredValidation[]): Promise<void>
}
