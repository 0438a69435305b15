import { describe, expect, test, vi } from 'vitest'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { never, toolyard } from '../fixtures/code-yard.ts'
import type { Handler, Isolate } from '../handler.ts'
import { ToolExecutionError, type ToolFailure } from '../tool-result.ts'

describe('handlers', () => {
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

  test.each([
    ['write', { outcome: 'unknown' }],
    ['read', {}],
  ] as const)('times out a %s handler that blocks the thread past its deadline', async (effect, more) => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    const blocks = () => {
      clock.advance(1_001)
      return 'done'
    }
    add('sync', blocks, { effect, timeout_ms: 1_000 })
    add('async', async () => blocks(), { effect, timeout_ms: 1_000 })
    for (const tool of ['sync', 'async']) {
      expect(await executor.execute(tool, {})).toEqual({
        success: false,
        error: 'Tool execution timed out after 1000ms',
        error_code: 'TIMEOUT',
        tool_name: tool,
        execution_time_ms: 1_001,
        ...more,
      })
    }
  })

  const CUT = `${'x'.repeat(8_192)}… [cut: the message has 100000 characters]`
  const frozen = Object.freeze({ message: 'frozen', stack: 'secret' })
  const trap = Object.defineProperty({}, 'message', {
    get: () => {
      throw new Error('secret')
    },
  })
  test.each<[string, unknown, string]>([
    ['an error', new Error('boom'), 'boom'],
    ['a string', 'just text', 'just text'],
    ['null', null, 'The tool failed without an error message'],
    ['undefined', undefined, 'The tool failed without an error message'],
    ['a frozen object', frozen, 'frozen'],
    ['an object whose getter throws', trap, 'The tool failed without an error message'],
    ['an endless message', new Error('x'.repeat(100_000)), CUT],
    ['an endless message of a remote tool', new ToolExecutionError('EXECUTION_ERROR', 'x'.repeat(100_000)), CUT],
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

  test('a handler that changes its parameters affects neither the caller nor the record', async () => {
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

test('a record has the validated parameters with defaults, and nothing of the result', async () => {
  const { executor, add, records } = toolyard()
  const parameters = { type: 'object', properties: { list: { default: [1, 2, 3] } } }
  add('tool', async (params) => void (params.list as number[]).push(4), { parameters })
  await executor.execute('tool', {})
  executor.flush()
  expect(records[0]?.params).toEqual({ list: [1, 2, 3] })
  expect(records[0]?.nodes).toBeGreaterThanOrEqual(5)
  expect(records[0]).toHaveProperty('execution', undefined)
})

describe('a call that has just begun', () => {
  test.each<[string, (clock: ManualClock, executor: { close(): void }) => void, string]>([
    ['times out', (clock) => clock.advance(30_000), 'TIMEOUT'],
    ['is cancelled when the executor is closed', (_, executor) => executor.close(), 'CANCELLED'],
  ])('%s', async (_, end, error_code) => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    add('tool', never)
    const call = executor.execute('tool', {})
    end(clock, executor)
    expect(await call).toMatchObject({ success: false, error_code })
    expect(executor.running).toBe(0)
  })
})

describe('outcome unknown', () => {
  test.each<[string, Handler]>([
    ['whose result is too large', () => 'x'.repeat(2_000)],
    ['whose result is no JSON', () => 1n],
  ])('is set if a write %s, but not for a read', async (_, run) => {
    const { executor, add } = toolyard()
    add('write', run, { max_result_bytes: 1_000 })
    add('read', run, { max_result_bytes: 1_000, effect: 'read' })
    expect(await executor.execute('write', {})).toMatchObject({ success: false, outcome: 'unknown' })
    expect(await executor.execute('read', {})).not.toHaveProperty('outcome')
  })

  test('is not set if the handler itself reports the failure', async () => {
    const { executor, add } = toolyard()
    add('write', () => {
      throw new Error('refused')
    })
    expect(await executor.execute('write', {})).not.toHaveProperty('outcome')
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

  test.each([undefined, null, 7, {}, Symbol('x')])(
    "returns an envelope for a name that isn't a string (%s)",
    async (name) => {
      const { executor } = toolyard()
      expect(await executor.execute(name as unknown as string, {})).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
    },
  )

  test('suggests similar names of tools that the caller may see', async () => {
    const { executor, add } = toolyard()
    add('get_weather', () => 1)
    add('get_whether', () => 1, { permissions: ['secret'] })
    expect(await executor.execute('get_wether', {})).toMatchObject({ suggestions: ['get_weather'] })
    expect(await executor.execute('get_wether', {}, { flags: { secret: true } })).toMatchObject({
      suggestions: ['get_weather', 'get_whether'],
    })
    expect(await executor.execute('zzzzzz', {})).not.toHaveProperty('suggestions')
  })

  test("records refusals, and a failing sink doesn't fail the call", async () => {
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

  test('delivers progress that is reported synchronously', async () => {
    const { executor, add } = toolyard()
    add('tool', (_, { report }) => report('at once'))
    const report = vi.fn()
    await executor.execute('tool', {}, { report })
    expect(report).toHaveBeenCalledWith('at once')
  })

  test("a log that throws doesn't fail the call", async () => {
    const broken = () => {
      throw new Error('log is full')
    }
    const log = { debug: broken, info: broken, warn: broken, error: broken, isLevelEnabled: () => true }
    const { executor, add } = toolyard({ log })
    add('tool', () => 'done')
    expect(await executor.execute('tool', {})).toMatchObject({ result: 'done' })
    expect(await executor.execute('nobody', {})).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
  })

  test("a progress listener that throws doesn't fail the call", async () => {
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

describe('expensive validation', () => {
  const exact = {
    type: 'object',
    $ref: '#/$defs/y',
    $defs: { y: { $dynamicAnchor: 'x', properties: { a: { $dynamicRef: '#x' } } } },
  }

  test('runs in a child process under the deadline of the call', async () => {
    const isolate: Isolate = { run: () => never(), close: async () => {} }
    const { executor, add } = toolyard({ isolate })
    const run = vi.fn()
    add('tool', run, { parameters: exact, timeout_ms: 50 })
    const result = await executor.execute('tool', {})
    expect(result).toMatchObject({ error_code: 'TIMEOUT' })
    expect(result).not.toHaveProperty('outcome')
    expect(run).not.toHaveBeenCalled()
  })

  test("doesn't count against the tool's concurrency", async () => {
    const isolate: Isolate = { run: async () => [], close: async () => {} }
    const { executor, add } = toolyard({ isolate })
    add('tool', () => 'ran', { parameters: exact, max_concurrency: 1 })
    const results = await Promise.all([executor.execute('tool', { n: 1 }), executor.execute('tool', { n: 2 })])
    expect(results).toMatchObject([{ result: 'ran' }, { result: 'ran' }])
  })

  test('a simple schema is checked inline unless the parameters are too large', async () => {
    const run = vi.fn(async () => [])
    const { executor, add } = toolyard({ isolate: { run, close: async () => {} } })
    const text = { type: 'string', pattern: '(?:a[ab]{0,90}){5}[cd]' }
    add('tool', () => 'ran', { parameters: { type: 'object', properties: { text } } })
    expect(await executor.execute('tool', { text: 'aaaaac' })).toMatchObject({ result: 'ran' })
    expect(run).not.toHaveBeenCalled()
    expect(await executor.execute('tool', { text: 'a'.repeat(500_000) })).toMatchObject({ result: 'ran' })
    expect(run).toHaveBeenCalledOnce()
  })

  test('without a process pool the error names it', async () => {
    const { executor, add } = toolyard()
    add('tool', () => 'ran', { parameters: exact })
    expect(await executor.execute('tool', {})).toMatchObject({
      error_code: 'EXECUTION_ERROR',
      error: "Tool 'tool' needs a process pool, but the executor has none",
    })
  })
})

describe('a caller with a restricted set of tools', () => {
  test('gets TOOL_NOT_FOUND for other tools, and no suggestion of them', async () => {
    const { executor, add } = toolyard()
    add('weather', () => 'sunny')
    add('weathers', () => 'secret')
    const visible = new Set(['weather'])
    expect(await executor.execute('weather', {}, { visible })).toMatchObject({ success: true })
    const refused = await executor.execute('weathers', {}, { visible })
    expect(refused).toMatchObject({ error_code: 'TOOL_NOT_FOUND', error: "Tool 'weathers' not found" })
    expect((refused as ToolFailure).suggestions).toEqual(['weather'])
  })
})

test('refuse returns an envelope and records the call', async () => {
  const { executor, add, records } = toolyard()
  const run = vi.fn()
  add('tool', run)
  const reason = new ToolExecutionError('EXECUTION_ERROR', 'Enough of this')
  expect(executor.refuse('tool', reason)).toMatchObject({ success: false, error: 'Enough of this', tool_name: 'tool' })
  executor.flush()
  expect(records).toMatchObject([{ tool: 'tool', code: 'EXECUTION_ERROR' }])
  expect(run).not.toHaveBeenCalled()
})
