import { describe, expect, test } from 'vitest'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import type { CallContext } from '../call-context.ts'
import { never, toolyard } from '../fixtures/code-yard.ts'
import type { OnceState, OnceStore } from '../once-store.ts'
import type { Effect } from '../tool.ts'
import { type ToolErrorCode, ToolExecutionError } from '../tool-result.ts'
import { MemoryOnce } from './once.ts'

const keyed = (key: string, more: object = {}) => ({ idempotencyKey: key, tenant: 'a', caller: 'one', ...more })

const memory = (): OnceStore => {
  const store = new MemoryOnce(new ManualClock())
  return {
    claim: (claim) => store.claim(claim),
    look: (key) => store.look(key),
    settle: (claim, result) => store.settle(claim, result),
    release: (claim) => store.release(claim),
  }
}
/** A store that knows this of all keys. */
const knowing = (state: () => Promise<OnceState>): OnceStore => ({ ...memory(), claim: state, look: state })
/** A call that its run may have begun before it continued. */
const CONTINUED = { callId: '1.0', runId: 'r', continued: true }
const SUM = { type: 'object', required: ['sum'], properties: { sum: { type: 'number' } } }

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

  test('ignores the key order of parameters, and treats any other difference as another call', async () => {
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

  test('is separate per tenant and per caller', async () => {
    const { executor, add } = toolyard()
    let runs = 0
    add('pay', () => ++runs)
    for (const more of [{}, { tenant: 'b' }, { caller: 'two' }]) await executor.execute('pay', {}, keyed('k', more))
    expect(runs).toBe(3)
  })

  test('waits for the result of the first one if it is still running', async () => {
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

  test('returns the same failure again, unless the call certainly did not happen', async () => {
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

  test('that timed out returns the late result when repeated', async () => {
    const { executor, add } = toolyard()
    let finish = (_: string): void => {}
    add('pay', () => new Promise((resolve) => (finish = resolve)), { timeout_ms: 30 })
    const late = await executor.execute('pay', {}, keyed('k'))
    expect(late).toMatchObject({ error_code: 'TIMEOUT', outcome: 'unknown' })
    finish('paid after all')
    const repeated = await executor.execute('pay', {}, { ...keyed('k'), timeoutMs: 60_000 })
    expect(repeated).toMatchObject({ result: 'paid after all' })
  })

  test('that is still running elsewhere ends at its deadline with an unknown outcome', async () => {
    const store: OnceStore = {
      ...memory(),
      claim: async () => ({ state: 'running' }),
    }
    const { executor, add } = toolyard({ once: store })
    let runs = 0
    add('pay', () => ++runs, { timeout_ms: 50 })
    expect(await executor.execute('pay', {}, keyed('k'))).toMatchObject({ error_code: 'TIMEOUT', outcome: 'unknown' })
    expect(runs).toBe(0)
  })

  test("whose server died doesn't run again", async () => {
    const store: OnceStore = { ...memory(), claim: async () => ({ state: 'lost' }) }
    const { executor, add } = toolyard({ once: store })
    let runs = 0
    add('pay', () => ++runs)
    const result = await executor.execute('pay', {}, keyed('k'))
    expect(result).toMatchObject({ error_code: 'EXECUTION_ERROR', outcome: 'unknown' })
    expect(runs).toBe(0)
  })

  test('of a run that continues is known to have begun, even if a limit refuses it now or it has changed', async () => {
    const steps = { ...CONTINUED, rates: [{ key: 'a', calls: 1, perMs: 60_000, description: 'One call' }] }
    const done = { success: true, result: 'paid', tool_name: 'pay', execution_time_ms: 1 } as const
    const unknown = { error_code: 'EXECUTION_ERROR', outcome: 'unknown' }
    for (const [state, expected] of [
      [{ state: 'lost' }, unknown],
      [{ state: 'other' }, unknown],
      [
        { state: 'done', result: done },
        { success: true, result: 'paid' },
      ],
      [{ state: 'fresh' }, { error_code: 'RATE_LIMITED' }],
    ] as const) {
      const store = knowing(async () => state)
      const { executor, add } = toolyard({ once: store })
      add('look', () => 1, { effect: 'read' })
      add('pay', never)
      await executor.execute('look', {}, { rates: steps.rates })
      const result = await executor.execute('pay', {}, keyed('k', steps))
      expect(result).toMatchObject(expected)
      expect('outcome' in result).toBe(expected === unknown)
    }
  })

  test('of a run that continues is known to have begun, even if its tool runs as many calls as it may', async () => {
    let state: OnceState = { state: 'fresh' }
    const store = knowing(async () => state)
    const { executor, add } = toolyard({ once: store })
    const paid = Promise.withResolvers<string>()
    add('pay', () => paid.promise, { max_concurrency: 1 })
    const running = executor.execute('pay', {})
    state = { state: 'lost' }
    const result = await executor.execute('pay', {}, keyed('k', CONTINUED))
    expect(result).toMatchObject({ error_code: 'EXECUTION_ERROR', outcome: 'unknown' })
    paid.resolve('paid')
    await running
  })

  test.each<[string, (setup: ReturnType<typeof toolyard>) => void, ToolErrorCode, CallContext?]>([
    ['its tool was removed', ({ registry }) => void registry.unregister('pay'), 'TOOL_NOT_FOUND'],
    ['its parameters are invalid now', ({ add }) => add('pay', never, { parameters: SUM }), 'INVALID_PARAMETERS'],
    ['its caller lost the permission', () => {}, 'PERMISSION_DENIED', { tools: ['look'] }],
  ])('of a run that continues is known to have begun, even if %s', async (_why, change, refused, rights) => {
    const unknown = { error_code: 'EXECUTION_ERROR', outcome: 'unknown' }
    const done = { success: true, result: 'paid', tool_name: 'pay', execution_time_ms: 1 } as const
    let state: OnceState = { state: 'fresh' }
    const setup = toolyard({ once: knowing(async () => state) })
    setup.add('pay', never)
    change(setup)
    const repeat = (more: CallContext) => setup.executor.execute('pay', {}, keyed('k', { ...rights, ...more }))
    expect(await repeat(CONTINUED)).toMatchObject({ error_code: refused })
    state = { state: 'lost' }
    expect(await repeat(CONTINUED)).toMatchObject(unknown)
    // Nobody looks for a call that its run makes for the first time.
    expect(await repeat({ ...CONTINUED, continued: false })).toMatchObject({ error_code: refused })
    state = { state: 'done', result: done }
    expect(await repeat(CONTINUED)).toMatchObject({ result: 'paid' })
    setup.executor.close()
    expect(await repeat(CONTINUED)).toMatchObject({ result: 'paid' })
  })

  test('of a run that continues has an unknown outcome if it is refused and the store fails', async () => {
    const down = async () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1:5432'))
    const { executor } = toolyard({ once: knowing(down) })
    expect(await executor.execute('pay', {}, keyed('k', CONTINUED))).toMatchObject({ outcome: 'unknown' })
  })

  test("doesn't run if the store can't be read, and returns if the store can't be written", async () => {
    const log = captureLog()
    const down = async () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1:5432'))
    const { executor, add } = toolyard({ once: { claim: down, look: down, settle: down, release: down }, log })
    let runs = 0
    add('pay', () => ++runs)
    const refused = await executor.execute('pay', {}, keyed('k'))
    expect(refused).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE', error: expect.not.stringContaining('10.0.0.1') })
    expect(runs).toBe(0)

    const half = toolyard({ once: { ...memory(), settle: down, release: down }, log })
    half.add('pay', () => ++runs)
    expect(await half.executor.execute('pay', {}, keyed('k'))).toMatchObject({ result: 1 })
    expect(log.lines.map(({ message }) => message)).toContain(
      'Could not store the result of a call with an idempotency key',
    )
  })

  test.each([
    ['is empty', ''],
    ['is too long', 'k'.repeat(256)],
    ['has a control character', 'a\nb'],
  ])('is refused if its key %s', async (_, key) => {
    const { executor, add } = toolyard()
    add('pay', never)
    expect(await executor.execute('pay', {}, keyed(key))).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  })

  test('is not forgotten for the keys of others: a tenant with too many is refused', async () => {
    const { executor, add } = toolyard()
    let runs = 0
    add('pay', () => ++runs)
    const pay = (tenant: string, key: string) => executor.execute('pay', {}, { ...keyed(key), tenant })
    await pay('acme', 'first')
    for (let n = 0; n < 10_000; n++) await pay('globex', `key ${n}`)
    expect(await pay('acme', 'first')).toMatchObject({ success: true, result: 1 })
    expect(await pay('globex', 'key 0')).toMatchObject({ success: true, result: 2 })
    expect(await pay('globex', 'one more')).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
    expect(runs).toBe(10_001)
  })

  test('expires after a day', async () => {
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
