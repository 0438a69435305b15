/** How many tests of a model are kept one by one; older ones are only counted. */
export const KEPT_TESTS = 100

/** One test of a model. */
export interface ModelTest {
  /** ISO 8601. */
  readonly timestamp: string
  readonly success: boolean
  readonly details?: unknown
  readonly error?: string
}

/** What the tests of a model came to. */
export interface ModelValidation {
  readonly model_id: string
  readonly tested: boolean
  readonly validated: boolean
  readonly test_count: number
  readonly success_count: number
  readonly last_tested: string | null
  /** The newest last; older ones than the last 100 are only counted. */
  readonly test_history: readonly ModelTest[]
}

/** The counts and the history of one model, as they are kept. */
export interface StoredValidation {
  readonly model_id: string
  readonly test_count: number
  readonly success_count: number
  readonly test_history: readonly ModelTest[]
}

export interface ValidationStore {
  list(tenant: string): Promise<readonly StoredValidation[]>
  /** Adds one test, and gives the model's record with it. */
  record(tenant: string, model: string, test: ModelTest): Promise<StoredValidation>
  /** Takes the place of everything that the tenant has on record. */
  replace(tenant: string, validations: readonly StoredValidation[]): Promise<void>
}
