import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { z as zod3 } from 'zod/v3'
import { ToolManager } from '../app/tools/tool-manager.ts'
import { ToolExecutor } from '../core/execution/tool-executor.ts'
import { ToolRegistry } from '../core/execution/tool-registry.ts'
import { never } from '../core/fixtures/code-yard.ts'
import type { Kind } from '../core/handler.ts'
import { silentLog } from '../core/log.ts'
import type { CallRecord } from '../core/records/recorder.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { type AnyTool, tool } from './tool.ts'
import { createToolyard } from './toolyard.ts'

/** An executor with these tools, and the records of its calls. */
function executorOf(...tools: AnyTool[]) {
  const registry = new ToolRegistry()
  for (const one of tools) registry.register(one)
  const records: CallRecord[] = []
  const executor = new ToolExecutor(registry, { sinks: [{ write: (batch) => void records.push(...batch.records) }] })
  return { executor, registry, records }
}

const description = 'A tool.'
const none = { type: 'object' } as const
const failure = (error: string) => ({ success: false, error, error_code: 'INVALID_PARAMETERS' })

describe('tool', () => {
  test('is a definition with the fields in the names of a file', () => {
    const made = tool({
      name: 'all',
      description,
      input: { type: 'object' },
      effect: 'read',
      timeoutMs: 5_000,
      permissions: ['p'],
      retry: { maxAttempts: 2, backoffMs: 1 },
      cache: { ttlMs: 1_000 },
      maxConcurrency: 3,
      maxResultBytes: 100,
      rateLimit: { calls: 1, perMs: 1_000 },
      execute: () => 1,
    })
    expect(made).toMatchObject({
      name: 'all',
      description,
      parameters: { type: 'object' },
      implementation: { type: 'code' },
      effect: 'read',
      timeout_ms: 5_000,
      permissions: ['p'],
      retry: { max_attempts: 2, backoff_ms: 1 },
      cache: { ttl_ms: 1_000 },
      max_concurrency: 3,
      max_result_bytes: 100,
      rate_limit: { calls: 1, per_ms: 1_000 },
    })
  })

  test('takes the fields that an instance of a class inherits', () => {
    class Guarded {
      name = 'guarded' as const
      description = description
      input = { type: 'object' } as const
      execute = () => 1
      get permissions() {
        return ['admin']
      }
    }
    expect(tool(new Guarded())).toMatchObject({ name: 'guarded', permissions: ['admin'] })
  })

  test.each([
    [{ permission: ['admin'] }, `Tool 'one': unknown field "permission"`],
    [{ timeout_ms: 5 }, `Tool 'one': unknown field "timeout_ms". Did you mean "timeoutMs"?`],
    [{ inputSchema: {}, input: undefined }, `Tool 'one': unknown field "inputSchema". Did you mean "input"?`],
    [{ colour: 'red' }, `Tool 'one': unknown field "colour". Known fields are name, description, input`],
    [{ name: 'not a name' }, "Tool 'not a name': a name has 1 to 64 letters"],
    [{ execute: undefined }, "Tool 'one' needs execute"],
    [{ json: { type: 'object' } }, "Tool 'one': json is only allowed with a schema of a validation library"],
    [{ output: zod3.string() }, "Tool 'one': output must be a JSON Schema"],
    [{ input: z.object({ at: z.date() }) }, 'Date cannot be represented in JSON Schema. Pass the JSON Schema as json'],
    [{ input: z.string() }, "Tool 'one': input must be an object schema"],
    [{ name: 5 }, "Tool '5': a name has 1 to 64 letters"],
    [{ description: undefined }, "Tool 'one' needs a description"],
    [{ effect: 'reads' }, "Tool 'one': invalid effect: it must be read, idempotent, write, not reads"],
    [{ timeoutMs: '5s' }, `Tool 'one': invalid timeoutMs: it must be a number above 0, not "5s"`],
    [{ retry: 3 }, "Tool 'one': invalid retry: it must be an object with maxAttempts and backoffMs, not 3"],
    [{ cache: { ttl: 5 } }, `Tool 'one': invalid cache: unknown key 'ttl'. Did you mean "ttlMs"?`],
    [{ cache: {} }, "Tool 'one': invalid cache.ttlMs"],
    [{ retry: { attempts: 3 } }, `Tool 'one': invalid retry: unknown key 'attempts'. Did you mean "maxAttempts"?`],
    [
      { retry: { backoffMs: 5 } },
      "Tool 'one': invalid retry.maxAttempts: it must be an integer of 1 or more, not undefined",
    ],
    [
      { retry: { maxAttempts: 2.5 } },
      "Tool 'one': invalid retry.maxAttempts: it must be an integer of 1 or more, not 2.5",
    ],
    [{ maxConcurrency: 0.5 }, "Tool 'one': invalid maxConcurrency: it must be an integer of 1 or more, not 0.5"],
    [
      { rateLimit: { calls: Number.NaN, perMs: 1 } },
      'invalid rateLimit.calls: it must be an integer from 1 to 100000, not NaN',
    ],
    [{ cost: { perCal: 1 } }, `Tool 'one': invalid cost: unknown key 'per_cal'. Did you mean "per_call"?`],
    [
      { cost: { perCall: Number.NaN } },
      "Tool 'one': invalid cost: per_call must be a number from 0 to 1000000, not NaN",
    ],
    [{ approval: { expireMs: 1 } }, `Tool 'one': invalid approval: unknown key 'expireMs'. Did you mean "expiresMs"?`],
    [{ rateLimit: { calls: 1 } }, "Tool 'one': invalid rateLimit.perMs"],
    [{ approval: { expiresMs: 1 } }, "Tool 'one': invalid approval: expiresMs must be an integer from 1000"],
    [{ input: v.object({ a: v.string() }) }, 'toStandardJsonSchema of @valibot/to-json-schema'],
  ])('rejects %j', (wrong, message) => {
    const options = { name: 'one', description, input: { type: 'object' }, execute: () => 1, ...wrong }
    expect(() => tool(options as never)).toThrow(message)
  })

  test.each([
    ['zod', z.object({ city: z.string(), days: z.number().default(3) })],
    ['valibot', toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) }))],
    ['arktype', type({ city: 'string', days: 'number = 3' })],
    [
      'JSON Schema',
      {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'number', default: 3 } },
        required: ['city'],
      } as const,
    ],
  ])(
    'takes an input of %s, fills in its defaults and refuses what does not match in the same words',
    async (_, input) => {
      const { executor } = executorOf(tool({ name: 'forecast', description, input, execute: (given) => given }))
      expect(await executor.execute('forecast', { city: 'Oslo' })).toMatchObject({ result: { city: 'Oslo', days: 3 } })
      expect(await executor.execute('forecast', { city: 7 })).toMatchObject(
        failure('Invalid parameters: city must be a string'),
      )
      expect(await executor.execute('forecast', {})).toMatchObject(failure("Invalid parameters: missing 'city'"))
    },
  )

  test('takes the JSON Schema beside a schema that has none', async () => {
    const input = v.pipe(
      v.object({ from: v.number(), to: v.number() }),
      v.check(({ from, to }) => from < to, 'from must be less than to'),
    )
    const number = { type: 'number' }
    const json = { type: 'object', properties: { from: number, to: { ...number, default: 9 } } } as const
    const { executor } = executorOf(tool({ name: 'range', description, input, json, execute: ({ to }) => to }))
    expect(await executor.execute('range', { from: 1 })).toMatchObject({ result: 9 })
    expect(await executor.execute('range', { from: 10 })).toMatchObject(
      failure('Invalid parameters: from must be less than to'),
    )
  })

  test('applies refinements after the JSON Schema, with the path', async () => {
    const even = vi.fn((number: number) => number % 2 === 0)
    const input = z.object({ list: z.array(z.object({ size: z.number().refine(even, 'must be even') })) })
    const { executor } = executorOf(tool({ name: 'even', description, input, execute: () => 'done' }))
    expect(await executor.execute('even', { list: [{ size: 'big' }] })).toMatchObject(
      failure('Invalid parameters: list[0].size must be a number'),
    )
    expect(even).not.toHaveBeenCalled()
    expect(await executor.execute('even', { list: [{ size: 2 }, { size: 3 }] })).toMatchObject({
      ...failure('Invalid parameters: list[1].size: must be even'),
      details: { problems: [{ path: 'list[1].size', rule: 'refine', expected: 'must be even' }] },
    })
    expect(await executor.validate('even', { list: [{ size: 3 }] })).toEqual({
      valid: false,
      errors: ['list[0].size: must be even'],
    })
  })

  test('applies a transform once. The record and the cache see what the caller sent', async () => {
    const read = vi.fn((text: string) => new Date(text))
    const seen: unknown[] = []
    const run = vi.fn(({ at }: { at: Date }) => {
      seen.push(at)
      return at.getUTCFullYear()
    })
    const made = tool({
      name: 'year',
      description,
      input: z.object({ at: z.string().transform(read) }),
      effect: 'read',
      cache: { ttlMs: 60_000 },
      execute: run,
    })
    const { executor, records } = executorOf(made)
    const params = { at: '2026-05-01' }
    const caller = { caller: 'ann' }
    expect(await executor.execute('year', params, caller)).toMatchObject({ result: 2026 })
    expect(read).toHaveBeenCalledTimes(1)
    expect(await executor.execute('year', params, caller)).toMatchObject({ result: 2026 })
    expect(run).toHaveBeenCalledTimes(1)
    expect(seen).toEqual([new Date('2026-05-01')])
    executor.flush()
    expect(records.map((record) => record.params)).toEqual([params, params])
    expect(params).toEqual({ at: '2026-05-01' })
  })

  test('computes a default that is a function for each call', async () => {
    let next = 0
    const input = z.object({ id: z.number().default(() => ++next) })
    const { executor } = executorOf(tool({ name: 'id', description, input, execute: ({ id }) => id }))
    const [first, second] = [await executor.execute('id', {}), await executor.execute('id', {})]
    expect(first).not.toEqual(second)
    expect(first.success && second.success && Number(second.result) - Number(first.result)).toBe(1)
  })

  test('ends an asynchronous refinement at the deadline', async () => {
    const execute = vi.fn()
    const input = z.object({}).refine(() => never() as Promise<boolean>)
    const made = tool({ name: 'slow', description, input, timeoutMs: 20, execute })
    const { executor } = executorOf(made)
    expect(await executor.execute('slow', {})).toMatchObject({ success: false, error_code: 'TIMEOUT' })
    expect(execute).not.toHaveBeenCalled()
  })

  test('waits for an asynchronous refinement', async () => {
    const input = z.object({ name: z.string().refine(async (name) => name !== 'taken', 'is taken') })
    const { executor } = executorOf(tool({ name: 'add', description, input, execute: ({ name }) => name }))
    expect(await executor.execute('add', { name: 'free' })).toMatchObject({ result: 'free' })
    expect(await executor.execute('add', { name: 'taken' })).toMatchObject(
      failure('Invalid parameters: name: is taken'),
    )
  })

  test('checks patterns that need backtracking in the library, without a child process', async () => {
    const input = z.object({ email: z.email() })
    const { executor } = executorOf(tool({ name: 'mail', description, input, execute: ({ email }) => email }))
    expect(await executor.execute('mail', { email: 'a@b.de' })).toMatchObject({ result: 'a@b.de' })
    expect(await executor.execute('mail', { email: 'a..b@c.de' })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  })

  test('refuses a result that does not match the output', async () => {
    const results: unknown[] = [{ degrees: 20 }, { degrees: 'hot' }, { degrees: 99 }]
    const output = z.object({ degrees: z.number().refine((number) => number < 50, 'is too hot') })
    const input = { type: 'object' } as const
    const made = tool({ name: 'degrees', description, input, output, execute: () => results.shift() as never })
    const { executor } = executorOf(made)
    expect(await executor.execute('degrees', {})).toMatchObject({ success: true, result: { degrees: 20 } })
    expect(await executor.execute('degrees', {})).toMatchObject({
      error: "Tool 'degrees' returned an invalid result: degrees must be a number",
      error_code: 'EXECUTION_ERROR',
      outcome: 'unknown',
    })
    expect(await executor.execute('degrees', {})).toMatchObject({
      error: "Tool 'degrees' returned an invalid result: degrees: is too hot",
    })
  })

  test('checks a result by an exact schema in a child process', async () => {
    const output = { type: 'object', properties: { code: { type: 'string', pattern: '^(?=a)ab$' } } } as const
    const results = ['ab', 'cd']
    const made = tool({
      name: 'code',
      description,
      input: none,
      output,
      execute: () => ({ code: results.shift() ?? '' }),
    })
    await using yard = await createToolyard({ tools: [made] })
    expect(await yard.call('code', {})).toMatchObject({ result: { code: 'ab' } })
    expect(await yard.call('code', {})).toMatchObject({
      error: `Tool 'code' returned an invalid result: code must match pattern "^(?=a)ab$"`,
    })
  })

  test.each([
    ['no issue at all', { issues: [] }, 'Invalid parameters: the value does not match its schema'],
    ['neither issues nor a value', {}, "The schema of tool 'odd' did not say whether the value matches"],
    ['nothing', undefined, "The schema of tool 'odd' did not say whether the value matches"],
    [
      'a thenable',
      // biome-ignore lint/suspicious/noThenProperty: a promise of another library.
      { then: (resolve: (value: object) => void) => resolve({ issues: [{ message: 'no' }] }) },
      'Invalid parameters: no',
    ],
  ])('does not run a tool whose schema answers with %s', async (_, answer, error) => {
    const input = {
      '~standard': { version: 1, vendor: 'odd', validate: () => answer, jsonSchema: { input: () => none } },
    }
    const execute = vi.fn()
    const { executor } = executorOf(tool({ name: 'odd', description, input: input as never, execute }))
    expect(await executor.execute('odd', {})).toMatchObject({ success: false, error })
    expect(execute).not.toHaveBeenCalled()
  })

  test('does not share results between users, or between values of app', async () => {
    const execute = vi.fn((_: unknown, { user }: { user: string | undefined }) => user ?? 'nobody')
    const cache = { ttlMs: 60_000 }
    const made = tool({ name: 'who', description, input: { type: 'object' }, effect: 'read', cache, execute })
    const { executor } = executorOf(made)
    const [app, other] = [{}, {}]
    const caller = 'cleo'
    const apps = [{ caller, app }, { caller, app: other }, { caller, app }, { caller }]
    const contexts = [{ caller: 'ann' }, { caller: 'bob' }, { caller: 'ann' }, ...apps]
    const results = []
    for (const context of contexts) results.push(await executor.execute('who', {}, context))
    expect(results.map((envelope) => envelope.success && envelope.result)).toEqual([
      'ann',
      'bob',
      'ann',
      caller,
      caller,
      caller,
      caller,
    ])
    expect(execute).toHaveBeenCalledTimes(5)
  })
})

