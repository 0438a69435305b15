import { describe, expect, test, vi } from 'vitest'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import type { CallContext } from '../call-context.ts'
import { later, toolyard } from '../fixtures/code-yard.ts'
import type { Handler, IsolatedTask } from '../handler.ts'
import { silentLog } from '../log.ts'
import { type ExactQuestion, exactCheck } from '../schema/exact-check.ts'
import { ToolExecutionError } from '../tool-result.ts'
import { ToolRegistry } from './tool-registry.ts'

const revoked = (target: object = {}): object => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

const trap = (name: string): object =>
  Object.defineProperty({}, name, {
    enumerable: true,
    get: () => {
      throw new Error('trap')
    },
  })

describe('returns an envelope for every thrown value', () => {
  const changed = (change: object) => Object.assign(new ToolExecutionError('EXECUTION_ERROR', 'hm'), change)
  test.each<[string, unknown, string]>([
    ['a revoked proxy', revoked(), 'The tool failed without an error message'],
    ['an error whose parts are a revoked proxy', Object.assign(new Error('m'), { errors: revoked([]) }), 'The tool'],
    ['what only looks like our error', Object.create(ToolExecutionError.prototype), 'The tool failed without'],
    ['our error with a code of its own', changed({ code: 'NOPE' }), 'hm'],
    ['our error without extras', changed({ extras: null }), 'hm'],
    ['our error with a message that is no text', changed({ message: { big: 1n } }), 'The tool failed without'],
  ])('%s', async (_, thrown, error) => {
    const { executor, add } = toolyard()
    add('sync', () => {
      throw thrown
    })
    add('async', async () => {
      throw thrown
    })
    for (const name of ['sync', 'async']) {
      const result = await executor.execute(name, {})
      expect(result).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
      expect(result).toHaveProperty('error', expect.stringContaining(error))
    }
  })
})

describe('returns an envelope for every returned value and frees the slot', () => {
  const ownThen = () =>
    Object.assign(Promise.resolve(1), {
      // biome-ignore lint/suspicious/noThenProperty: a hostile promise is what is tested
      then: () => {
        throw new Error('own then')
      },
    })
  test.each<[string, Handler]>([
    ['a promise whose then throws', ownThen],
    ['an object whose then is a trap', () => trap('then')],
    ['a revoked proxy', () => revoked()],
  ])('%s', async (_, run) => {
    const { executor, add } = toolyard()
    add('tool', run, { max_concurrency: 1 })
    for (let again = 0; again < 2; again++) {
      expect(await executor.execute('tool', {})).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
    }
  })
})

