import { describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { REFINEMENT, RESULT } from '../../core/execution/tool-view.ts'
import type { Handler, Isolate, IsolatedTask } from '../../core/handler.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError, type ToolFailure, type ToolResult } from '../../core/tool-result.ts'
import { kindContract } from '../../testing/kind-contract.ts'
import { handlerKind, ToolHandlers } from '../tool-handlers.ts'
import { CodeModeKind, type CodeModeSettings, declarations } from './code-mode.ts'
import { runCode } from './code-sandbox.ts'
import { PipelineKind } from './pipeline.ts'

vi.setConfig({ testTimeout: 60_000 })

/** The sandbox in this process. */
const here: Isolate = {
  run: async ({ params, call }) => runCode(params as never, { call } as never),
  close: async () => {},
}

type Program = (call: NonNullable<IsolatedTask['call']>) => unknown

/** Runs this program in place of the code. */
const instead = (program: Program): Isolate => ({
  run: async ({ call }, signal) =>
    Promise.race([
      program(call as NonNullable<typeof call>),
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ]),
  close: async () => {},
})

type Tool = Handler | { readonly run: Handler; readonly effect?: ToolDefinition['effect'] }

function open(tools: Readonly<Record<string, Tool>>, isolate: Isolate = here, settings: CodeModeSettings = {}) {
  const registry = new ToolRegistry()
  const handlers = new ToolHandlers()
  const effectOf = (name: string) => executor.effectOf(name)
  const code_mode = new CodeModeKind(settings, { registry, isolate, effectOf })
  const calleesOf = (tool: ToolDefinition) =>
    ({ pipeline, code_mode })[tool.implementation.type as 'pipeline']?.callees(tool)
  const pipeline: PipelineKind = new PipelineKind({ registry, clock: systemClock, effectOf, calleesOf })
  const executor: ToolExecutor = new ToolExecutor(registry, {
    kinds: { internal: handlerKind('Internal', handlers), code_mode, pipeline },
  })
  for (const [name, tool] of Object.entries(tools)) {
    const { run, effect = 'read' } = typeof tool === 'function' ? { run: tool } : tool
    handlers.register(name, run, { effect })
    registry.register(define(name, { type: 'internal', handler: name }))
  }
  registry.register(code_mode.definition)
  const run = (code = '', context = {}) => executor.execute('run_code', { code }, context)
  return { registry, executor, code_mode, run }
}

const define = (name: string, implementation: ToolDefinition['implementation'], more: object = {}): ToolDefinition => ({
  ...{ name, description: `The tool ${name}.`, parameters: { type: 'object' }, implementation, ...more },
})

const echo: Handler = (params) => params

describe('the kind code_mode', () => {
  const greet = define('greet', { type: 'internal', handler: 'greet' })
  const handlers = new ToolHandlers()
  handlers.register('greet', ({ word }) => `Hello ${word}`, { effect: 'read' })
  const registry = new ToolRegistry()
  registry.register(greet)
  const kind = new CodeModeKind({}, { registry, isolate: here, effectOf: () => 'read' })
  for (const clause of kindContract({
    ...{ kind, tool: kind.definition, params: { code: 'return [await tools.greet({ word: "you" })]' } },
    result: { result: ['Hello you'] },
    others: { tools: [greet], kinds: { internal: handlerKind('Internal', handlers) } },
  })) {
    test(clause.name, () => clause.run())
  }
})

describe('an error of the code', () => {
  const fail: Handler = () => {
    throw new ToolExecutionError('RATE_LIMITED', 'try later')
  }
  test.each([
    ['of a null value', '\n\nconst order = null\norder.id', "TypeError: cannot read property 'id' of null (line 4)"],
    ['of its syntax', '\nconst order = ;', "SyntaxError: unexpected token in expression: ';' (line 2)"],
    [
      'in TypeScript',
      'const a: number = 1\nconst b: string = a as unknown as string\nb.trim()',
      'TypeError: not a function (line 3)',
    ],
    ['of a call', 'const a = 1\nawait tools.fail({ a })', 'RATE_LIMITED: try later (line 2)'],
    ['in a function', 'function f() {\n  throw new RangeError("far")\n}\nf()', 'RangeError: far (line 2)'],
    ['that is no Error', 'throw { a: 1 }', '{"a":1}'],
    ['after output', 'console.log("before", [1])\nthrow new Error("x")', 'Error: x (line 2)\nconsole: before [1]'],
    ['of a value that is not JSON', 'return 1n', 'TypeError: BigInt are forbidden in JSON.stringify'],
  ])('%s names its line', async (_, code, error) => {
    expect(await open({ fail }).run(code)).toMatchObject({ success: false, error, error_code: 'EXECUTION_ERROR' })
  })

  test('can be caught', async () => {
    const code =
      'try { await tools.fail() } catch (error) { return [error.code, error.message, error instanceof Error] }'
    expect(await open({ fail }).run(code)).toMatchObject({ result: { result: ['RATE_LIMITED', 'try later', true] } })
  })
})

test('calls pass any JSON in both directions', async () => {
  const { run } = open({ 'a-b': echo })
  const value = '{ text: "ä\\u2028", list: [1, null, true, 1e300], "": {} }'
  expect(await run(`const value = ${value}\nreturn [await tools["a-b"](value), await tools["a-b"]()]`)).toMatchObject({
    result: { result: [{ text: 'ä\u2028', list: [1, null, true, 1e300], '': {} }, {}] },
  })
})

test('output is cut, with a note', async () => {
  const { run } = open({})
  const long = (await run('console.log("seen"); return "ä".repeat(40000)')) as { result: Record<string, string> }
  expect(Buffer.byteLength(long.result.result as string)).toBeLessThanOrEqual(65_536)
  expect(long.result.result).toMatch(/^"ä+$/)
  expect(long.result).toMatchObject({ note: expect.stringContaining('Return less') })
  const loud = (await run('console.log("x".repeat(70000)); return 1')) as { result: Record<string, string> }
  expect(loud.result).toMatchObject({ result: 1, note: 'The console was cut. Print less' })
  expect(loud.result.console).toHaveLength(65_535)
})

test('source of more than 64 KB is refused', async () => {
  const program = vi.fn()
  const { run } = open({}, instead(program))
  expect(await run(`//${'x'.repeat(65_534)}`)).toMatchObject({ success: true })
  expect(await run(`//${'ä'.repeat(40_000)}`)).toMatchObject({
    error_code: 'INVALID_PARAMETERS',
    error: 'The code has 80002 bytes, and at most 65536 are allowed',
  })
  expect(program).toHaveBeenCalledTimes(1)
})

test('at most 32 calls are in flight', async () => {
  let most = 0
  const waiting: (() => void)[] = []
  const look: Handler = async () => {
    await new Promise<void>((resolve) => {
      most = Math.max(most, waiting.push(resolve))
      if (waiting.length === 32 || most === 40) for (const go of waiting.splice(0)) go()
    })
  }
  let ended = 0
  const program: Program = async (call) => {
    const calls = Array.from({ length: 64 }, () => call('look', {}).then(() => ended++))
    await Promise.all(calls)
  }
  expect(await open({ look: { run: look, effect: 'write' } }, instead(program), { max_calls: 64 }).run()).toMatchObject(
    {
      success: true,
    },
  )
  expect([most, ended]).toEqual([32, 64])
})

test('the code may make max_calls calls', async () => {
  const look = vi.fn(() => 1)
  const code =
    'const all = []\nfor (let i = 0; i < 5; i++) all.push(await tools.look().catch((e) => e.message))\nreturn all'
  const { run } = open({ look: { run: look, effect: 'write' } }, here, { max_calls: 3 })
  const refusal = 'The code may make at most 3 calls'
  expect(await run(code)).toMatchObject({ result: { result: [1, 1, 1, refusal, refusal] } })
  expect(look).toHaveBeenCalledTimes(3)
})

describe('the tools of code', () => {
  test('are those that match the patterns, without run_code itself', async () => {
    const results: ToolResult[] = []
    const program: Program = async (call) => {
      const names = ['orders_get', 'orders_get@1.0.0', 'orders_get@3.0.0', 'pay', 'run_code', 'absent']
      for (const name of names) results.push(await call(name, {}))
    }
    const tools = { orders_get: echo, pay: echo }
    const { run, code_mode, registry } = open(tools, instead(program), { tools: ['orders_*', 'run_*'] })
    registry.register(define('orders_get', { type: 'internal', handler: 'pay' }, { version: '1.0.0' }))
    await run()
    expect(code_mode.callees()).toEqual(['orders_get'])
    expect(results.map((one) => (one.success ? 'done' : `${one.error_code} ${one.error}`))).toEqual([
      'done',
      "TOOL_NOT_FOUND Tool 'orders_get@1.0.0' is not available to code",
      "TOOL_NOT_FOUND Tool 'orders_get' has no version '3.0.0': it has 0.0.0, 1.0.0",
      "TOOL_NOT_FOUND Tool 'pay' is not available to code",
      "TOOL_NOT_FOUND Tool 'run_code' is not available to code",
      "TOOL_NOT_FOUND Tool 'absent' not found",
    ])
  })

  test('are described to each caller as far as it may use them', () => {
    const { registry, code_mode } = open({ look: echo, pay: echo })
    registry.register(define('broken', { type: 'absent' }))
    const shown = (rights: object) => registry.shownTo(code_mode.definition, rights).description
    expect(shown({})).toContain('look(params?: Record<string, unknown>): Promise<unknown>')
    expect(shown({})).toContain('pay(')
    expect(shown({ tools: ['look', 'run_code'] })).not.toContain('pay(')
    expect(shown({ flags: { pay: false } })).not.toContain('pay(')
    expect(shown({})).not.toMatch(/broken|run_code\(/)
  })

  test('decide the effect, also if one of them calls run_code', () => {
    const { executor, registry } = open({ look: echo })
    expect(executor.effectOf('run_code')).toBe('read')
    registry.register(define('loop', { type: 'pipeline', steps: [{ id: 'a', tool: 'run_code' }] }))
    expect([executor.effectOf('loop'), executor.effectOf('run_code')]).toEqual(['read', 'read'])
    registry.unregister('loop')
    expect(executor.effectOf('run_code')).toBe('read')
  })

  test('decide the effect with all their versions', () => {
    const { executor, registry } = open({ look: echo })
    const other = define('look', { type: 'internal', handler: 'look' }, { version: '1.0.0', effect: 'write' })
    registry.register({ ...other, deprecated: { use: 'another tool' } })
    registry.rollOut(new Map([['look', { current: '0.0.0' }]]))
    expect([executor.effectOf('look'), executor.effectOf('run_code')]).toEqual(['read', 'write'])
  })

  test('never run code through other tools', async () => {
    const results: ToolResult[] = []
    const program: Program = async (call) => void results.push(await call('loop', {}))
    const { run, registry } = open({}, instead(program))
    const steps = [{ id: 'a', tool: 'run_code', params: { code: '' } }]
    registry.register(define('loop', { type: 'pipeline', steps }))
    await run()
    expect(results).toMatchObject([{ error: expect.stringContaining("'run_code' was called by its own code") }])
  })
})

describe('a failed run', () => {
  test('says what was done, and cancels what runs', async () => {
    const aborted = vi.fn()
    const slow: Handler = (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(aborted())))
    const program: Program = async (call) => {
      void call('pay', {})
      await call('look', {})
      throw new Error('The code failed')
    }
    const { run } = open({ look: echo, pay: { run: slow, effect: 'write' } }, instead(program))
    expect(await run()).toMatchObject({
      ...{ error: 'The code failed', error_code: 'EXECUTION_ERROR', outcome: 'unknown' },
      details: {
        steps: [
          { id: '1', tool: 'pay', status: 'cancelled', outcome: 'unknown' },
          { id: '2', tool: 'look', status: 'done' },
        ],
      },
    })
    expect(aborted).toHaveBeenCalled()
  })

  test('that is repeated with its idempotency key makes no write twice, whatever the order', async () => {
    const pay = vi.fn(echo)
    let order = ['a', 'b', 'b']
    const program: Program = async (call) => {
      for (const to of order) await call('pay', { to })
      if (order.length < 4) throw new ToolExecutionError('SERVICE_UNAVAILABLE', 'try again')
      return 'done'
    }
    const { run } = open({ pay: { run: pay, effect: 'write' } }, instead(program))
    const context = { idempotencyKey: 'k1', caller: 'alice' }
    expect(await run('', context)).toMatchObject({ success: false })
    order = ['b', 'c', 'a', 'b']
    expect(await run('', context)).toMatchObject({ result: 'done' })
    expect(pay.mock.calls.map(([{ to }]) => to)).toEqual(['a', 'b', 'b', 'c'])
  })

  test('stops when a call needs approval', async () => {
    const approval = { id: 'p1', expires_at: '2030-01-01T00:00:00.000Z' }
    const ask: Handler = () => {
      throw new ToolExecutionError('APPROVAL_REQUIRED', 'Ask a person', { details: { approval } })
    }
    const pay = vi.fn(echo)
    const program: Program = async (call) => {
      await call('ask', {})
      await call('pay', {})
    }
    const { run } = open({ ask, pay }, instead(program))
    expect(await run()).toMatchObject({
      ...{ error_code: 'APPROVAL_REQUIRED', error: 'The code waits: Ask a person' },
      details: { approval, steps: [{ tool: 'ask', status: 'failed' }] },
    })
    expect(pay).not.toHaveBeenCalled()
  })
})

test('progress names each call', async () => {
  const report = vi.fn()
  const { run } = open(
    { look: echo },
    instead((call) => call('look', {})),
  )
  await run('', { report })
  expect(report.mock.calls).toEqual([
    [{ step: '1', tool: 'look', status: 'running', message: 'Call 1, look: running' }],
    [{ step: '1', tool: 'look', status: 'done', message: 'Call 1, look: done' }],
  ])
})

describe('declarations', () => {
  const declared = (parameters: object, more: object = {}) =>
    declarations([{ ...define('t', { type: 'mock' }, { parameters }), ...more } as ToolDefinition]).split('\n')[2]

  test.each([
    [
      { type: 'object', properties: { a: { type: 'integer' }, 'b-c': { enum: ['x', 1] } }, required: ['a'] },
      'params: { a: number; "b-c"?: "x" | 1 }',
    ],
    [
      { type: 'object', properties: { a: { type: ['string', 'null'], description: 'A */ b' } } },
      'params?: { a?: string | null /* A * / b */ }',
    ],
    [
      { type: 'object', properties: { a: { type: 'array', items: { anyOf: [{ type: 'string' }, { const: 1 }] } } } },
      'params?: { a?: (string | 1)[] }',
    ],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'params?: Record<string, number>'],
    [{ type: 'object', properties: {}, additionalProperties: false }, 'params?: {}'],
    [
      {
        type: 'object',
        properties: { a: { $ref: '#/$defs/b' } },
        $defs: { b: { allOf: [{ type: 'object', properties: { c: {} } }, { $ref: '#/$defs/none' }] } },
      },
      'params?: { a?: { c?: unknown } & unknown }',
    ],
  ])('of %j', (parameters, text) => {
    expect(declared(parameters)).toBe(`  t(${text}): Promise<unknown>`)
  })

  test('end where a schema refers to itself', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } }
    expect(declared({ type: 'object', properties: { first: { $ref: '#/$defs/node' } }, $defs: { node } })).toContain(
      'unknown',
    )
  })

  test('have the type of the result if there is a schema', () => {
    const result = { schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } }
    expect(declared({ type: 'object' }, { [RESULT]: result, [REFINEMENT]: undefined })).toContain(
      'Promise<{ id: string }>',
    )
  })

  test('are bounded: the other tools are named', () => {
    const tools = Array.from({ length: 2_000 }, (_, at) =>
      define(`tool-${at}`, { type: 'mock' }, { description: 'x'.repeat(1_000) }),
    )
    const text = declarations(tools)
    expect(text.length).toBeLessThan(21_000)
    expect(text).toContain('"tool-0"(')
    expect(text).toMatch(/\/\/ Without parameters here: "tool-\d+", .* and \d+ more\n}$/)
  })

  test('list a tool by name whose schema refers to itself many times, after a bounded number of steps, and only once', () => {
    let reads = 0
    const self = {
      $ref: '#/$defs/node',
      get description() {
        reads++
        return 'Again.'
      },
    }
    const properties = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`p${index}`, self]))
    const $defs = { node: { type: 'object', properties } }
    const tool = define('tree', { type: 'mock' }, { parameters: { type: 'object', properties, $defs } })
    expect(declarations([tool])).toContain('// Without parameters here: tree')
    const before = reads
    declarations([tool])
    expect([reads - before, reads]).toEqual([0, expect.toSatisfy((count) => count < 10_000)])
  })
})

test('another tool of the kind is refused', () => {
  const { code_mode } = open({})
  expect(code_mode.problem(define('mine', { type: 'code_mode' }))).toContain('set tools.code_mode instead')
})

test('a call that the executor refuses is recorded like any other', async () => {
  const { run } = open(
    { look: echo },
    instead((call) => call('look', 'text')),
  )
  const result = (await run()) as { result: ToolFailure }
  expect(result.result).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
})