class Shape {
  type = 'object'
  properties = { city: { type: 'string' } }
}

const plain = { type: 'object', properties: { city: { type: 'string' } } }
const throwing = Object.defineProperty({ ...plain }, 'properties', {
  enumerable: true,
  get() {
    throw new Error('No.')
  },
})

/** Everything that somebody might pass as parameters. */
const SHAPES: readonly (readonly [name: string, parameters: unknown])[] = [
  ['zod 4', z.object({ city: z.string() })],
  ['zod 4, JSON Schema', z.toJSONSchema(z.object({ city: z.string() }))],
  ['a zod 4 shape', { city: z.string() }],
  ['zod 4 in properties', { type: 'object', properties: { city: z.string() } }],
  ['a zod 4 string', z.string()],
  ['zod 4 with a date', z.object({ city: z.date() })],
  ['zod 3', zod3.object({ city: zod3.string() })],
  ['a zod 3 shape', { city: zod3.string() }],
  ['a zod 3 shape with a type', { type: 'object', city: zod3.string() }],
  ['zod 3 in properties', { type: 'object', properties: { city: zod3.string() } }],
  ['valibot', v.object({ city: v.string() })],
  ['valibot with JSON Schema', toStandardJsonSchema(v.object({ city: v.string() }))],
  ['valibot in properties', { type: 'object', properties: { city: v.string() } }],
  ['arktype', type({ city: 'string' })],
  ['arktype in properties', { type: 'object', properties: { city: type('string') } }],
  ['a class', Shape],
  ['an instance', new Shape()],
  ['a function', () => plain],
  ['null', null],
  ['undefined', undefined],
  ['a string', JSON.stringify(plain)],
  ['a number', 7],
  ['a symbol', Symbol('schema')],
  ['a bigint', 7n],
  ['true', true],
  ['an array', [plain]],
  ['a Promise', Promise.resolve(plain)],
  ['a Promise that says it is an object', Object.assign(Promise.resolve(plain), { type: 'object' })],
  ['a Map', new Map(Object.entries(plain))],
  ['a Map in properties', { type: 'object', properties: new Map([['city', { type: 'string' }]]) }],
  ['a constructor in properties', { type: 'object', properties: { city: String } }],
  ['a symbol in properties', { type: 'object', properties: { city: Symbol('string') } }],
  ['a getter that throws', throwing],
  [
    'a Standard Schema that throws',
    {
      '~standard': {
        get jsonSchema() {
          throw new Error('No.')
        },
      },
    },
  ],
  ['a Standard Schema that describes nothing', { '~standard': { jsonSchema: { input: () => undefined } } }],
  ['a Standard Schema that describes a shape', { '~standard': { jsonSchema: { input: () => ({ city: {} }) } } }],
  ['a Standard Schema without anything', { '~standard': {} }],
  ['a proxy of a schema', new Proxy(plain, {})],
  ['a proxy that hides its keys', new Proxy({}, { get: (_, key) => (key === 'type' ? 'object' : undefined) })],
  [
    'a proxy that throws',
    new Proxy(
      {},
      {
        get() {
          throw new Error('No.')
        },
      },
    ),
  ],
  ['a hidden toJSON', Object.defineProperty({ ...plain }, 'toJSON', { value: () => ({}) })],
  ['a toJSON', { ...plain, toJSON: () => ({}) }],
]

