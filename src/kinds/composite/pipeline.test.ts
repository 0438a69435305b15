import { describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { Handler } from '../../core/handler.ts'
import type { CallRecord } from '../../core/records/recorder.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError, type ToolFailure } from '../../core/tool-result.ts'
import { kindContract } from '../../testing/kind-contract.ts'
import { handlerKind, ToolHandlers } from '../tool-handlers.ts'
import { PipelineKind } from './pipeline.ts'

const define = (name: string, implementation: ToolDefinition['implementation'], more: object = {}): ToolDefinition => ({
  ...{ name, description: `The tool ${name}.`, parameters: { type: 'object' }, implementation, ...more },
})

type Tool =
  | Handler
  | { readonly run: Handler; readonly effect?: ToolDefinition['effect']; readonly timeout_ms?: number }

/** Pipelines over tools that are functions of the test. */
function open(tools: Readonly<Record<string, Tool>>, maxParallel?: number) {
  const registry = new ToolRegistry()
  const handlers = new ToolHandlers()
  const records: CallRecord[] = []
  const pipeline: PipelineKind = new PipelineKind({
    ...{ registry, clock: systemClock, maxParallel },
    effectOf: (name) => executor.effectOf(name),
    calleesOf: (tool) => (tool.implementation.type === 'pipeline' ? pipeline.callees(tool) : undefined),
  })
  const executor: ToolExecutor = new ToolExecutor(registry, {
    kinds: { internal: handlerKind('Internal', handlers), pipeline },
    sinks: [{ write: (batch) => void records.push(...batch.records) }],
  })
  for (const [name, tool] of Object.entries(tools)) {
    const { run, ...more } = typeof tool === 'function' ? { run: tool } : tool
    handlers.register(name, run, { effect: 'read' })
    registry.register(define(name, { type: 'internal', handler: name }, more))
  }
  const add = (name: string, steps: readonly object[], more: object = {}) => {
    const { output, ...rest } = more as { output?: unknown }
    const tool = define(name, { type: 'pipeline', steps, ...(output !== undefined && { output }) }, rest)
    registry.register(tool)
    return tool
  }
  return { registry, executor, pipeline, add, records }
}

const echo: Handler = (params) => params
const NAMES = { type: 'object', properties: { names: { type: 'array' }, name: { type: 'string' } } }

describe('the kind pipeline', () => {
  const greet = define('greet', { type: 'internal', handler: 'greet' })
  const handlers = new ToolHandlers()
  handlers.register('greet', ({ word }) => ({ greeting: `Hello ${word}` }), { effect: 'read' })
  const registry = new ToolRegistry()
  registry.register(greet)
  const kind = new PipelineKind({ registry, clock: systemClock, effectOf: () => 'read', calleesOf: () => undefined })
  const steps = [{ id: 'greet', tool: 'greet', params: { word: { $: '$.params.word' } } }]
  const parameters = { type: 'object', properties: { word: { type: 'string' } } }
  const tool = define('tool', { type: 'pipeline', steps }, { parameters })
  for (const clause of kindContract({
    ...{ kind, tool, params: { word: 'you' }, result: { greeting: 'Hello you' } },
    others: { tools: [greet], kinds: { internal: handlerKind('Internal', handlers) } },
    lacking: {
      tool: define('tool', { type: 'pipeline', steps: [{ id: 'a', tool: 'gret' }] }),
      error: "Step 'a' calls the unknown tool 'gret'. Did you mean 'greet'?",
    },
  })) {
    test(clause.name, () => clause.run())
  }
})

describe('a definition is refused if', () => {
  const { pipeline } = open({})
  const step = { id: 'a', tool: 'look' }
  test.each<[string, unknown, string]>([
    ['it has no steps', [], 'steps must have at least 1 item'],
    ['it has 51 steps', Array.from({ length: 51 }, (_, at) => ({ id: `s${at}`, tool: 'look' })), 'at most 50'],
    ['a step has an unknown key', [{ ...step, parms: {} }], 'parms'],
    ['two steps have one id', [step, step], "There are two steps 'a': rename one of them"],
    [
      'a path is invalid',
      [{ ...step, params: { x: { $: '$.params[' } } }],
      'Step \'a\': "$.params[" is not a JSONPath',
    ],
    ['a path is no text', [{ ...step, params: { x: { $: 7 } } }], `Step 'a': "$" must be a JSONPath, not 7`],
    [
      'a reference has other keys',
      [{ ...step, params: { x: { $: '$.params', y: 1 } } }],
      "has no other keys, such as 'y'",
    ],
    ['a step is unknown', [{ ...step, params: { x: { $: '$.steps.b' } } }], "there is no step 'b'"],
    ['a parameter is unknown', [{ ...step, params: { x: { $: '$.params.nmae' } } }], "Did you mean 'name'?"],
    [
      'a path begins elsewhere',
      [{ ...step, params: { x: { $: '$.env.HOME' } } }],
      'paths begin with $.params or $.steps',
    ],
    ['a path leaves out steps', [{ ...step, params: { x: { $: '$.a.x' } } }], 'Did you mean $.steps.a?'],
    ['a path leaves out params', [{ ...step, params: { x: { $: '$.name' } } }], 'Did you mean $.params.name?'],
    ['an item is used without for_each', [{ ...step, params: { x: { $: '$.item' } } }], 'a step with for_each'],
    ['an item is its own list', [{ ...step, for_each: { $: '$.item' } }], 'a step with for_each'],
    ['when is no schema', [{ ...step, when: { type: 'objet' } }], "Step 'a': 'when' is not a valid JSON Schema"],
    [
      'when mentions an unknown step',
      [{ ...step, when: { anyOf: [{ properties: { steps: { required: ['b'] } } }] } }],
      "'when' refers to nothing: there is no step 'b'",
    ],
    ['a step waits for itself', [{ ...step, params: { x: { $: '$.steps.a' } } }], 'wait for each other: a → a'],
    [
      'steps wait for each other',
      [
        { ...step, params: { x: { $: '$.steps.b' } } },
        { id: 'b', tool: 'look', when: { properties: { steps: { properties: { a: {} } } } } },
      ],
      'The steps wait for each other: a → b → a',
    ],
  ])('%s', (_, steps, problem) => {
    expect(pipeline.problem(define('bad', { type: 'pipeline', steps }, { parameters: NAMES }))).toContain(problem)
  })
})

test.each(['$.params.name', '{{name}}'])('the text %s without its object is reported', (text) => {
  const { pipeline, add } = open({ look: echo })
  const tool = add('p', [{ id: 'a', tool: 'look', params: { list: [text] } }], { parameters: NAMES })
  const warning = `The text "${text}" is passed on as it is. For a value, write {"$": path}`
  expect([pipeline.problem(tool), pipeline.warning(tool)]).toEqual([undefined, warning])
})

test('a path that found nothing is named if the parameters of its step are invalid', async () => {
  const { add, executor, registry } = open({ look: echo })
  const strict = { type: 'object', properties: { n: { type: 'number' } } }
  registry.register(define('strict', { type: 'internal', handler: 'look' }, { parameters: strict }))
  add('p', [
    { id: 'a', tool: 'look' },
    { id: 'b', tool: 'strict', params: { n: { $: '$.steps.a.count' } } },
  ])
  expect(await executor.execute('p', {})).toMatchObject({
    error: "Step 'b' failed: Invalid parameters: n must be a number. Found nothing: $.steps.a.count",
  })
})

test('a timeout inside pipelines names the steps that ran', async () => {
  const { add, executor } = open({ slow: { run: () => new Promise(() => {}), effect: 'read' } })
  add('inner', [{ id: 'wait', tool: 'slow' }], { timeout_ms: 50 })
  add('outer', [{ id: 'first', tool: 'inner' }])
  expect(await executor.execute('outer', {})).toMatchObject({
    error: "Step 'first' failed: Tool execution timed out after 50ms in step 'wait' (slow)",
    error_code: 'TIMEOUT',
  })
})

test('pipelines that call each other are refused before they run', async () => {
  const look = vi.fn(echo)
  const { add, executor, registry } = open({ look })
  add('one', [
    { id: 'a', tool: 'look' },
    { id: 'b', tool: 'two' },
  ])
  add('two', [
    { id: 'a', tool: 'look' },
    { id: 'b', tool: 'one' },
  ])
  expect(registry.brokenReason('one')).toBe('It calls itself: one → two → one')
  expect(await executor.execute('one', {})).toMatchObject({ success: false, error: 'It calls itself: one → two → one' })
  expect(look).not.toHaveBeenCalled()
})

test('a pipeline of a pipeline with a missing tool says where it is missing', () => {
  const { add, registry } = open({})
  add('inner', [{ id: 'a', tool: 'absent' }])
  add('outer', [{ id: 'b', tool: 'inner' }])
  expect(registry.brokenReason('outer')).toBe(
    "Step 'b' can't call tool 'inner': Step 'a' calls the unknown tool 'absent'",
  )
})

test('layers of pipelines that call each other twice are checked once each', () => {
  const { add, registry } = open({ look: echo })
  let below = 'look'
  for (let layer = 0; layer < 40; layer++) {
    const name = `layer${layer}`
    add(name, [
      { id: 'a', tool: below },
      { id: 'b', tool: below },
    ])
    below = name
  }
  expect(registry.brokenReason(below)).toBeUndefined()
})

describe('a failed step', () => {
  const boom = { run: () => Promise.reject(new Error('No such account')), effect: 'read' } as const

  test('ends the pipeline with its name, and the envelope says what was done', async () => {
    const { add, executor } = open({ look: echo, boom })
    add('p', [
      { id: 'first', tool: 'look' },
      { id: 'second', tool: 'boom', params: { x: { $: '$.steps.first' } } },
      { id: 'third', tool: 'look', params: { x: { $: '$.steps.second' } } },
    ])
    expect(await executor.execute('p', {})).toMatchObject({
      error: "Step 'second' failed: No such account",
      error_code: 'EXECUTION_ERROR',
      details: {
        steps: [
          { id: 'first', tool: 'look', status: 'done' },
          { id: 'second', tool: 'boom', status: 'failed', error: "Step 'second' failed: No such account" },
          { id: 'third', tool: 'look', status: 'not_run' },
        ],
      },
    })
  })

  test('cancels the calls that run beside it', async () => {
    const aborted = vi.fn()
    const slow: Handler = (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(aborted())))
    const { add, executor } = open({ slow, boom })
    add('p', [
      { id: 'slow', tool: 'slow' },
      { id: 'boom', tool: 'boom' },
    ])
    const result = (await executor.execute('p', {})) as ToolFailure
    expect(result.details?.steps?.map(({ status }) => status)).toEqual(['cancelled', 'failed'])
    expect(aborted).toHaveBeenCalled()
  })

  test('starts no further items', async () => {
    const seen: unknown[] = []
    const pick = {
      run: ({ x }: Record<string, unknown>) => (x === 2 ? Promise.reject(new Error('two')) : seen.push(x)),
    }
    const { add, executor } = open({ pick }, 1)
    add('p', [{ id: 'each', tool: 'pick', for_each: { $: '$.params.names' }, params: { x: { $: '$.item' } } }])
    expect(await executor.execute('p', { names: [1, 2, 3, 4] })).toMatchObject({
      error: "Step 'each', item 1 failed: two",
    })
    expect(seen).toEqual([1])
  })

  test('is not retryable if another step has written, unless the call has an idempotency key', async () => {
    const paid = vi.fn(() => 'paid')
    let isDown = true
    const busy: Handler = () => {
      if (isDown) throw new ToolExecutionError('SERVICE_UNAVAILABLE', 'try later')
      return 'sent'
    }
    const { add, executor } = open({ pay: { run: paid, effect: 'write' }, mail: busy })
    add('p', [
      { id: 'pay', tool: 'pay' },
      { id: 'mail', tool: 'mail', params: { x: { $: '$.steps.pay' } } },
    ])
    expect(await executor.execute('p', {})).toMatchObject({ error_code: 'EXECUTION_ERROR' })
    expect(paid).toHaveBeenCalledTimes(1)
    const context = { idempotencyKey: 'k1', caller: 'alice' }
    expect(await executor.execute('p', {}, context)).toMatchObject({ success: false })
    isDown = false
    const repeated = await executor.execute('p', {}, context)
    expect(paid).toHaveBeenCalledTimes(2)
    expect(repeated).toMatchObject({ success: true, result: 'sent' })
  })
})