describe('returns an envelope for every context', () => {
  const refuse = () => {
    throw new Error('no')
  }
  const signals = {
    none: {},
    'no listener': { aborted: false, addEventListener: refuse, removeEventListener: () => {} },
    'no way back': { aborted: false, addEventListener: () => {}, removeEventListener: refuse },
  }

  const unreadable = [revoked(), ...['tenant', 'flags', 'signal', 'timeoutMs'].map(trap), { visible: 'all' }]
  test.each(unreadable.map((context) => () => context))("that can't be read (%#)", async (make) => {
    const context = make()
    const { executor, add } = toolyard()
    const run = vi.fn(async () => 1)
    add('tool', run)
    expect(await executor.execute('tool', {}, context as CallContext)).toMatchObject({ success: false })
    expect(run).not.toHaveBeenCalled()
  })

  const FLAGS = 'must be an object whose values are true or false'
  const rate = { key: 'k', calls: 1, perMs: 60_000, description: 'One call' }
  test.each([
    [{ tenent: 'acme' }, ': unknown key "tenent". Did you mean "tenant"?'],
    [{ flags: 'admin' }, ': flags must be an object, not "admin"'],
    [{ tenant: null }, ': tenant must be a string, not null'],
    [{ tools: 'look_*' }, ': tools must be an object, not "look_*"'],
    [{ tools: [1] }, ': tools must be a list of patterns, not an array'],
    [{ stores: 'no' }, ': stores must be a boolean, not "no"'],
    [{ rates: [{ ...rate, calls: Number.NaN }] }, ': rates[0].calls must be an integer of 1 or more, not NaN'],
    [{ rates: [rate, { ...rate, perMs: '60' }] }, ': rates[1].perMs must be a number above 0, not "60"'],
    [{ rates: [{ ...rate, description: undefined }] }, ': rates[0].description must be a string, not undefined'],
    [{ flags: new Map([['tool', false]]) }, `: flags ${FLAGS}, not an object that inherits`],
    [{ flags: Object.create({ tool: false }) }, `: flags ${FLAGS}, not an object that inherits`],
    [{ flags: ['tool'] }, `: flags ${FLAGS}, not an array`],
    [{ visible: ['tool'] }, ': visible must be a Set of names, not an array'],
    [{ versions: {} }, ': versions must be a Map, not an object'],
    [{ once: {} }, ': once must be a store of idempotency keys, not an object'],
    [{ client: {} }, ': client must be a client with ask(), not an object'],
    [{ allowance: {} }, ': allowance must be an object with left(), hold() and charge(), not an object'],
    [{ parent: {} }, ': parent must be a call with id, deadline and path, not an object'],
    [
      { parent: { id: '', path: [], deadline: Number.NaN } },
      ': parent must be a call with id, deadline and path, not an object',
    ],
    ['ada', ' must be an object, not "ada"'],
    [new Map([['tenant', 'acme']]), ' must be an object, not an object that inherits'],
    [new Date(0), ' must be an object, not an object that inherits'],
    [[], ' must be an object, not an array'],
  ])('refuses %j before the tool runs, whatever it is called for', async (given, problem) => {
    const { executor, add } = toolyard()
    const run = vi.fn(async () => 1)
    add('tool', run)
    const context = given as never as CallContext
    const error = `The context of the call${problem}`
    const refused = { success: false, error_code: 'INVALID_PARAMETERS', error }
    expect(await executor.execute('tool', {}, context)).toMatchObject(refused)
    expect(await executor.admit('tool', {}, context)).toMatchObject({ refused })
    await expect(executor.access('list', {}, context, async () => 1)).rejects.toThrow(error)
    await expect(executor.count(context)).rejects.toThrow(error)
    expect(run).not.toHaveBeenCalled()
  })

  test.each([
    [{ tool: 'false' }, 'flags.tool must be true or false, not "false"'],
    [{ tool: 0 }, 'flags.tool must be true or false, not 0'],
    [{ tool: null }, 'flags.tool must be true or false, not null'],
    [{ admin: 'true' }, 'flags.admin must be true or false, not "true"'],
  ])('refuses a call that %j decides', async (flags, problem) => {
    const { executor, add } = toolyard()
    const run = vi.fn(async () => 1)
    add('tool', run, { permissions: 'admin' in flags ? ['admin'] : [] })
    const error = `The context of the call: ${problem}`
    const refused = { error_code: 'INVALID_PARAMETERS', error }
    expect(await executor.execute('tool', {}, { flags } as never)).toMatchObject(refused)
    expect(run).not.toHaveBeenCalled()
  })

  test('takes flags without a prototype, and instances of classes as contexts', async () => {
    const { executor, add } = toolyard()
    add('tool', async () => 1)
    class Context {
      get flags() {
        return Object.assign(Object.create(null), { tool: false, other: undefined })
      }
    }
    expect(await executor.execute('tool', {}, new Context())).toMatchObject({ error_code: 'PERMISSION_DENIED' })
  })

  test('treats null as no context', async () => {
    const { executor, add } = toolyard()
    add('tool', async () => 1)
    const context = { signal: null, timeoutMs: undefined } as unknown as CallContext
    expect(await executor.execute('tool', {}, context)).toMatchObject({ success: true })
    expect(await executor.execute('tool', {}, null as unknown as CallContext)).toMatchObject({ success: true })
  })

  test('refuses an invalid signal before the tool runs, and ignores a signal that throws', async () => {
    const { executor, add } = toolyard()
    const run = vi.fn(async () => 1)
    add('tool', run)
    const call = (signal: object) => executor.execute('tool', {}, { signal: signal as AbortSignal })
    expect(await call(signals.none)).toMatchObject({ error: expect.stringContaining('must be an AbortSignal') })
    expect(run).not.toHaveBeenCalled()
    expect(await call(signals['no listener'])).toMatchObject({ success: true })
    expect(await call(signals['no way back'])).toMatchObject({ success: true })
  })

  test.each(['abc', {}, Number.NaN, null, 5n])('refuses a timeout that is not a number (%s)', async (ms) => {
    const { executor, add } = toolyard()
    const run = vi.fn(() => 1)
    add('tool', run)
    for (const source of ['code', 'job'] as const) {
      const error = expect.stringMatching(/^timeoutMs must be a finite number, not /)
      const refused = { error_code: 'INVALID_PARAMETERS', error }
      expect(await executor.execute('tool', {}, { source, timeoutMs: ms as number })).toMatchObject(refused)
    }
    expect(run).not.toHaveBeenCalled()
  })
})