describe('fields', () => {
  const made = (fields: object) => () => tool({ name: 'one', description, input: none, execute: () => 1, ...fields })

  test.each(['timeoutMs', 'maxConcurrency', 'maxResultBytes', 'retry', 'cache', 'rateLimit', 'cost', 'effect'])(
    'refuses a %s of null, which would not limit',
    (field) => {
      expect(made({ [field]: null })).toThrow(TypeError)
      expect(made({ [field]: null })).toThrow(`Tool 'one': invalid ${field}: it must be `)
    },
  )

  test.each<[fields: object, message: string]>([
    [{ migrate: 5 }, 'migrate must be a list of objects'],
    [{ migrate: null }, 'migrate must be a list of objects'],
    [{ migrate: [5] }, 'migrate must be a list of objects'],
    [{ migrate: [{ from: 5 }] }, `migrate: version 5 isn't a semantic version`],
    [{ migrate: [{ from: '1.0.0', rename: 5 }] }, 'migrate from 1.0.0 must have rename and defaults as objects'],
    [{ deprecated: null }, 'deprecated must be an object of texts'],
    [{ deprecated: 5 }, 'deprecated must be an object of texts'],
    [{ deprecated: { since: 5 } }, 'deprecated must be an object of texts'],
    [{ deprecated: { sinse: '1' } }, 'deprecated has an unknown key "sinse". Did you mean "since"?'],
    [{ version: 5n }, `version 5 isn't a semantic version`],
    [{ version: null }, `version null isn't a semantic version`],
  ])('refuses %o, and names the field', (fields, message) => {
    expect(made(fields)).toThrow(`Tool 'one': ${message}`)
    expect(made(fields)).toThrow(TypeError)
  })
})