test('has the strongest effect of the versions that its steps may call', async () => {
  const paid = vi.fn(async () => 'paid')
  const { add, executor, registry } = open({ look: echo, pay: paid })
  registry.register(define('look', { type: 'internal', handler: 'pay' }, { version: '2.0.0', effect: 'write' }))
  registry.rollOut(new Map([['look', { current: '0.0.0', candidate: '2.0.0', percent: 100 }]]))
  add('p', [{ id: 'a', tool: 'look' }])
  add('outer', [{ id: 'a', tool: 'p' }])
  expect(['look', 'p', 'outer', 'look@0.0.0'].map((name) => executor.effectOf(name))).toEqual([
    ...['write', 'write', 'write', 'read'],
  ])
  // Identical calls of a read are made once.
  await Promise.all([executor.execute('p', {}), executor.execute('p', {})])
  expect(paid).toHaveBeenCalledTimes(2)
  registry.rollOut(new Map([['look', { current: '0.0.0' }]]))
  expect(executor.effectOf('outer')).toBe('read')
})

test('a pipeline that is ended early says which steps have ended', async () => {
  const controller = new AbortController()
  const slow: Handler = () => {
    controller.abort()
    return new Promise(() => {})
  }
  const { add, executor } = open({ look: echo, slow })
  const steps = [
    { id: 'look', tool: 'look' },
    { id: 'slow', tool: 'slow', params: { x: { $: '$.steps.look' } } },
  ]
  add('p', steps)
  expect(await executor.execute('p', {}, { signal: controller.signal })).toMatchObject({
    error_code: 'CANCELLED',
    details: { steps: [{ id: 'look', status: 'done' }, { id: 'slow' }] },
  })
})

