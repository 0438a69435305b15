import { describe, test } from 'vitest'

describe('Model validation', () => {
  test.todo('per model {model_id, tested, validated, test_count, success_count, last_tested, test_history}')
  test.todo('validated = at least one test and success_count / test_count ≥ 0.8')
  test.todo('the badge shows exactly this, with the number of trials beside it')
  test.todo('a test is recorded only by POST /api/tools/validate and by suites')
  test.todo('POST /api/tools/test records nothing')
  test.todo('real runs are counted per model × tool, never in test_count')
  test.todo('kept across restarts')
  test.todo('a history view')
  test.todo('a warning on models not validated')
  test.todo('ModelValidationTracker: recordSuccess, recordFailure, isValidated, getStatus, save, load')
})
