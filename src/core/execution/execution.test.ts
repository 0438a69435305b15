import { describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../testing/stand-ins.ts'
import { later, never, toolyard } from '../fixtures/code-yard.ts'

describe('joining and cache', () => {
  test('identical concurrent calls of a read tool run once, in any key order', async () => {
    const { executor, add } = toolyard()
    const run = vi.fn(async (params) => {
      await later(20)
      return { params }
    })
    add('tool', run, { effect: 'read' })
    const [one, two, other] = await Promise.all([
      executor.execute('tool', { a: 1, b: 2 }),
      executor.execute('tool', { b: 2, a: 1 }),
      executor.execute('tool', { a: 2, b: 2 }),
    ])
    expect(run).toHaveBeenCalledTimes(2)
    expect(two).toMatchObject({ success: true, result: { params: { a: 1, b: 2 } } })
    expect(other).toMatchObject({ result: { params: { a: 2, b: 2 } } })
    if (one.success && two.success) expect(one.result).not.toBe(two.result)
    await executor.execute('tool', { a: 1, b: 2 })
    expect(run).toHaveBeenCalledTimes(3)
  })

  const rates = [{ key: 'ada', calls: 100, perMs: 60_000, description: 'The limit of ada' }]

  test.each([
    ['the limits of their caller', {}, { rates }],
    ['the limit of the tool', { rate_limit: { calls: 100, per_ms: 60_000 } }, {}],
    ['its budget', { cost: { per_call: 1 } }, {}],
    ['the limits of their caller, one at a time', { max_concurrency: 1 }, { rates }],
  ])('identical concurrent calls that wait for %s run once', async (_what, definition, context) => {
    const { executor, add } = toolyard()
    const run = vi.fn(() => later(20))
    add('tool', run, { effect: 'read', ...definition })
    const calls = await Promise.all(Array.from({ length: 5 }, () => executor.execute('tool', { a: 1 }, context)))
    expect(calls.every(({ success }) => success)).toBe(true)
    expect(run).toHaveBeenCalledTimes(1)
  })

  test.each([
    [{ salaries: undefined }, { salaries: false }],
    [{ 'no salaries': true }, { salaries: false }],
  ])('calls with the flags %j and %j share no results', async (allowing, forbidding) => {
    const { executor, add } = toolyard()
    add('salaries', () => 'secret', { effect: 'read' })
    const report = (_: unknown, { call }: { call?: (name: string, params: object) => Promise<unknown> }) =>
      call?.('salaries', {})
    add('report', report as never, { effect: 'read', shared: true, cache: { ttl_ms: 60_000 } })
    const ask = async (flags: object) => JSON.stringify(await executor.execute('report', {}, { flags } as never))
    expect(await ask(allowing)).toContain('secret')
    expect(await ask(forbidding)).not.toContain('secret')
  })

  test('long parameters are compared to their end', async () => {
    const { executor, add } = toolyard()
    const run = vi.fn(() => later(20))
    add('tool', run, { effect: 'read' })
    const text = 'long '.repeat(100)
    await Promise.all(['a', 'a', 'b', 'a', 'b'].map((end) => executor.execute('tool', { text: text + end })))
    expect(run).toHaveBeenCalledTimes(2)
  })

  test('only read tools are cached', async () => {
    const { executor, add } = toolyard()
    const run = vi.fn(() => 1)
    for (const effect of ['write', 'idempotent'] as const) {
      add('tool', run, { effect, cache: { ttl_ms: 60_000 } })
      await executor.execute('tool', {})
      await executor.execute('tool', {})
    }
    expect(run).toHaveBeenCalledTimes(4)
  })

  test('calls of different tenants and of write tools are not joined', async () => {
    const { executor, add } = toolyard()
    const run = vi.fn(() => later(10))
    add('read', run, { effect: 'read' })
    add('write', run)
    await Promise.all([
      executor.execute('read', {}, { tenant: 'a' }),
      executor.execute('read', {}, { tenant: 'b' }),
      executor.execute('write', {}),
      executor.execute('write', {}),
    ])
    expect(run).toHaveBeenCalledTimes(4)
  })

  test("cancelling one caller doesn't affect another; cancelling the last one ends the work", async () => {
    const { executor, add } = toolyard()
    const ended = vi.fn()
    add(
      'tool',
      async (_, { signal }) => {
        signal.addEventListener('abort', ended)
        await later(40)
        return 'answer'
      },
      { effect: 'read' },
    )
    const first = new AbortController()
    const calls = [executor.execute('tool', {}, { signal: first.signal }), executor.execute('tool', {})]
    first.abort()
    expect(await Promise.all(calls)).toMatchObject([{ error_code: 'CANCELLED' }, { success: true, result: 'answer' }])
    expect(ended).not.toHaveBeenCalled()

    const controllers = [new AbortController(), new AbortController()]
    const both = controllers.map(({ signal }) => executor.execute('tool', {}, { signal }))
    for (const controller of controllers) controller.abort()
    await Promise.all(both)
    expect(ended).toHaveBeenCalledOnce()
  })

  test('every joined caller receives progress', async () => {
    const { executor, add } = toolyard()
    add(
      'tool',
      async (_, context) => {
        await later(5)
        context.report({ done: 1 })
      },
      { effect: 'read' },
    )
    const reports = [vi.fn(), vi.fn()]
    await Promise.all(reports.map((report) => executor.execute('tool', {}, { report })))
    for (const report of reports) expect(report).toHaveBeenCalledWith({ done: 1 })
  })

  test("a cached result is per tenant, expires, and can't be changed by a caller", async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    const run = vi.fn(() => ({ list: [1] }))
    add('tool', run, { effect: 'read', cache: { ttl_ms: 1_000 } })
    const first = await executor.execute('tool', { q: 'x' })
    if (first.success) (first.result as { list: number[] }).list.push(2)
    expect(await executor.execute('tool', { q: 'x' })).toMatchObject({ result: { list: [1] } })
    expect(run).toHaveBeenCalledTimes(1)
    await executor.execute('tool', { q: 'x' }, { tenant: 'other' })
    expect(run).toHaveBeenCalledTimes(2)
    clock.advance(1_100)
    await executor.execute('tool', { q: 'x' })
    expect(run).toHaveBeenCalledTimes(3)
  })

  test('failures are not cached, and a redefined tool has no cached results', async () => {
    const { executor, add } = toolyard()
    let fails = true
    const cached = { effect: 'read', cache: { ttl_ms: 60_000 } } as const
    add(
      'tool',
      () => {
        if (fails) throw new Error('once')
        return 'old'
      },
      cached,
    )
    expect(await executor.execute('tool', {})).toMatchObject({ success: false })
    fails = false
    expect(await executor.execute('tool', {})).toMatchObject({ result: 'old' })
    add('tool', () => 'new', { ...cached, description: 'again', parameters: { type: 'object' } })
    expect(await executor.execute('tool', {})).toMatchObject({ result: 'new' })
  })
})