test('steps report their progress', async () => {
  const { add, executor } = open({ look: echo })
  add('p', [{ id: 'a', tool: 'look' }])
  const report = vi.fn()
  await executor.execute('p', {}, { report })
  expect(report.mock.calls).toEqual([
    [{ step: 'a', tool: 'look', status: 'running', progress: 0.5, total: 1, message: "Step 'a': running" }],
    [{ step: 'a', tool: 'look', status: 'done', progress: 1, total: 1, message: "Step 'a': done" }],
  ])
})

test('results of one caller are not shared with another', async () => {
  const { add, executor } = open({ look: echo })
  add('p', [{ id: 'a', tool: 'look' }], { cache: { ttl_ms: 60_000 } })
  expect((await executor.execute('p', {}, { caller: 'alice', tools: ['*'] })).success).toBe(true)
  expect(await executor.execute('p', {}, { caller: 'bob', tools: ['p'] })).toMatchObject({
    error_code: 'PERMISSION_DENIED',
    error: expect.stringContaining("Step 'a' failed"),
  })
})

test('a step named __proto__ pollutes nothing', async () => {
  const { add, executor } = open({ look: echo })
  add('p', [{ id: '__proto__', tool: 'look', params: { x: 1 } }], { output: { got: { $: '$.steps.__proto__.x' } } })
  expect(await executor.execute('p', {})).toMatchObject({ result: { got: 1 } })
  expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
})

