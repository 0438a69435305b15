import { describe, expect, test } from 'vitest'
import { captureLog } from '../testing/capture-log.ts'
import { ManualClock } from '../testing/manual-clock.ts'
import { never, toolyard } from './fixtures/code-yard.ts'
import { MemoryOnce } from './once.ts'
import type { OnceStore } from './storage/once-store.ts'
import type { Effect } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'

const keyed = (key: string, more: object = {}) => ({ idempotencyKey: key, tenant: 'a', caller: 'one', ...more })

describe('a call with an idempotency key', () => {
  test.each<Effect>(['write', 'idempotent', 'read'])(
    'of a %s tool runs once, and repeats get its answer',
    async (effect) => {
      const { executor, add } = toolyard()
      let runs = 0
      add('pay', async () => ({ receipt: ++runs }), { effect })
      const first = await executor.execute('pay', { amount: 1 }, keyed('k1'))
      const second = await executor.execute('pay', { amount: 1 }, keyed('k1'))
      expect([first, second]).toMatchObject([{ result: { receipt: 1 } }, { result: { receipt: 1 } }])
      expect(await executor.execute('pay', { amount: 1 }, keyed('k2'))).toMatchObject({ result: { receipt: 2 } })
    },
  )

  test('counts the order of its keys for nothing, and everything else for another call', async () => {
    const { executor, add } = toolyard()
    let runs = 0
    add('pay', () => ++runs)
    add('refund', () => ++runs)
    await executor.execute('pay', { a: 1, b: 2 }, keyed('k'))
    expect(await executor.execute('pay', { b: 2, a: 1 }, keyed('k'))).toMatchObject({ result: 1 })
    const other = {
      success: false,
      error_code: 'INVALID_PARAMETERS',
      error: expect.stringContaining("'k' was used for another call"),
    }
    expect(await executor.execute('pay', { a: 2 }, keyed('k'))).toMatchObject(other)
    expect(await executor.execute('refund', { a: 1, b: 2 }, keyed('k'))).toMatchObject(other)
    expect(runs).toBe(1)
  })

  test('is another call for another tenant, and for another caller', async () => {
    const { executor, add } = toolyard()
    let runs = 0
    add('pay', () => ++runs)
    for (const more of [{}, { tenant: 'b' }, { caller: 'two' }]) await executor.execute('pay', {}, keyed('k', more))
    expect(runs).toBe(3)
  })

  test('that comes while the first still runs waits for its answer', async () => {
    const { executor, add } = toolyard()
    let runs = 0
    let finish = (_: string): void => {}
    add('pay', () => {
      runs++
      return new Promise((resolve) => {
        finish = resolve
      })
    })
    const calls = [1, 2, 3].map(() => executor.execute('pay', {}, keyed('k')))
    await new Promise((resolve) => setTimeout(resolve, 20))
    finish('paid')
    expect((await Promise.all(calls)).map((call) => call.success && call.result)).toEqual(['paid', 'paid', 'paid'])
    expect(runs).toBe(1)
  })

  test('that failed says so again, and what certainly did not happen may be tried again', async () => {
    const { executor, add } = toolyard()
    const faults = [
      new Error('Card refused'),
      new ToolExecutionError('SERVICE_UNAVAILABLE', 'Not there'),
      new ToolExecutionError('SERVICE_UNAVAILABLE', 'Lost', { outcome: 'unknown' }),
    ]
    let runs = 0
    add('pay', (params) => {
      runs++
      throw faults[params.fault as number]
    })
    for (const [fault, expected] of [1, 2, 1].entries()) {
      runs = 0
      const first = await executor.execute('pay', { fault }, keyed(`k${fault}`))
      const again = await executor.execute('pay', { fault }, keyed(`k${fault}`))
      expect({ ...again, execution_time_ms: 0 }).toEqual({ ...first, execution_time_ms: 0 })
      expect(runs).toBe(expected)
    }
  })

  test('that ran out of time and came to its end later gives that end', async () => {
    const { executor, add } = toolyard()
    let finish = (_: string): void => {}
    add('pay', () => new Promise((resolve) => (finish = resolve)), { timeout_ms: 30 })
    const late = await executor.execute('pay', {}, keyed('k'))
    expect(late).toMatchObject({ error_code: 'TIMEOUT', outcome: 'unknown' })
    finish('paid after all')
    expect(await executor.execute('pay', {}, keyed('k'))).toMatchObject({ result: 'paid after all' })
  })

  test('that is still running elsewhere ends at its deadline, and its outcome is unknown', async () => {
    const store: OnceStore = {
      claim: async () => ({ state: 'running' }),
      settle: async () => {},
      release: async () => {},
    }
    const { executor, add } = toolyard({ once: store })
    let runs = 0
    add('pay', () => ++runs, { timeout_ms: 50 })
    expect(await executor.execute('pay', {}, keyed('k'))).toMatchObject({ error_code: 'TIMEOUT', outcome: 'unknown' })
    expect(runs).toBe(0)
  })

  test('whose server died is not run again', async () => {
    const store: OnceStore = { claim: async () => ({ state: 'lost' }), settle: async () => {}, release: async () => {} }
    const { executor, add } = toolyard({ once: store })
    let runs = 0
    add('pay', () => ++runs)
    const result = await executor.execute('pay', {}, keyed('k'))
    expect(result).toMatchObject({ error_code: 'EXECUTION_ERROR', outcome: 'unknown' })
    expect(runs).toBe(0)
  })

  test('is not run where the store of keys cannot be asked, and answered where it cannot be told', async () => {
    const log = captureLog()
    const down = async () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1:5432'))
    const { executor, add } = toolyard({ once: { claim: down, settle: down, release: down }, log })
    let runs = 0
    add('pay', () => ++runs)
    const refused = await executor.execute('pay', {}, keyed('k'))
    expect(refused).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE', error: expect.not.stringContaining('10.0.0.1') })
    expect(runs).toBe(0)

    const memory = new MemoryOnce(new ManualClock())
    const half = toolyard({ once: { claim: (claim) => memory.claim(claim), settle: down, release: down }, log })
    half.add('pay', () => ++runs)
    expect(await half.executor.execute('pay', {}, keyed('k'))).toMatchObject({ result: 1 })
    expect(log.lines.map(({ message }) => message)).toContain(
      'The answer to a call with an idempotency key could not be kept',
    )
  })

  test.each([
    ['is empty', ''],
    ['is too long', 'k'.repeat(256)],
    ['has a control character', 'a\nb'],
  ])('whose key %s is refused', async (_, key) => {
    const { executor, add } = toolyard()
    add('pay', never)
    expect(await executor.execute('pay', {}, keyed(key))).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  })

  test('is forgotten after a day', async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    let runs = 0
    add('pay', () => ++runs)
    await executor.execute('pay', {}, keyed('k'))
    clock.advance(24 * 60 * 60_000 - 1)
    await executor.execute('pay', {}, keyed('k'))
    expect(runs).toBe(1)
    clock.advance(2)
    await executor.execute('pay', {}, keyed('k'))
    expect(runs).toBe(2)
  })
})