describe('limits', () => {
  test('refuses calls above max_concurrency with RATE_LIMITED until a slot is free', async () => {
    const { executor, add } = toolyard()
    add('tool', () => later(20), { max_concurrency: 2 })
    const results = await Promise.all([1, 2, 3].map((n) => executor.execute('tool', { n })))
    expect(results.map((result) => result.success)).toEqual([true, true, false])
    expect(results[2]).toMatchObject({ error_code: 'RATE_LIMITED', error: expect.stringContaining('at most 2 calls') })
    expect(await executor.execute('tool', {})).toMatchObject({ success: true })
  })

  test('a handler that ignores its deadline frees its slot when the call ends', async () => {
    const { executor, add } = toolyard()
    add('tool', never, { max_concurrency: 1, timeout_ms: 20 })
    await executor.execute('tool', {})
    expect(await executor.execute('tool', {})).toMatchObject({ error_code: 'TIMEOUT' })
  })

  test('rate_limit applies per tenant in any window', async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    add('tool', () => 1, { rate_limit: { calls: 2, per_ms: 1_000 } })
    const succeeds = async (tenant: string) => (await executor.execute('tool', {}, { tenant })).success
    expect([await succeeds('a'), await succeeds('a'), await succeeds('a'), await succeeds('b')]).toEqual([
      true,
      true,
      false,
      true,
    ])
    clock.advance(999)
    expect(await succeeds('a')).toBe(false)
    clock.advance(1)
    expect(await succeeds('a')).toBe(true)
  })
})
