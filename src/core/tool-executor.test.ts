import { describe, expect, test, vi } from 'vitest'
import { captureLog } from '../testing/capture-log.ts'
import { ManualClock } from '../testing/manual-clock.ts'
import type { Handler } from './handler.ts'
import type { Isolate } from './isolate.ts'
import type { Kind } from './kind.ts'
import type { CallRecord } from './recorder.ts'
import type { ToolDefinition } from './tool.ts'
import { ToolExecutor, type ToolExecutorOptions } from './tool-executor.ts'
import { ToolRegistry } from './tool-registry.ts'
import type { ToolFailure } from './tool-result.ts'

const code: Kind = {
  effect: () => 'write',
  bind:
    ({ implementation }) =>
    () =>
      implementation.run as Handler,
}

function toolyard(options: Partial<ToolExecutorOptions> = {}) {
  const log = captureLog()
  const registry = new ToolRegistry({ log })
  const records: CallRecord[] = []
  const sink = { write: (batch: { records: readonly CallRecord[] }) => void records.push(...batch.records) }
  const executor = new ToolExecutor(registry, { kinds: { code }, log, sinks: [sink], ...options })
  const add = (name: string, run: Handler, rest: Partial<ToolDefinition> = {}) =>
    registry.register({
      name,
      description: name,
      parameters: { type: 'object', properties: {} },
      implementation: { type: 'code', run },
      ...rest,
    })
  return { executor, registry, log, records, add }
}

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const never = () => new Promise(() => {})

describe('what a handler may do', () => {
  test.each<[string, Handler, unknown]>([
    ['returns at once', () => 'now', 'now'],
    ['returns a promise', async () => ({ a: 1 }), { a: 1 }],
    ['returns nothing', () => undefined, null],
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
    ['returns a thenable', () => ({ then: (done: (value: unknown) => void) => done('then') }), 'then'],
    [
      'settles twice',
      () =>
        new Promise((resolve, reject) => {
          resolve('first')
          resolve('second')
          reject(new Error('third'))
        }),
      'first',
    ],
    [
      'is a thenable that settles twice',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: a hostile thenable is what is tested
        then: (done: (value: unknown) => void, failed: (reason: unknown) => void) => {
          done('first')
          failed(new Error('second'))
          done('third')
        },
      }),
      'first',
    ],
  ])('a handler that %s', async (_, run, result) => {
    const { executor, add } = toolyard()
    add('tool', run)
    expect(await executor.execute('tool', {})).toEqual({
      success: true,
      result,
      tool_name: 'tool',
      execution_time_ms: expect.any(Number),
    })
  })

  const frozen = Object.freeze({ message: 'frozen', stack: 'secret' })
  const trap = Object.defineProperty({}, 'message', {
    get: () => {
      throw new Error('secret')
    },
  })
  test.each<[string, unknown, string]>([
    ['an error', new Error('boom'), 'boom'],
    ['a string', 'just text', 'just text'],
    ['null', null, 'The tool failed without saying why'],
    ['undefined', undefined, 'The tool failed without saying why'],
    ['a frozen object', frozen, 'frozen'],
    ['an object whose getter throws', trap, 'The tool failed without saying why'],
    ['an endless message', new Error('x'.repeat(100_000)), `${'x'.repeat(2_000)}…`],
  ])('a handler that throws %s', async (_, thrown, error) => {
    const { executor, add } = toolyard()
    add('sync', () => {
      throw thrown
    })
    add('async', async () => {
      throw thrown
    })
    for (const name of ['sync', 'async']) {
      const result = await executor.execute(name, {})
      expect(result).toEqual({
        success: false,
        error,
        error_code: 'EXECUTION_ERROR',
        tool_name: name,
        execution_time_ms: expect.any(Number),
      })
    }
  })

  test('a handler that changes its parameters changes neither the caller’s nor the record', async () => {
    const { executor, add, records } = toolyard()
    add('tool', (params) => {
      params.list = 'gone'
      return params
    })
    const mine = { list: [1] }
    await executor.execute('tool', mine)
    executor.flush()
    expect(mine).toEqual({ list: [1] })
    expect(records[0]?.params).toEqual({ list: [1] })
  })
})

