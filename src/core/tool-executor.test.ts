import { describe, expect, test, vi } from 'vitest'
import { captureLog } from '../testing/capture-log.ts'
import { never, toolyard } from './fixtures/code-yard.ts'
import type { Handler } from './handler.ts'
import type { Isolate } from './isolate.ts'
import { ToolExecutionError } from './tool-execution-error.ts'
import type { ToolFailure } from './tool-result.ts'

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

test('a record holds the parameters as they were validated, defaults counted, and nothing of the result', async () => {
  const { executor, add, records } = toolyard()
  const parameters = { type: 'object', properties: { list: { default: [1, 2, 3] } } }
  add('tool', async (params) => void (params.list as number[]).push(4), { parameters })
  await executor.execute('tool', {})
  executor.flush()
  expect(records[0]?.params).toEqual({ list: [1, 2, 3] })
  expect(records[0]?.nodes).toBeGreaterThanOrEqual(5)
  expect(records[0]).toHaveProperty('execution', undefined)
})

describe('a write that may have happened', () => {
  test.each<[string, Handler]>([
    ['whose result is too large', () => 'x'.repeat(2_000)],
    ['whose result is no JSON', () => 1n],
  ])('and %s says so; a read does not', async (_, run) => {
    const { executor, add } = toolyard()
    add('write', run, { max_result_bytes: 1_000 })
    add('read', run, { max_result_bytes: 1_000, effect: 'read' })
    expect(await executor.execute('write', {})).toMatchObject({ success: false, outcome: 'unknown' })
    expect(await executor.execute('read', {})).not.toHaveProperty('outcome')
  })

  test('does not say so where the handler itself says that it failed', async () => {
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

  test('a log that throws fails no call', async () => {
    const broken = () => {
      throw new Error('log is full')
    }
    const log = { debug: broken, info: broken, warn: broken, error: broken, isLevelEnabled: () => true }
    const { executor, add } = toolyard({ log })
    add('tool', () => 'done')
    expect(await executor.execute('tool', {})).toMatchObject({ result: 'done' })
    expect(await executor.execute('nobody', {})).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
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

describe('checks that may take long', () => {
  const exact = {
    type: 'object',
    $ref: '#/$defs/y',
    $defs: { y: { $dynamicAnchor: 'x', properties: { a: { $dynamicRef: '#x' } } } },
  }

  test('run in a process of their own, under the call’s own deadline', async () => {
    const isolate: Isolate = { run: () => never(), close: async () => {} }
    const { executor, add } = toolyard({ isolate })
    const run = vi.fn()
    add('tool', run, { parameters: exact, timeout_ms: 50 })
    const result = await executor.execute('tool', {})
    expect(result).toMatchObject({ error_code: 'TIMEOUT' })
    expect(result).not.toHaveProperty('outcome')
    expect(run).not.toHaveBeenCalled()
  })

  test('take no place of the tool', async () => {
    const isolate: Isolate = { run: async () => [], close: async () => {} }
    const { executor, add } = toolyard({ isolate })
    add('tool', () => 'ran', { parameters: exact, max_concurrency: 1 })
    const results = await Promise.all([executor.execute('tool', { n: 1 }), executor.execute('tool', { n: 2 })])
    expect(results).toMatchObject([{ result: 'ran' }, { result: 'ran' }])
  })

  test('an ordinary schema is checked at once, unless the parameters are too much for it', async () => {
    const run = vi.fn(async () => [])
    const { executor, add } = toolyard({ isolate: { run, close: async () => {} } })
    const text = { type: 'string', pattern: '(?:a[ab]{0,90}){5}[cd]' }
    add('tool', () => 'ran', { parameters: { type: 'object', properties: { text } } })
    expect(await executor.execute('tool', { text: 'aaaaac' })).toMatchObject({ result: 'ran' })
    expect(run).not.toHaveBeenCalled()
    expect(await executor.execute('tool', { text: 'a'.repeat(500_000) })).toMatchObject({ result: 'ran' })
    expect(run).toHaveBeenCalledOnce()
  })

  test('without a pool, the sentence says what is missing', async () => {
    const { executor, add } = toolyard()
    add('tool', () => 'ran', { parameters: exact })
    expect(await executor.execute('tool', {})).toMatchObject({
      error_code: 'EXECUTION_ERROR',
      error: "Tool 'tool' needs a process pool, and there is none",
    })
  })
})

describe('a caller that sees only some tools', () => {
  test('is told of the others that they are not there, and never by a suggestion', async () => {
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

test('a call that is refused without being made is an envelope, and recorded', async () => {
  const { executor, add, records } = toolyard()
  const run = vi.fn()
  add('tool', run)
  const reason = new ToolExecutionError('EXECUTION_ERROR', 'Enough of this')
  expect(executor.refuse('tool', reason)).toMatchObject({ success: false, error: 'Enough of this', tool_name: 'tool' })
  executor.flush()
  expect(records).toMatchObject([{ tool: 'tool', code: 'EXECUTION_ERROR' }])
  expect(run).not.toHaveBeenCalled()
})
