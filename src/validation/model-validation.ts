import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { type Checks, checkAll, clock, logger, methods, nonEmpty } from '../core/check-options.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { parseJson, RefusedJsonError } from '../core/json/json-depth.ts'
import { type Log, silentLog } from '../core/log.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import {
  KEPT_TESTS,
  type ModelTest,
  type ModelValidation,
  type StoredValidation,
  type ValidationStore,
} from '../core/storage/validation-store.ts'

const REQUIRED_RATE = 0.8
const MAX_MODEL_NAME = 200

const isModelName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= MAX_MODEL_NAME && !/\p{Cc}/u.test(name)

/** Derives a model's status from its stored counts; the status itself isn't stored, so it can't disagree with them. */
export function modelValidation(stored: StoredValidation): ModelValidation {
  const { model_id, test_count, success_count, test_history } = stored
  return {
    model_id,
    tested: test_count > 0,
    validated: test_count > 0 && success_count / test_count >= REQUIRED_RATE,
    test_count,
    success_count,
    last_tested: test_history.at(-1)?.timestamp ?? null,
    test_history,
  }
}

/** A model test can't be recorded, or a file of model tests can't be read or written. */
export class ModelValidationError extends Error {
  override readonly name = 'ModelValidationError'
}

/** Writes records to a file atomically: readers see either the old or the new contents. */
async function writeValidations(file: string, validations: readonly ModelValidation[]): Promise<void> {
  const next = `${file}.${randomUUID()}.next`
  try {
    const handle = await open(next, 'wx')
    try {
      await handle.writeFile(`${JSON.stringify({ validations }, undefined, 2)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(next, file)
  } catch (error) {
    await rm(next, { force: true }).catch(() => {})
    throw new ModelValidationError(`The model tests could not be saved in "${file}": ${fileProblem(error)}`, {
      cause: error,
    })
  }
}

/** Reads a file that `writeValidations` wrote; throws a `ModelValidationError` if its contents are invalid. */
export async function readValidations(file: string): Promise<StoredValidation[]> {
  try {
    const content: unknown = parseJson(await readFile(file, 'utf8'))
    const list = isObject(content) ? content.validations : undefined
    if (!Array.isArray(list)) throw new FileFault('it isn\'t an object with a list "validations"')
    const found = list.map((one, index) => validation(one, `validations[${index}]`))
    const names = new Set<string>()
    for (const { model_id } of found) {
      if (names.has(model_id)) throw new FileFault(`the model ${JSON.stringify(model_id)} appears twice`)
      names.add(model_id)
    }
    return found
  } catch (error) {
    throw new ModelValidationError(
      `The model tests in "${file}" could not be loaded: ${fileProblem(error)}. Nothing was changed.`,
      { cause: error },
    )
  }
}

/** What is wrong with the contents of a file, as part of a sentence. */
export class FileFault extends Error {}

/** Reads only counts and history; everything else is derived from them. */
function validation(value: unknown, path: string): StoredValidation {
  if (!isObject(value)) throw new FileFault(`${path} isn't an object`)
  const { model_id, test_count, success_count, test_history } = value
  if (!isModelName(model_id)) throw new FileFault(`${path}.model_id isn't a model name`)
  if (!isCount(test_count)) throw new FileFault(`${path}.test_count isn't a count`)
  if (!isCount(success_count) || success_count > test_count) {
    throw new FileFault(`${path}.success_count isn't a number from 0 to ${test_count}`)
  }
  if (!Array.isArray(test_history)) throw new FileFault(`${path}.test_history isn't a list`)
  const tests = test_history.map((one, index) => test(one, `${path}.test_history[${index}]`))
  const passed = tests.filter(({ success }) => success).length
  const fits = passed <= success_count && tests.length - passed <= test_count - success_count
  if (!fits || (tests.length === 0 && test_count > 0)) {
    throw new FileFault(`${path}.test_history doesn't match the counts`)
  }
  return { model_id, test_count, success_count, test_history: tests.slice(-KEPT_TESTS) }
}

function test(value: unknown, path: string): ModelTest {
  if (!isObject(value)) throw new FileFault(`${path} isn't an object`)
  const { timestamp, success, details, error } = value
  if (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp)))
    throw new FileFault(`${path}.timestamp isn't a date`)
  if (typeof success !== 'boolean') throw new FileFault(`${path}.success isn't true or false`)
  if (error !== undefined && typeof error !== 'string') throw new FileFault(`${path}.error isn't a string`)
  return { timestamp, success, ...(details !== undefined && { details }), ...(error !== undefined && { error }) }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Explains why a file could not be read or written, as part of a sentence. */
export function fileProblem(error: unknown): string {
  const code = (Object(error) as { code?: unknown }).code
  if (error instanceof RefusedJsonError) return `it ${error.message}`
  if (error instanceof SyntaxError) return "it isn't JSON"
  if (code === 'ENOENT') return 'there is no such file or folder'
  if (typeof code === 'string') return `the system reports ${code}`
  return error instanceof Error ? error.message : String(error)
}

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

export interface ModelValidationTrackerOptions {
  readonly store?: ValidationStore
  readonly tenant?: string
  readonly clock?: Clock
  readonly log?: Log
}

const OPTIONS: Checks<ModelValidationTrackerOptions> = {
  store: methods('list', 'record', 'replace'),
  ...{ tenant: nonEmpty, clock, log: logger },
}

const MAX_SHOWN_CHARACTERS = 200
const MAX_ERROR_CHARACTERS = 2_000
const MAX_DETAILS_BYTES = 65_536

/** Records tool-calling tests of models, and tells which models are validated. */
export class ModelValidationTracker {
  readonly #store: ValidationStore
  readonly #tenant: string
  readonly #clock: Clock
  readonly #log: Log
  /** Whether models are validated, as far as it is known without asking the store. */
  #known = new Map<string, boolean>()
  /** Whether the store was read. */
  #isRead: boolean

  constructor(options: ModelValidationTrackerOptions = {}) {
    checkAll('ModelValidationTracker', options, OPTIONS)
    const { store, tenant, clock, log } = options
    this.#store = store ?? new MemoryValidations()
    this.#tenant = tenant ?? LOCAL_TENANT
    this.#clock = clock ?? systemClock
    this.#log = log ?? silentLog
    this.#isRead = store === undefined
  }

  /** Records a test that the model passed, and returns the model's updated status. */
  async recordSuccess(model: string, details?: unknown): Promise<ModelValidation> {
    return this.#record(model, { success: true }, details)
  }

  /** Records a test that the model failed, with the reason. */
  async recordFailure(model: string, error: unknown, details?: unknown): Promise<ModelValidation> {
    return this.#record(model, { success: false, ...(error !== undefined && { error: sentence(error) }) }, details)
  }

  /**
   * Whether the model was tested and passed at least 80 % of its tests, as far as this tracker has loaded, recorded or listed
   * them. Throws if it has a store and has read nothing of it yet.
   */
  isValidated(model: string): boolean {
    if (this.#isRead || this.#known.has(model)) return this.#known.get(model) === true
    throw new ModelValidationError('Nothing was read from the store yet: await getAllValidations() first')
  }

  /** The model's status; `tested` is false if there are no tests. */
  async getStatus(model: string): Promise<ModelValidation> {
    const found = (await this.getAllValidations()).find(({ model_id }) => model_id === model)
    return found ?? modelValidation({ model_id: model, test_count: 0, success_count: 0, test_history: [] })
  }

  async getAllValidations(): Promise<ModelValidation[]> {
    const all = (await this.#store.list(this.#tenant)).map(modelValidation)
    this.#known = new Map(all.map(({ model_id, validated }) => [model_id, validated]))
    this.#isRead = true
    return all
  }

  async save(file: string): Promise<void> {
    await writeValidations(file, await this.getAllValidations())
  }

  /** Replaces all test results with those in a file. A missing file changes nothing. Rejects if the file is invalid. */
  async load(file: string): Promise<void> {
    const found = await readValidations(file).catch((error: ModelValidationError) => {
      if ((Object(error.cause) as { code?: unknown }).code !== 'ENOENT') throw error
      this.#log.warn({ file }, 'There is no file of model tests yet')
      return undefined
    })
    if (found !== undefined) await this.#store.replace(this.#tenant, found)
    await this.getAllValidations()
  }

  async #record(model: string, test: Omit<ModelTest, 'timestamp'>, details: unknown): Promise<ModelValidation> {
    if (!isModelName(model))
      throw new ModelValidationError(`A model name looks like "openai:gpt-4o", not ${shown(model)}`)
    const timestamp = new Date(this.#clock.wall()).toISOString()
    const recorded = details === undefined ? {} : { details: plain(details) }
    const stored = await this.#store.record(this.#tenant, model, { timestamp, ...test, ...recorded })
    const validation = modelValidation(stored)
    this.#known.set(model, validation.validated)
    return validation
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