describe('deadlines and cancellation', () => {
  test('a handler that never settles ends at its deadline, its signal aborted', async () => {
    const { executor, add } = toolyard()
    let signal: AbortSignal | undefined
    add(
      'tool',
      (_, context) => {
        signal = context.signal
        return never()
      },
      { timeout_ms: 60 },
    )
    const result = (await executor.execute('tool', {})) as ToolFailure
    expect(result).toMatchObject({
      error_code: 'TIMEOUT',
      error: 'Tool execution timed out after 60ms',
      outcome: 'unknown',
    })
    expect(result.execution_time_ms).toBeGreaterThanOrEqual(60)
    expect(result.execution_time_ms).toBeLessThan(1_060)
    expect(signal?.aborted).toBe(true)
  })

  test('a signal first looked at after the deadline is already aborted', async () => {
    const { executor, add } = toolyard()
    let aborted: boolean | undefined
    const looked = Promise.withResolvers<void>()
    add(
      'tool',
      async (_, context) => {
        await later(150)
        aborted = context.signal.aborted
        looked.resolve()
      },
      { timeout_ms: 30 },
    )
    await executor.execute('tool', {})
    await looked.promise
    expect(aborted).toBe(true)
  })

  test('a rejection after the deadline disturbs nothing', async () => {
    const { executor, add } = toolyard()
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    add(
      'tool',
      async () => {
        await later(60)
        throw new Error('too late')
      },
      { timeout_ms: 20 },
    )
    expect(await executor.execute('tool', {})).toMatchObject({ error_code: 'TIMEOUT' })
    await later(100)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test.each([
    [10, 1_000],
    [5_000, 5_000],
    [900_000, 60_000],
  ])('a call that asks for %i ms gets %i ms', async (asked, applied) => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    add('tool', never)
    const call = executor.execute('tool', {}, { timeoutMs: asked })
    clock.advance(applied - 1)
    clock.advance(30)
    expect(await call).toMatchObject({ error: `Tool execution timed out after ${applied}ms` })
  })

  test('the default deadline is 30 s', async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    add('tool', never)
    const call = executor.execute('tool', {})
    clock.advance(30_020)
    expect(await call).toMatchObject({ error: 'Tool execution timed out after 30000ms' })
  })

  test('the caller’s signal cancels the call and reaches the handler; listeners are gone afterwards', async () => {
    const { executor, add } = toolyard()
    const seen = vi.fn()
    add('tool', (_, { signal }) => {
      signal.addEventListener('abort', seen)
      return never()
    })
    const controller = new AbortController()
    const call = executor.execute('tool', {}, { signal: controller.signal })
    controller.abort()
    expect(await call).toMatchObject({ success: false, error_code: 'CANCELLED', outcome: 'unknown' })
    expect(seen).toHaveBeenCalledOnce()
  })

  test('a signal that is already aborted keeps the tool from running', async () => {
    const { executor, add } = toolyard()
    const run = vi.fn()
    add('tool', run)
    const result = await executor.execute('tool', {}, { signal: AbortSignal.abort() })
    expect(result).toMatchObject({ error_code: 'CANCELLED' })
    expect(result).not.toHaveProperty('outcome')
    expect(run).not.toHaveBeenCalled()
  })
})

describe('retries', () => {
  const refused = () => Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:80'), { code: 'ECONNREFUSED' })

  test('a read tool without its service is tried again, each pause twice the last', async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    const times: number[] = []
    add(
      'tool',
      async () => {
        times.push(clock.now())
        if (times.length < 3) throw refused()
        return 'there'
      },
      { effect: 'read', retry: { max_attempts: 3, backoff_ms: 100 } },
    )
    const call = executor.execute('tool', {})
    await later(5)
    clock.advance(100)
    await later(5)
    clock.advance(200)
    expect(await call).toMatchObject({ success: true, result: 'there' })
    expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 100, 300])
  })

  test('a write is never tried again', async () => {
    const { executor, add } = toolyard()
    const run = vi.fn(async () => {
      throw refused()
    })
    add('tool', run, { retry: { max_attempts: 3, backoff_ms: 1 } })
    const result = (await executor.execute('tool', {})) as ToolFailure
    expect(result.error_code).toBe('SERVICE_UNAVAILABLE')
    expect(result.error).toContain("'tool' is unavailable")
    expect(JSON.stringify(result)).not.toContain('10.0.0.1')
    expect(run).toHaveBeenCalledOnce()
  })

  test('a failure that is not the network’s is not tried again', async () => {
    const { executor, add } = toolyard()
    const run = vi.fn(async () => {
      throw new Error('bad')
    })
    add('tool', run, { effect: 'read', retry: { max_attempts: 3, backoff_ms: 1 } })
    expect(await executor.execute('tool', {})).toMatchObject({ error_code: 'EXECUTION_ERROR' })
    expect(run).toHaveBeenCalledOnce()
  })

  test('no pause is begun that would end after the deadline', async () => {
    const { executor, add } = toolyard()
    add(
      'tool',
      async () => {
        throw refused()
      },
      { effect: 'read', timeout_ms: 500, retry: { max_attempts: 5, backoff_ms: 10_000 } },
    )
    const result = await executor.execute('tool', {})
    expect(result).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
  })

  test('a lost connection leaves the outcome of a write unknown, and says nothing of a read', async () => {
    const { executor, add } = toolyard()
    const lost = async () => {
      throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
    }
    add('write', lost)
    add('read', lost, { effect: 'read' })
    expect(await executor.execute('write', {})).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' })
    expect(await executor.execute('read', {})).not.toHaveProperty('outcome')
  })
})

