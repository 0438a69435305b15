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
  /** Where test results are stored; in memory by default. */
  readonly store?: ValidationStore
  /** The tenant; the local one by default. */
  readonly tenant?: string
  readonly clock?: Clock
}

const MAX_SHOWN_CHARACTERS = 200
const MAX_ERROR_CHARACTERS = 2_000
const MAX_DETAILS_BYTES = 65_536

/** Records tool-calling tests of models, and tells which models are validated. */
export class ModelValidationTracker {
  readonly #store: ValidationStore
  readonly #tenant: string
  readonly #clock: Clock

  constructor({ store, tenant, clock }: ModelValidationTrackerOptions = {}) {
    this.#store = store ?? new MemoryValidations()
    this.#tenant = tenant ?? LOCAL_TENANT
    this.#clock = clock ?? systemClock
  }

  /** Records a test that the model passed, and returns the model's updated status. */
  async recordSuccess(model: string, details?: unknown): Promise<ModelValidation> {
    return this.#record(model, { success: true }, details)
  }

  /** Records a test that the model failed, with the reason. */
  async recordFailure(model: string, error: unknown, details?: unknown): Promise<ModelValidation> {
    return this.#record(model, { success: false, ...(error !== undefined && { error: sentence(error) }) }, details)
  }

  /** Whether the model was tested and passed at least 80 % of its tests. */
  async isValidated(model: string): Promise<boolean> {
    return (await this.getStatus(model)).validated
  }

  /** The model's status; `tested` is false if there are no tests. */
  async getStatus(model: string): Promise<ModelValidation> {
    const found = (await this.#store.list(this.#tenant)).find(({ model_id }) => model_id === model)
    return modelValidation(found ?? { model_id: model, test_count: 0, success_count: 0, test_history: [] })
  }

  /** The status of every tested model. */
  async getAllValidations(): Promise<ModelValidation[]> {
    return (await this.#store.list(this.#tenant)).map(modelValidation)
  }

  /** Writes all test results to a JSON file. */
  async save(file: string): Promise<void> {
    await writeValidations(file, await this.getAllValidations())
  }

  /** Replaces all test results with those in a file; an invalid file changes nothing. */
  async load(file: string): Promise<void> {
    await this.#store.replace(this.#tenant, await readValidations(file))
  }

  async #record(model: string, test: Omit<ModelTest, 'timestamp'>, details: unknown): Promise<ModelValidation> {
    if (!isModelName(model))
      throw new ModelValidationError(`A model name looks like "openai:gpt-4o", not ${shown(model)}`)
    const timestamp = new Date(this.#clock.wall()).toISOString()
    const recorded = details === undefined ? {} : { details: plain(details) }
    return modelValidation(await this.#store.record(this.#tenant, model, { timestamp, ...test, ...recorded }))
  }
}

/** Copies details as JSON; the size limit allows a hundred of them per model. */
function plain(details: unknown): unknown {
  let text: string | undefined
  try {
    text = JSON.stringify(details)
  } catch (cause) {
    throw new ModelValidationError('The details of a test must be a JSON value', { cause })
  }
  if (text === undefined) throw new ModelValidationError('The details of a test must be a JSON value')
  if (Buffer.byteLength(text) > MAX_DETAILS_BYTES) {
    throw new ModelValidationError(`The details of a test exceed ${MAX_DETAILS_BYTES} bytes of JSON: record less`)
  }
  return JSON.parse(text)
}

function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : JSON.stringify(plain(error))
  return text.length > MAX_ERROR_CHARACTERS ? `${text.slice(0, MAX_ERROR_CHARACTERS - 1)}…` : text
}

const shown = (model: unknown): string =>
  typeof model === 'string' ? JSON.stringify(model.slice(0, MAX_SHOWN_CHARACTERS)) : `a value of type ${typeof model}`
