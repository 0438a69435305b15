import assert from 'node:assert/strict'
import type { ModelTest } from '../../../src/core/storage/validation-store.ts'
import { type Clauses, NUL, refuses, UNICODE } from './contract-store.ts'

const MODEL = 'openai:gpt-4o'
const tested = (minute: number, more: Partial<ModelTest> = {}): ModelTest => ({
  timestamp: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  success: true,
  ...more,
})

export const validationClauses: Clauses = {
  'validations: a test is added, and the record given with it': async (store) => {
    const { validations } = await store.open()
    const details = { calls: [1, null, UNICODE], nul: NUL }
    const failed = tested(1, { success: false, error: UNICODE, details })
    assert.deepEqual(await validations.record('acme', MODEL, tested(0)), {
      model_id: MODEL,
      test_count: 1,
      success_count: 1,
      test_history: [tested(0)],
    })
    const record = await validations.record('acme', MODEL, failed)
    const expected = { model_id: MODEL, test_count: 2, success_count: 1, test_history: [tested(0), failed] }
    assert.deepEqual(record, expected)
    assert.deepEqual(await validations.list('acme'), [expected])
  },

  'validations: the last 100 tests are stored, and all are counted': async (store) => {
    const { validations } = await store.open()
    for (let minute = 0; minute < 105; minute++) {
      await validations.record('acme', MODEL, tested(minute, { success: minute % 2 === 0 }))
    }
    const [record] = await validations.list('acme')
    assert.equal(record?.test_count, 105)
    assert.equal(record?.success_count, 53)
    assert.deepEqual(
      record?.test_history.map(({ timestamp }) => timestamp),
      Array.from({ length: 100 }, (_, index) => tested(index + 5).timestamp),
    )
  },

  'validations: no test is lost if two instances record at once': async (store) => {
    const both = await store.openTwo()
    const recorded = Array.from({ length: 30 }, (_, minute) =>
      (both[minute % 2] as (typeof both)[0]).validations.record('acme', MODEL, tested(minute)),
    )
    const counts = (await Promise.all(recorded)).map(({ test_count }) => test_count)
    assert.deepEqual(
      counts.toSorted((a, b) => a - b),
      Array.from({ length: 30 }, (_, index) => index + 1),
    )
    const [record] = await both[0].validations.list('acme')
    assert.equal(record?.test_history.length, 30)
  },

  'validations: a tenant has its own, in the order of the models': async (store) => {
    const { validations } = await store.open()
    for (const model of ['b', 'B', 'a']) await validations.record('acme', model, tested(0))
    await validations.record('other', 'a', tested(0, { success: false }))
    assert.deepEqual(
      (await validations.list('acme')).map(({ model_id }) => model_id),
      ['B', 'a', 'b'],
    )
    assert.deepEqual(await validations.list('other'), [
      { model_id: 'a', test_count: 1, success_count: 0, test_history: [tested(0, { success: false })] },
    ])
    assert.deepEqual(await validations.list('nobody'), [])
  },

  "validations: a tenant's records are replaced whole, and nobody else's": async (store) => {
    const { validations } = await store.open()
    await validations.record('acme', 'old', tested(0))
    await validations.record('other', 'old', tested(0))
    const history = Array.from({ length: 120 }, (_, minute) => tested(minute))
    await validations.replace('acme', [
      { model_id: 'new', test_count: 500, success_count: 400, test_history: history },
      { model_id: 'also', test_count: 0, success_count: 0, test_history: [] },
    ])
    assert.deepEqual(await validations.list('acme'), [
      { model_id: 'also', test_count: 0, success_count: 0, test_history: [] },
      { model_id: 'new', test_count: 500, success_count: 400, test_history: history.slice(-100) },
    ])
    assert.equal((await validations.list('other')).length, 1)
    await validations.replace('acme', [])
    assert.deepEqual(await validations.list('acme'), [])
  },

  'validations: replacing them fails whole': async (store) => {
    const { validations } = await store.open()
    await validations.record('acme', 'old', tested(0))
    const record = { test_count: 1, success_count: 1, test_history: [tested(0)] }
    await refuses(
      validations.replace('acme', [
        { model_id: 'new', ...record },
        { model_id: NUL, ...record },
      ]),
    )
    assert.deepEqual(await validations.list('acme'), [{ model_id: 'old', ...record }])
  },

  'validations: NUL in a name is refused': async (store) => {
    const { validations } = await store.open()
    await refuses(validations.record(NUL, MODEL, tested(0)))
    await refuses(validations.record('acme', NUL, tested(0)))
    await refuses(validations.list(NUL))
    assert.deepEqual(await validations.list('acme'), [])
  },
}