describe('single flight and cache', () => {
  test('identical concurrent calls of a read tool run once, whatever the order of their keys', async () => {
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

  test('calls of different tenants, and calls of a write tool, each run', async () => {
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

  test('one caller’s cancellation does not take the answer from another; the last one’s ends the work', async () => {
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

  test('progress reaches every caller that joined', async () => {
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

  test('a cached result serves until its time is over, per tenant, and cannot be changed by who got it', async () => {
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

  test('a failure is not cached, and a redefined tool does not answer from its past', async () => {
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
  test('more calls at a time than max_concurrency allows are RATE_LIMITED, and a place is free again afterwards', async () => {
    const { executor, add } = toolyard()
    add('tool', () => later(20), { max_concurrency: 2 })
    const results = await Promise.all([1, 2, 3].map((n) => executor.execute('tool', { n })))
    expect(results.map((result) => result.success)).toEqual([true, true, false])
    expect(results[2]).toMatchObject({ error_code: 'RATE_LIMITED', error: expect.stringContaining('at most 2 calls') })
    expect(await executor.execute('tool', {})).toMatchObject({ success: true })
  })

  test('a handler that ignores its deadline holds its place no longer than the call', async () => {
    const { executor, add } = toolyard()
    add('tool', never, { max_concurrency: 1, timeout_ms: 20 })
    await executor.execute('tool', {})
    expect(await executor.execute('tool', {})).toMatchObject({ error_code: 'TIMEOUT' })
  })

  test('rate_limit holds per tenant in any window of its length', async () => {
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

describe('names and records', () => {
  test.each(['', '../x', 'a\nb', 'a\0b', '__proto__', 'constructor', 'x'.repeat(1_000_000), '\ud800'])(
    'the name %j is just not found',
    async (name) => {
      const { executor, log } = toolyard()
      const result = (await executor.execute(name, {})) as ToolFailure
      expect(result.error_code).toBe('TOOL_NOT_FOUND')
      if (name.length < 200) expect(result.error).toBe(`Tool '${name}' not found`)
      else expect(result.error.length).toBeLessThan(300)
      expect(log.lines).toHaveLength(1)
      expect(log.lines[0]).toMatchObject({ level: 'warn' })
    },
  )

  test.each([undefined, null, 7, {}, Symbol('x')])('a name that is no text (%s) is an envelope too', async (name) => {
    const { executor } = toolyard()
    expect(await executor.execute(name as unknown as string, {})).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
  })

  test('nearest names are suggested, of tools that the caller may see', async () => {
    const { executor, add } = toolyard()
    add('get_weather', () => 1)
    add('get_whether', () => 1, { permissions: ['secret'] })
    expect(await executor.execute('get_wether', {})).toMatchObject({ suggestions: ['get_weather'] })
    expect(await executor.execute('get_wether', {}, { flags: { secret: true } })).toMatchObject({
      suggestions: ['get_weather', 'get_whether'],
    })
    expect(await executor.execute('zzzzzz', {})).not.toHaveProperty('suggestions')
  })

  test('refusals are recorded too, and a failing sink fails no call', async () => {
    const write = vi.fn(() => {
      throw new Error('disk full')
    })
    const log = captureLog()
    const { executor, add } = toolyard({ sinks: [{ write }], log })
    add('tool', () => 1)
    expect(await executor.execute('nobody', {})).toMatchObject({ success: false })
    expect(await executor.execute('tool', {})).toMatchObject({ success: true })
    executor.flush()
    expect(write).toHaveBeenCalledOnce()
    expect(log.lines.filter((line) => line.level === 'error')).toHaveLength(1)
    expect(executor.metrics.figures()).toMatchObject({ total: 2, success_rate: 0.5, errors: { TOOL_NOT_FOUND: 1 } })
  })

  test('progress reported before the handler first waits is heard too', async () => {
    const { executor, add } = toolyard()
    add('tool', (_, { report }) => report('at once'))
    const report = vi.fn()
    await executor.execute('tool', {}, { report })
    expect(report).toHaveBeenCalledWith('at once')
  })

  test('a report listener that throws fails no call', async () => {
    const { executor, add } = toolyard()
    add('tool', async (_, context) => {
      context.report(1)
      return 'done'
    })
    const report = () => {
      throw new Error('listener')
    }
    expect(await executor.execute('tool', {}, { report })).toMatchObject({ result: 'done' })
  })
})

describe('schemas that need the exact validator', () => {
  const parameters = {
    type: 'object',
    properties: { a: {} },
    unevaluatedProperties: false,
    allOf: [{ properties: { b: {} } }],
  }

  test('are checked by it, under the call’s own deadline', async () => {
    const isolate: Isolate = { run: () => never(), close: async () => {} }
    const { executor, add } = toolyard({ isolate })
    const run = vi.fn()
    add('tool', run, {
      parameters: { ...parameters, $dynamicAnchor: 'x', $ref: '#/$defs/y', $defs: { y: { $dynamicRef: '#x' } } },
      timeout_ms: 50,
    })
    expect(await executor.execute('tool', {})).toMatchObject({ error_code: 'TIMEOUT' })
    expect(run).not.toHaveBeenCalled()
  })
})
