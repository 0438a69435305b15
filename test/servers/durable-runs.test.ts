import { expect, test } from 'vitest'
import { FULL } from '../setup/full.ts'
import { expectModelAskedOnce, expectSameAnswers, expectWritesOnce, killOnPostgres } from './durable-world.ts'

// On SQLite: spec/12-durable-runs.spec.ts.
test.runIf(FULL)(
  'runs continue on the other server after theirs was killed at any step, on PostgreSQL',
  {
    timeout: 300_000,
  },
  async () => {
    expect.hasAssertions()
    const outcome = await killOnPostgres()
    expectSameAnswers(outcome)
    expectModelAskedOnce(outcome)
    expectWritesOnce(outcome)
  },
)
