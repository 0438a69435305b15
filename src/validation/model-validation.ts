import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import {
  KEPT_TESTS,
  type ModelTest,
  type ModelValidation,
  type StoredValidation,
  type ValidationStore,
} from '../core/storage/validation-store.ts'

/** The part of its tests that a model must pass. */
const PASSED = 0.8
const LONGEST_MODEL = 200

/** Whether a model can be called so. */
export const isModelName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= LONGEST_MODEL && !/\p{Cc}/u.test(name)

/** What the counts of a model mean: nothing of it is kept, so that it can never disagree with them. */
export function modelValidation(stored: StoredValidation): ModelValidation {
  const { model_id, test_count, success_count, test_history } = stored
  return {
    model_id,
    tested: test_count > 0,
    validated: test_count > 0 && success_count / test_count >= PASSED,
    test_count,
    success_count,
    last_tested: test_history.at(-1)?.timestamp ?? null,
    test_history,
  }
}

/** A test of a model that cannot be recorded, or a file of such tests that cannot be used. */
export class ModelValidationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ModelValidationError'
  }
}

/** Writes records to a file, whole or not at all: whoever reads it meanwhile gets the old one or the new one. */
export async function writeValidations(file: string, validations: readonly ModelValidation[]): Promise<void> {
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
    throw new ModelValidationError(`The model tests could not be saved in "${file}": ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** Reads what `writeValidations` wrote; throws on anything that the records of tests cannot be. */
export async function readValidations(file: string): Promise<StoredValidation[]> {
  try {
    const content: unknown = JSON.parse(await readFile(file, 'utf8'))
    const list = isObject(content) ? content.validations : undefined
    if (!Array.isArray(list)) throw new Fault('it is no object with a list "validations"')
    const found = list.map((one, index) => validation(one, `validations[${index}]`))
    const names = new Set<string>()
    for (const { model_id } of found) {
      if (names.has(model_id)) throw new Fault(`the model ${JSON.stringify(model_id)} is in it twice`)
      names.add(model_id)
    }
    return found
  } catch (error) {
    throw new ModelValidationError(
      `The model tests in "${file}" could not be loaded: ${reasonOf(error)}. Nothing was changed.`,
      { cause: error },
    )
  }
}

/** Where a file is not what it should be; said as part of the whole sentence. */
class Fault extends Error {}

/** Only the counts and the history are read: what follows from them is worked out anew. */
function validation(value: unknown, path: string): StoredValidation {
  if (!isObject(value)) throw new Fault(`${path} is no object`)
  const { model_id, test_count, success_count, test_history } = value
  if (!isModelName(model_id)) throw new Fault(`${path}.model_id is no name of a model`)
  if (!isCount(test_count)) throw new Fault(`${path}.test_count is no number of tests`)
  if (!isCount(success_count) || success_count > test_count) {
    throw new Fault(`${path}.success_count is no number from 0 to ${test_count}`)
  }
  if (!Array.isArray(test_history)) throw new Fault(`${path}.test_history is no list`)
  const tests = test_history.map((one, index) => test(one, `${path}.test_history[${index}]`))
  const passed = tests.filter(({ success }) => success).length
  const fits = passed <= success_count && tests.length - passed <= test_count - success_count
  if (!fits || (tests.length === 0 && test_count > 0)) {
    throw new Fault(`${path}.test_history does not fit the counts`)
  }
  return { model_id, test_count, success_count, test_history: tests.slice(-KEPT_TESTS) }
}

function test(value: unknown, path: string): ModelTest {
  if (!isObject(value)) throw new Fault(`${path} is no object`)
  const { timestamp, success, details, error } = value
  if (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp)))
    throw new Fault(`${path}.timestamp is no time`)
  if (typeof success !== 'boolean') throw new Fault(`${path}.success is neither true nor false`)
  if (error !== undefined && typeof error !== 'string') throw new Fault(`${path}.error is no text`)
  return { timestamp, success, ...(details !== undefined && { details }), ...(error !== undefined && { error }) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function reasonOf(error: unknown): string {
  const code = (Object(error) as { code?: unknown }).code
  if (error instanceof SyntaxError) return 'it is no JSON'
  if (code === 'ENOENT') return 'there is no such file or folder'
  if (typeof code === 'string') return `the system says ${code}`
  return error instanceof Error ? error.message : String(error)
}

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
