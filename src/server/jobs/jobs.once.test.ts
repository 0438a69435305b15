import { describe, expect, test } from 'vitest'
import { caller, jobSetup } from './fixtures/job-setup.ts'

const ADA = caller('acme', 'ada')

describe('an idempotency key', () => {
  test('gives a repeat the job of the first, which runs once', async () => {
    let runs = 0
    const { jobs, start, ended } = await jobSetup({ pay: { run: () => ++runs } })
    const request = { tool_name: 'pay', params: { sum: 5, to: 'Bob' }, idempotencyKey: 'order-7' }
    const [first, second] = await Promise.all([start(ADA, request), start(ADA, request)])
    expect(second.id).toBe(first.id)
    await ended(ADA, first.id)
    const third = await start(ADA, { ...request, params: { to: 'Bob', sum: 5 } })
    expect(third).toMatchObject({ id: first.id, state: 'done', result: { result: 1 } })
    expect(runs).toBe(1)
    expect(await jobs.list(ADA, 10)).toHaveLength(1)
  })

  test('stands for one call: the same key for another is refused', async () => {
    const { jobs, start } = await jobSetup({ pay: { run: () => 1 } })
    await start(ADA, { tool_name: 'pay', params: { sum: 5 }, idempotencyKey: 'order-7' })
    expect(await jobs.start(ADA, { tool_name: 'pay', params: { sum: 6 }, idempotencyKey: 'order-7' })).toMatchObject({
      refused: { error_code: 'INVALID_PARAMETERS', error: expect.stringContaining("'order-7'") },
    })
  })

  test('of one caller means nothing to another', async () => {
    const { start } = await jobSetup({ pay: { run: () => 1 } })
    const request = { tool_name: 'pay', params: {}, idempotencyKey: 'order-7' }
    const ids = [
      await start(ADA, request),
      await start(caller('acme', 'bob'), request),
      await start(caller('other', 'ada'), request),
    ]
    expect(new Set(ids.map(({ id }) => id)).size).toBe(3)
  })

  test('is the same for a job and for a call that is waited for', async () => {
    let runs = 0
    const { installation, start, ended } = await jobSetup({ pay: { run: () => ++runs } })
    const context = { ...installation.callers.context(ADA, 'rest'), idempotencyKey: 'order-7' }
    await installation.manager.getExecutor().execute('pay', { sum: 5 }, context)
    const { id } = await start(ADA, { tool_name: 'pay', params: { sum: 5 }, idempotencyKey: 'order-7' })
    expect(await ended(ADA, id)).toMatchObject({ result: { success: true, result: 1 } })
    expect(runs).toBe(1)
  })
})