describe('parameters of any shape', () => {
  let runs = 0
  const handler = () => ++runs

  test.each(SHAPES)('validates or refuses %s in tool()', async (_name, input) => {
    let made: AnyTool
    try {
      made = tool({ name: 'forecast', description, input: input as never, execute: handler })
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toContain("Tool 'forecast'")
      return
    }
    expect(await executorOf(made).executor.execute('forecast', { city: 7 })).toMatchObject({ success: false })
  })

  test.each(SHAPES)('validates or refuses %s in a registry', async (_name, parameters) => {
    const registry = new ToolRegistry()
    const run: Kind = { effect: () => 'read', bind: () => () => handler }
    const executor = new ToolExecutor(registry, { kinds: { run } })
    const definition = { name: 'forecast', description, parameters, implementation: { type: 'run' } }
    try {
      registry.register(definition as ToolDefinition)
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toContain("tool 'forecast'")
    }
    expect(await executor.execute('forecast', { city: 7 })).toMatchObject({ success: false })
  })

  test('runs none of them unvalidated', () => {
    expect(runs).toBe(0)
  })

  test('converts a Zod schema in tools.registry, with its refinements', async () => {
    const parameters = z.object({ city: z.string().refine((city) => city !== 'Atlantis', 'is a myth') })
    const registry = [
      { name: 'forecast', description, parameters, implementation: { type: 'mock', mock_response: 'sunny' } },
      { name: 'older', description, parameters: zod3.object({}), implementation: { type: 'mock' } },
    ]
    const manager = new ToolManager({ tools: { enabled: true, registry } }, { log: silentLog })
    onTestFinished(() => manager.close())
    expect(await manager.getExecutor().execute('forecast', { city: 'Oslo' })).toMatchObject({
      error: "Tool 'forecast' not found: tools are not loaded yet. Await loadTools() first",
    })
    expect(await manager.loadTools()).toMatchObject({
      loaded: ['forecast'],
      skipped: [{ name: 'older', problem: expect.stringContaining('not a schema of zod') }],
    })
    const execute = (params: unknown) => manager.getExecutor().execute('forecast', params)
    expect(await execute({ city: 'Oslo' })).toMatchObject({ result: 'sunny' })
    expect(await execute({ city: 7 })).toMatchObject(failure('Invalid parameters: city must be a string'))
    expect(await execute({ city: 'Atlantis' })).toMatchObject(failure('Invalid parameters: city: is a myth'))
    expect(await manager.getExecutor().execute('nothing', {})).toMatchObject({ error: "Tool 'nothing' not found" })
  })
})
