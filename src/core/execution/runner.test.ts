import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../testing/stand-ins.ts'
import { later, never, toolyard } from '../fixtures/code-yard.ts'
import type { Handler, Isolate, Kind } from '../handler.ts'
import { ToolExecutionError, type ToolFailure } from '../tool-result.ts'

describe('a call that asks the client of its caller', () => {
  const asking = (clock: ManualClock) => {
    const runs = vi.fn()
    const kind: Kind = {
      effect: () => 'read',
      asksClient: () => true,
      bind: () => () => async (_params, context) => {
        runs()
        await context.client?.ask({ method: 'elicitation/create', params: {} })
        return never()
      },
    }
    const outer: Kind = { effect: () => 'read', bind: () => () => (_params, context) => context.call?.('ask', {}) }
    const answers: ((answer: unknown) => void)[] = []
    const client = { id: 'a', capabilities: {}, ask: () => new Promise((resolve) => void answers.push(resolve)) }
    const yard = toolyard({ kinds: { asking: kind, outer }, clock })
    yard.add('ask', never, { implementation: { type: 'asking' }, timeout_ms: 1_000, cache: { ttl_ms: 60_000 } })
    return { ...yard, answers, client, runs }
  }

  test('has no deadline while the client answers, and its whole time apart from that', async () => {
    const clock = new ManualClock()
    const { executor, answers, client } = asking(clock)
    const ended = vi.fn()
    const call = executor.execute('ask', {}, { client }).finally(ended)
    await expect.poll(() => answers.length).toBe(1)
    clock.advance(600_000)
    await later(0)
    answers[0]?.({})
    await later(0)
    clock.advance(900)
    await later(0)
    expect(ended).not.toHaveBeenCalled()
    clock.advance(200)
    expect(await call).toMatchObject({ error_code: 'TIMEOUT' })
  })

  test('shares its run with no other call, and no tool that it calls can ask', async () => {
    const { executor, answers, client, runs, add } = asking(new ManualClock())
    const cancel = new AbortController()
    const calls = [1, 2].map(() => executor.execute('ask', {}, { client, signal: cancel.signal }))
    await expect.poll(() => answers.length).toBe(2)
    expect(runs).toHaveBeenCalledTimes(2)
    add('outer', never, { implementation: { type: 'outer' } })
    const outer = executor.execute('outer', {}, { client, signal: cancel.signal })
    await expect.poll(() => runs.mock.calls.length).toBe(3)
    cancel.abort()
    expect(answers).toHaveLength(2)
    for (const result of await Promise.all([...calls, outer])) expect(result).toMatchObject({ success: false })
  })
})