test('a definition with invalid limits fails when called', async () => {
  const { executor, add } = toolyard()
  const run = vi.fn(() => 1)
  const wrong: Record<string, object> = {
    timeout_ms: { timeout_ms: 0 },
    max_concurrency: { max_concurrency: 1.5 },
    max_result_bytes: { max_result_bytes: Number.NaN },
    'cache.ttl_ms': { effect: 'read', cache: { ttl_ms: 0 } },
    'rate_limit.calls': { rate_limit: { calls: 0, per_ms: 100 } },
    'rate_limit.per_ms': { rate_limit: { calls: 1 } },
    'retry.max_attempts': { retry: { max_attempts: Number.POSITIVE_INFINITY } },
    'retry.backoff_ms': { retry: { max_attempts: 2, backoff_ms: -1 } },
    retry: { retry: [] },
    rate_limit: { rate_limit: [] },
    effect: { effect: 'Read' },
  }
  for (const [field, rest] of Object.entries(wrong)) {
    add('tool', run, rest)
    expect(await executor.execute('tool', {})).toMatchObject({
      error_code: 'EXECUTION_ERROR',
      error: expect.stringContaining(`Tool 'tool' has an invalid ${field}: it must be `),
    })
  }
  expect(run).not.toHaveBeenCalled()
})

test('an executor and a registry are not made with unknown options', () => {
  const slip = () => toolyard({ default_timeout_ms: 5 } as object)
  expect(slip).toThrow(
    new TypeError('ToolExecutor: unknown option "default_timeout_ms". Did you mean "defaultTimeoutMs"?'),
  )
  expect(() => new ToolRegistry({ logs: silentLog } as object)).toThrow('ToolRegistry: unknown option "logs"')
})

test.each([
  [{ durable: 5 }, 'durable must be true or false, not 5'],
  [{ sinks: [{}] }, 'sinks must be an array of objects with write(batch), not an array'],
  [{ clock: () => 0 }, 'clock must be an object with now(), wall() and after(), not a function'],
  [{ payload: true }, 'payload must be a function, not true'],
  [{ kinds: new Map() }, 'kinds must be an object, not an object that inherits'],
  [{ once: {} }, 'once must be an object with claim(), look(), settle() and release(), not an object'],
  [{ approvals: {} }, 'approvals must be an object with pauses, not an object'],
  [{ tracer: 'otel' }, 'tracer must be an object with start(), not "otel"'],
])('an executor is not made with %j', (options, problem) => {
  expect(() => toolyard(options as object)).toThrow(new TypeError(`ToolExecutor: ${problem}`))
})

test.each([Number.NaN, 0, -1, Number.POSITIVE_INFINITY, '5000'])(
  'refuses a default timeout of %s',
  (defaultTimeoutMs) => {
    expect(() => toolyard({ defaultTimeoutMs: defaultTimeoutMs as number })).toThrow(
      'ToolExecutor: defaultTimeoutMs must be a number above 0, not ',
    )
  },
)

test('permissions that are not a list close the tool', async () => {
  const { executor, add } = toolyard()
  add('tool', () => 1, { permissions: null as never })
  add('other', () => 1)
  expect(await executor.execute('tool', {})).toMatchObject({ error_code: 'PERMISSION_DENIED' })
  expect(await executor.execute('nobody', {})).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
})

