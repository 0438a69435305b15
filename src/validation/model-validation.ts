import type { ModelValidation, StoredValidation } from '../core/storage/validation-store.ts'

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
