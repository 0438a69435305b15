import { describe, test } from 'vitest'

describe('Audit', () => {
  test.todo('every execution leaves a record: tenant, tool, params_hash, outcome, error code, time')
  test.todo('every execution leaves a record: kept 7 days')
  test.todo('every execution leaves a record: a failing audit store never fails a call, and is reported')
})
