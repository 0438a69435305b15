import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import {
  KEPT_TESTS,
  type ModelTest,
  type ModelValidation,
  type StoredValidation,
} from '../core/storage/validation-store.ts'
import { isModelName } from './model-validation.ts'
import { ModelValidationError } from './model-validation-error.ts'

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