describe('deadlines and cancellation', () => {
  test('a handler that never settles ends at its deadline with its signal aborted', async () => {
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
    expect(signal?.aborted).toBe(true)
  })

  test('a signal first read after the deadline is already aborted', async () => {
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

  test('a rejection after the deadline is ignored', async () => {
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
  ])('a requested timeout of %i ms becomes %i ms', async (asked, applied) => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    add('tool', never)
    const call = executor.execute('tool', {}, { timeoutMs: asked })
    clock.advance(applied - 1)
    clock.advance(30)
    expect(await call).toMatchObject({ error: `Tool execution timed out after ${applied}ms` })
  })

  test('the default timeout is 30 s', async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    add('tool', never)
    const call = executor.execute('tool', {})
    clock.advance(30_020)
    expect(await call).toMatchObject({ error: 'Tool execution timed out after 30000ms' })
  })

  test('the caller’s signal cancels the call and the handler, and all listeners are removed', async () => {
    const { executor, add } = toolyard()
    const seen = vi.fn()
    add('tool', (_, { signal }) => {
      signal.addEventListener('abort', seen)
      return never()
    })
    add('quick', async () => 1)
    const controller = new AbortController()
    await executor.execute('quick', {}, { signal: controller.signal })
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    const call = executor.execute('tool', {}, { signal: controller.signal })
    controller.abort()
    expect(await call).toMatchObject({ success: false, error_code: 'CANCELLED', outcome: 'unknown' })
    expect(seen).toHaveBeenCalledOnce()
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  test('a finished call removes its deadline', async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    add('tool', async () => 1)
    await executor.execute('tool', {})
    clock.advance(20)
    expect(clock.pending).toBe(0)
  })

  test('a write that times out in the queue has no unknown outcome, and the error says where it waited', async () => {
    const isolate: Isolate = { run: () => never(), close: async () => {} }
    const { executor, add } = toolyard({ isolate })
    add('tool', { module: 'file:///x.js', export: 'x' } as unknown as Handler, { timeout_ms: 30 })
    const result = await executor.execute('tool', {})
    expect(result).toMatchObject({ error: 'Tool execution timed out after 30ms while waiting for a free worker' })
    expect(result).not.toHaveProperty('outcome')
  })

  test("doesn't run the tool if the signal is already aborted", async () => {
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

  test('retries a read tool with exponential backoff', async () => {
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

  test('never retries a write', async () => {
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

  test('retries a write if nothing was sent', async () => {
    const { executor, add } = toolyard()
    const fail = (neverLeft: boolean) =>
      vi.fn(async () => {
        throw new ToolExecutionError('SERVICE_UNAVAILABLE', 'gone', {}, { repeat: { neverLeft } })
      })
    const [never, maybe] = [fail(true), fail(false)]
    add('never', never, { retry: { max_attempts: 3, backoff_ms: 1 } })
    add('maybe', maybe, { retry: { max_attempts: 3, backoff_ms: 1 } })
    await executor.execute('never', {})
    await executor.execute('maybe', {})
    expect(never).toHaveBeenCalledTimes(3)
    expect(maybe).toHaveBeenCalledOnce()
  })

  test('a write that timed out before anything was sent has no unknown outcome', async () => {
    const { executor, add } = toolyard()
    const fail = (neverLeft: boolean) => async () => {
      throw new ToolExecutionError('TIMEOUT', 'too late', {}, { repeat: { neverLeft } })
    }
    add('never', fail(true))
    add('maybe', fail(false))
    expect(await executor.execute('never', {})).not.toHaveProperty('outcome')
    expect(await executor.execute('maybe', {})).toMatchObject({ outcome: 'unknown' })
  })

  test('a delay is never shorter than Retry-After', async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    const times: number[] = []
    add(
      'tool',
      async () => {
        times.push(clock.now())
        if (times.length > 1) return 'there'
        throw new ToolExecutionError('EXECUTION_ERROR', 'answered 429', {}, { repeat: { afterMs: 700 } })
      },
      { effect: 'read', retry: { max_attempts: 2, backoff_ms: 100 } },
    )
    const call = executor.execute('tool', {})
    await later(5)
    clock.advance(699)
    await later(5)
    expect(times).toHaveLength(1)
    clock.advance(1)
    expect(await call).toMatchObject({ success: true, result: 'there' })
  })

  test('delays have a jitter of 25 %', async () => {
    for (const [random, after] of [
      [0, 75],
      [1, 125],
    ] as const) {
      const clock = new ManualClock()
      const { executor, add } = toolyard({ clock, random: () => random })
      let tries = 0
      const run = async () => {
        if (++tries === 1) throw refused()
        return 'there'
      }
      add('tool', run, { effect: 'read', retry: { max_attempts: 2, backoff_ms: 100 } })
      const call = executor.execute('tool', {})
      await later(5)
      clock.advance(after - 1)
      await later(5)
      expect(tries).toBe(1)
      clock.advance(1)
      expect(await call).toMatchObject({ success: true })
    }
  })

  test("doesn't retry a failure that isn't a network error", async () => {
    const { executor, add } = toolyard()
    const run = vi.fn(async () => {
      throw new Error('bad')
    })
    add('tool', run, { effect: 'read', retry: { max_attempts: 3, backoff_ms: 1 } })
    expect(await executor.execute('tool', {})).toMatchObject({ error_code: 'EXECUTION_ERROR' })
    expect(run).toHaveBeenCalledOnce()
  })

  test("doesn't wait past the deadline", async () => {
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

  test('a lost connection makes the outcome of a write unknown, not of a read', async () => {
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
