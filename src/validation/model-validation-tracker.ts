import { LOCAL_TENANT } from '../core/call.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { ModelTest, ModelValidation, ValidationStore } from '../core/storage/validation-store.ts'
import {
  isModelName,
  MemoryValidations,
  ModelValidationError,
  modelValidation,
  readValidations,
  writeValidations,
} from './model-validation.ts'

export interface ModelValidationTrackerOptions {
  /** Where tests are kept; without it, in memory. */
  readonly store?: ValidationStore
  /** Whose tests these are; without it, those of the local tenant. */
  readonly tenant?: string
  readonly clock?: Clock
}

const LONGEST_SHOWN = 200
const LONGEST_ERROR = 2_000
const MOST_DETAILS = 65_536

/** Which models have shown that they can use tools: records tests, and judges a model by all that it has. */
export class ModelValidationTracker {
  readonly #store: ValidationStore
  readonly #tenant: string
  readonly #clock: Clock

  constructor({ store, tenant, clock }: ModelValidationTrackerOptions = {}) {
    this.#store = store ?? new MemoryValidations()
    this.#tenant = tenant ?? LOCAL_TENANT
    this.#clock = clock ?? systemClock
  }

  /** Records a test that the model passed; gives its record with it. */
  async recordSuccess(model: string, details?: unknown): Promise<ModelValidation> {
    return this.#record(model, { success: true }, details)
  }

  /** Records a test that the model failed, and why. */
  async recordFailure(model: string, error: unknown, details?: unknown): Promise<ModelValidation> {
    return this.#record(model, { success: false, ...(error !== undefined && { error: sentence(error) }) }, details)
  }

  /** Whether at least four of five tests of the model were passed, and there was one. */
  async isValidated(model: string): Promise<boolean> {
    return (await this.getStatus(model)).validated
  }

  /** The model's record; that of one never tested says so. */
  async getStatus(model: string): Promise<ModelValidation> {
    const found = (await this.#store.list(this.#tenant)).find(({ model_id }) => model_id === model)
    return modelValidation(found ?? { model_id: model, test_count: 0, success_count: 0, test_history: [] })
  }

  /** The records of all models that were tested. */
  async getAllValidations(): Promise<ModelValidation[]> {
    return (await this.#store.list(this.#tenant)).map(modelValidation)
  }

  /** Writes all records to a JSON file. */
  async save(file: string): Promise<void> {
    await writeValidations(file, await this.getAllValidations())
  }

  /** Puts the records of a file in the place of those that there are; a file that is no good changes nothing. */
  async load(file: string): Promise<void> {
    await this.#store.replace(this.#tenant, await readValidations(file))
  }

  async #record(model: string, test: Omit<ModelTest, 'timestamp'>, details: unknown): Promise<ModelValidation> {
    if (!isModelName(model))
      throw new ModelValidationError(`A model is named such as "openai:gpt-4o", not ${shown(model)}`)
    const timestamp = new Date(this.#clock.wall()).toISOString()
    const kept = details === undefined ? {} : { details: plain(details) }
    return modelValidation(await this.#store.record(this.#tenant, model, { timestamp, ...test, ...kept }))
  }
}

/** A copy as JSON, of a size that can be kept a hundred times for each model. */
function plain(details: unknown): unknown {
  let text: string | undefined
  try {
    text = JSON.stringify(details)
  } catch (cause) {
    throw new ModelValidationError('What is recorded of a test must be a JSON value', { cause })
  }
  if (text === undefined) throw new ModelValidationError('What is recorded of a test must be a JSON value')
  if (Buffer.byteLength(text) > MOST_DETAILS) {
    throw new ModelValidationError(`What is recorded of a test may be ${MOST_DETAILS} bytes of JSON: record less of it`)
  }
  return JSON.parse(text)
}

function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : JSON.stringify(plain(error))
  return text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR - 1)}…` : text
}

const shown = (model: unknown): string =>
  typeof model === 'string' ? JSON.stringify(model.slice(0, LONGEST_SHOWN)) : `by a value of type ${typeof model}`