test("validating an invalid schema doesn't break a tool of the same name", async () => {
  const { executor, registry, add } = toolyard()
  add('tool', () => 1)
  const stranger = { ...registry.get('tool'), parameters: { type: 'object', properties: { a: { type: 'nothing' } } } }
  expect(await executor.validate(stranger as never, {})).toMatchObject({ valid: false })
  expect(registry.brokenReason('tool')).toBeUndefined()
  expect(await executor.validate(null as never, {})).toMatchObject({ valid: false })
})

test('a schema that only the exact validator rejects breaks the tool', async () => {
  const run = (task: IsolatedTask) => exactCheck(task.params as ExactQuestion)
  const { executor, registry, add } = toolyard({ isolate: { run, close: async () => {} } })
  add('tool', () => 1, { parameters: { type: 'object', unevaluatedItems: false, const: { $id: '::' } } })
  expect(await executor.execute('tool', {})).toMatchObject({
    error_code: 'EXECUTION_ERROR',
    error: expect.stringMatching(/^Tool 'tool' has an invalid schema: cannot be validated: /),
  })
  expect(registry.brokenReason('tool')).toMatch(/^cannot be validated: /)
})

describe('logs and sinks that fail', () => {
  const broken = () => {
    throw new Error('full')
  }

  test("don't fail the call", async () => {
    const log = { debug: broken, info: broken, warn: broken, error: broken, isLevelEnabled: broken }
    const late = vi.fn(async () => broken())
    const { executor, add } = toolyard({ log, sinks: [{ write: broken }, { write: late }] })
    add('tool', async (_, { report }) => report(1))
    for (let call = 0; call < 300; call++) {
      expect(await executor.execute('tool', {}, { report: broken })).toMatchObject({ success: true })
    }
    executor.flush()
    await later(0)
    expect(late).toHaveBeenCalled()
  })

  test('reports a sink that rejects like one that throws', async () => {
    const log = captureLog()
    const { executor, add } = toolyard({ log, sinks: [{ write: async () => broken() }] })
    add('tool', () => 1)
    await executor.execute('tool', {})
    executor.flush()
    await later(0)
    expect(log.at('error')).toMatchObject([{ lost: 1 }])
  })
})

describe('progress', () => {
  test('is not delivered after the end, nor to a caller that has left', async () => {
    const { executor, add } = toolyard()
    let report: (progress: unknown) => void = () => {}
    let finish: (value: string) => void = () => {}
    add(
      'tool',
      (_, context) => {
        report = context.report
        return new Promise((resolve) => {
          finish = resolve
        })
      },
      { effect: 'read' },
    )
    const [first, second] = [vi.fn(), vi.fn()]
    const controller = new AbortController()
    const calls = [
      executor.execute('tool', {}, { report: first, signal: controller.signal }),
      executor.execute('tool', {}, { report: second }),
    ]
    controller.abort()
    report('half')
    finish('done')
    await Promise.all(calls)
    report('too late')
    expect(first).not.toHaveBeenCalled()
    expect(second.mock.calls).toEqual([['half']])
  })
})

test('a retry delay ends with the call and leaves no timer', async () => {
  const clock = new ManualClock()
  const pauses: ReturnType<typeof vi.fn>[] = []
  const after = (ms: number, callback: () => void) => {
    const stop = vi.fn(clock.after(ms, callback))
    if (ms === 20_000) pauses.push(stop)
    return stop
  }
  const { executor, add } = toolyard({ clock: { now: () => clock.now(), wall: () => clock.wall(), after } })
  const refused = async () => {
    throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' })
  }
  add('tool', refused, { effect: 'read', retry: { max_attempts: 2, backoff_ms: 20_000 } })
  const controller = new AbortController()
  const call = executor.execute('tool', {}, { signal: controller.signal })
  await later(5)
  controller.abort()
  expect(await call).toMatchObject({ error_code: 'CANCELLED' })
  expect(pauses).toHaveLength(1)
  expect(pauses[0]).toHaveBeenCalledOnce()
})