test('bounds the results of all steps together, and makes no more calls then', async () => {
  const big = vi.fn(() => 'x'.repeat(900_000))
  const { add, executor } = open({ big }, 1)
  add('p', [{ id: 'each', tool: 'big', for_each: { $: '$.params.names' } }], { output: 1 })
  expect(await executor.execute('p', { names: Array.from({ length: 30 }, () => 0) })).toMatchObject({
    error_code: 'RESULT_TOO_LARGE',
  })
  expect(big).toHaveBeenCalledTimes(19)
})

test('lets the process do other work between calls of tools that answer at once', async () => {
  let calls = 0
  let callsBefore: number | undefined
  const look: Handler = () => {
    const isFirst = ++calls === 1
    if (isFirst) {
      setImmediate(() => {
        callsBefore = calls
      })
    }
    const end = performance.now() + 20
    while (performance.now() < end);
    return calls
  }
  const { add, executor } = open({ look })
  add('inner', [{ id: 'each', tool: 'look', for_each: { $: '$.params.names' }, params: { n: { $: '$.item' } } }])
  add('outer', [
    { id: 'each', tool: 'inner', for_each: { $: '$.params.names' }, params: { names: [{ $: '$.item' }, 9] } },
  ])
  expect(await executor.execute('outer', { names: [1, 2, 3] })).toMatchObject({ success: true })
  expect(calls).toBe(6)
  expect(callsBefore).toBeLessThan(6)
})

test('remembers the last run of each tenant, redacted', async () => {
  const { add, executor, pipeline } = open({ look: echo })
  const params = { password: { $: '$.params.name' }, name: 'Ann' }
  const tool = add('p', [{ id: 'a', tool: 'look', params }], { parameters: NAMES })
  await executor.execute('p', { name: 'hunter2' }, { tenant: 'acme' })
  expect(pipeline.graph(tool, 'acme').last_run).toMatchObject({
    success: true,
    steps: [{ id: 'a', status: 'done', value: '{"password":"[redacted]","name":"Ann"}' }],
  })
  expect(pipeline.graph(tool, 'globex').last_run).toBeUndefined()
})
