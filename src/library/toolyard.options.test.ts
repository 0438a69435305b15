import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SCHEMA_BOUNDS } from '../core/schema/guard-schema.ts'
import { scripted } from '../testing/stand-ins.ts'
import { toAiSdk } from './ai-sdk.ts'
import { createToolyard as createConfigured } from './configured.ts'
import { serveMcp } from './mcp.ts'
import { toOpenAiAgents } from './openai-agents.ts'
import { toLangChain } from './to-langchain.ts'
import { tool } from './tool.ts'
import { createToolyard } from './toolyard.ts'

/** An instance with a tool that a wrong call must not run, and a model that a wrong run must not ask. */
async function open() {
  const execute = vi.fn(() => 'ran')
  const look = tool({ name: 'look', description: 'Looks.', input: { type: 'object' }, effect: 'read', execute })
  const model = scripted({ calls: [{ name: 'look' }] }, 'Seen.')
  const yard = await createToolyard({ tools: [look], models: { m: model } })
  onTestFinished(() => yard.close())
  return { yard, model, execute }
}

type Wrong = [options: object | null, error: TypeError | RangeError]
const type = (options: object | null, message: string): Wrong => [options, new TypeError(message)]
const range = (options: object, message: string): Wrong => [options, new RangeError(message)]

/** Of all methods that take a caller. */
const CALLER: Wrong[] = [
  type({ tenent: 'acme' }, 'unknown option "tenent". Did you mean "tenant"?'),
  type({ tenant: 5 }, 'tenant must be a string that is not empty, not 5'),
  type({ tenant: '' }, 'tenant must be a string that is not empty, not ""'),
  type({ user: null }, 'user must be a string that is not empty, not null'),
  type({ user: { id: 'ann' } }, 'user must be a string that is not empty, not an object'),
  type({ flags: ['admin'] }, 'flags must be an object whose values are true or false, not an array'),
  type({ flags: { admin: 'true' } }, 'flags must be an object whose values are true or false, not an object'),
  type(
    { flags: new Map([['admin', true]]) },
    'flags must be an object whose values are true or false, not an object that inherits',
  ),
  type({ signal: { aborted: true } }, 'signal must be an AbortSignal, not an object'),
]

const CONTENT = 'must be a string or an array of parts with a type'
const ROLE = 'must be system, user, assistant or tool'
const CALLS = 'must be an array of calls with an id and a function'

const MESSAGES: readonly [messages: readonly unknown[], message: string][] = [
  [[{ content: 'Hi' }], `messages[0].role ${ROLE}, not undefined`],
  [[{ role: 'wizard', content: 'Hi' }], `messages[0].role ${ROLE}, not "wizard"`],
  [[{ role: 'constructor', content: 'Hi' }], `messages[0].role ${ROLE}, not "constructor"`],
  [new Array(1), "messages[0] must be an object such as {role: 'user', content: 'Hi'}, not undefined"],
  [
    [
      { role: 'user', content: 'Hi' },
      { role: 'user', content: 5 },
    ],
    `messages[1].content ${CONTENT}, not 5`,
  ],
  [[{ role: 'user', content: ['Hi'] }], `messages[0].content ${CONTENT}, not an array`],
  [[{ role: 'user', content: null }], `messages[0].content ${CONTENT}, not null`],
  [[{ role: 'system', content: [] }], 'messages[0].content must be a string, not an array'],
  [[{ role: 'assistant' }], 'messages[0].content must be a string or null, not undefined'],
  [[{ role: 'assistant', content: null, tool_calls: [{ id: 'a' }] }], `messages[0].tool_calls ${CALLS}, not an array`],
  [[{ role: 'tool', content: 'x' }], 'messages[0].tool_call_id must be the id of a call, not undefined'],
]

let deep: object = { type: 'object' }
for (let levels = 0; levels < SCHEMA_BOUNDS.depth; levels++) deep = { type: 'object', properties: { a: deep } }
const loop = { type: 'object', $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }

/** Schemas that answers can't be checked against. */
const OUTPUTS: readonly [output: unknown, message: string][] = [
  [{ type: 'array' }, 'must be an object schema'],
  [deep, `cannot be used: nested deeper than ${SCHEMA_BOUNDS.depth} levels`],
  [{ type: 'object', $ref: '#/$defs/none' }, 'cannot be used: $ref "#/$defs/none" has no target'],
  [loop, 'cannot be used: a $ref is circular: it leads back to itself on the same value'],
]

const RUN: Wrong[] = [
  ...CALLER,
  type({ maxIterations: '5' }, 'maxIterations must be an integer of 1 or more, not "5"'),
  type({ maxIterations: null }, 'maxIterations must be an integer of 1 or more, not null'),
  ...[Number.NaN, Number.POSITIVE_INFINITY, 0, -1, 1.5].flatMap((number) => [
    range({ maxIterations: number }, `maxIterations must be an integer of 1 or more, not ${number}`),
    range({ maxTokens: number }, `maxTokens must be an integer of 1 or more, not ${number}`),
    range({ budget: { tokens: number } }, `budget.tokens must be an integer of 1 or more, not ${number}`),
  ]),
  ...[Number.NaN, Number.POSITIVE_INFINITY, 0, -1].flatMap((number) => [
    range({ budget: { cost: number } }, `budget.cost must be a number above 0, not ${number}`),
    range({ budget: { wallTimeMs: number } }, `budget.wallTimeMs must be a number above 0, not ${number}`),
  ]),
  type({ maxTokens: '50' }, 'maxTokens must be an integer of 1 or more, not "50"'),
  ...[Number.NaN, -0.1, 2.1].map((number) =>
    range({ temperature: number }, `temperature must be a number from 0 to 2, not ${number}`),
  ),
  type({ temperature: '1' }, 'temperature must be a number from 0 to 2, not "1"'),
  type({ budget: null }, 'budget must be an object with wallTimeMs, tokens, cost, not null'),
  type({ budget: 5 }, 'budget must be an object with wallTimeMs, tokens, cost, not 5'),
  type({ budget: [5] }, 'budget must be an object with wallTimeMs, tokens, cost, not an array'),
  type({ budget: { usd: 1 } }, 'budget: unknown option "usd". Known options are wallTimeMs, tokens, cost'),
  type({ budget: { token: 1 } }, 'budget: unknown option "token". Did you mean "tokens"?'),
  type({ budget: { tokens: '50' } }, 'budget.tokens must be an integer of 1 or more, not "50"'),
  type({ budget: { tokens: null } }, 'budget.tokens must be an integer of 1 or more, not null'),
  type(
    { budget: new Map([['tokens', 1]]) },
    'budget must be an object with wallTimeMs, tokens, cost, not an object that inherits',
  ),
  type({ system: 5 }, 'system must be a string, not 5'),
  type({ tools: 'look' }, 'tools must be an array of names, not "look"'),
  type({ tools: [5] }, 'tools must be an array of names, not an array'),
  type({ durable: 'yes' }, 'durable must be true or false, not "yes"'),
  type(
    { prompt: undefined, messages: 'Hi' },
    `messages must be an array of messages, such as [{role: 'user', content: 'Hi'}], not "Hi"`,
  ),
  type({ tools: new Array(1) }, 'tools must be an array of names, not an array'),
  ...MESSAGES.map(([messages, message]) => type({ prompt: undefined, messages }, message)),
  ...OUTPUTS.map(([output, message]) => type({ output }, `output ${message}`)),
]

describe.each(['run', 'stream'] as const)('%s', (method) => {
  test.each(RUN)('rejects %j before a model is asked', async (options, wrong) => {
    const { yard, model, execute } = await open()
    const given = { model: 'm', prompt: 'Look', ...options } as never
    const answer = method === 'run' ? yard.run(given) : yard.stream(given).answer
    const error = await answer.catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ constructor: wrong.constructor, message: `yard.${method}: ${wrong.message}` })
    expect([model.requests, execute.mock.calls]).toEqual([[], []])
  })

  test('rejects options that are not an object', async () => {
    const { yard, model } = await open()
    for (const options of [undefined, null, 'm']) {
      const answer = method === 'run' ? yard.run(options as never) : yard.stream(options as never).answer
      await expect(answer).rejects.toThrow(TypeError)
    }
    expect(model.requests).toEqual([])
  })
})

test('a stream whose options are wrong rejects the reader of its events, too', async () => {
  const { yard } = await open()
  const stream = yard.stream({ model: 'm', prompt: 'Look', maxIterations: Number.NaN })
  await expect(Array.fromAsync(stream)).rejects.toThrow(RangeError)
})

describe('call', () => {
  test.each<Wrong>([
    ...CALLER,
    type(null, 'options must be an object, not null'),
    type(
      { maxIterations: 5 },
      'unknown option "maxIterations". Known options are tenant, flags, signal, app, user, idempotencyKey, timeoutMs, report, approvalId',
    ),
    type({ idempotencyKey: '' }, 'idempotencyKey must be a string that is not empty, not ""'),
    type({ approvalId: 5 }, 'approvalId must be a string that is not empty, not 5'),
    type({ timeoutMs: '5000' }, 'timeoutMs must be a finite number, not "5000"'),
    type({ timeoutMs: null }, 'timeoutMs must be a finite number, not null'),
    range({ timeoutMs: Number.NaN }, 'timeoutMs must be a finite number, not NaN'),
    type({ report: true }, 'report must be a function, not true'),
  ])('rejects %j before the tool runs', async (options, wrong) => {
    const { yard, execute } = await open()
    const error = await yard.call('look', {}, options as never).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ constructor: wrong.constructor, message: `yard.call: ${wrong.message}` })
    expect(execute).not.toHaveBeenCalled()
  })

  test('takes options that are undefined', async () => {
    const { yard } = await open()
    const options = { user: undefined, timeoutMs: undefined, flags: { admin: undefined } } as object
    expect(await yard.call('look', {}, options)).toMatchObject({ success: true })
  })
})

test('resume and decide reject wrong options', async () => {
  const { yard } = await open()
  await expect(yard.resume('r', { flags: true } as never)).rejects.toThrow('yard.resume: flags must be an object')
  await expect(yard.resume('r', { user: 'ann' } as never)).rejects.toThrow('yard.resume: unknown option "user"')
  await expect(yard.decide('a', undefined as never)).rejects.toThrow('yard.decide: options must be an object')
  await expect(yard.decide('a', {} as never)).rejects.toThrow('decision must be approve or reject, not undefined')
  await expect(yard.decide('a', { decision: 'approve', by: 5 } as never)).rejects.toThrow('by must be a string')
  for (const params of [null, [], 'x']) {
    const refused = yard.decide('a', { decision: 'approve', params } as never)
    await expect(refused).rejects.toThrow('yard.decide: params must be an object, not ')
  }
})

test('adapters refuse wrong options, and those that another adapter takes', async () => {
  const { yard } = await open()
  expect(() => toAiSdk(yard, { progress: 1 } as never)).toThrow('toAiSdk: progress must be true or false, not 1')
  expect(() => toAiSdk(yard, { tools: 'look' } as never)).toThrow('toAiSdk: tools must be an array of names')
  expect(() => toAiSdk(yard, { tools: new Array(1) })).toThrow('toAiSdk: tools must be an array of names, not an array')
  const unknown = 'unknown option "progress"'
  await expect(toLangChain(yard, { progress: true } as never)).rejects.toThrow(`toLangChain: ${unknown}`)
  await expect(toOpenAiAgents(yard, { progress: true } as never)).rejects.toThrow(`toOpenAiAgents: ${unknown}`)
  expect(() => serveMcp(yard, { runId: 'r' } as never)).toThrow('serveMcp: unknown option "runId"')
})

describe('createToolyard', () => {
  test.each<[place: string, config: object]>([
    ['limits', { limits: new Map([['calls_per_minute', 1]]) }],
    [
      'tools',
      {
        tools: new (class {
          get max_iterations() {
            return 1
          }
        })(),
      },
    ],
    ['tools.discovery', { tools: { discovery: Object.create({ max_tool_tokens: 5 }) } }],
    ['budgets[0]', { budgets: [new Map()] }],
  ])('rejects a configuration whose %s is not a plain object', async (place, config) => {
    await expect(createConfigured({ config })).rejects.toThrow(`: ${place} must be a plain object`)
  })

  test.each<[place: string, config: object]>([
    ['limits', Object.defineProperty({}, 'limits', { value: {} })],
    ['tools.max_iterations', { tools: Object.defineProperty({}, 'max_iterations', { value: 1 }) }],
    ['server.port', { server: Object.defineProperty({}, 'port', { value: 1 }) }],
  ])('rejects a configuration whose %s is hidden', async (place, config) => {
    await expect(createConfigured({ config })).rejects.toThrow(`: ${place} is not enumerable: write it as {`)
  })

  test('rejects hidden options', async () => {
    const hidden = (name: string) => Object.defineProperty({}, name, { value: {} })
    await expect(createConfigured(hidden('config'))).rejects.toThrow('createToolyard: config is not enumerable: write')
    const yard = await createConfigured({})
    await expect(yard.run(hidden('budget') as never)).rejects.toThrow('yard.run: budget is not enumerable: write it as')
    await expect(yard.call('none', {}, hidden('user'))).rejects.toThrow(
      'yard.call: user is not enumerable: write it as',
    )
    await yard.close()
  })

  test('rejects a configuration that is not a plain object', async () => {
    const words = 'config must be a configuration or the name of its file, not an object that inherits'
    for (const config of [new Map(), Object.create({ limits: { calls_per_minute: 1 } })]) {
      await expect(createConfigured({ config })).rejects.toThrow(new TypeError(`createToolyard: ${words}`))
    }
  })

  test.each([
    type({ models: new Map() }, 'models must be an object, not an object that inherits'),
    type({ models: { main: () => 1 } }, 'models.main must be a model, not a function'),
    type({ config: null }, 'config must be a configuration or the name of its file, not null'),
    type({ models: [] }, 'models must be an object, not an array'),
    type({ storage: 5 }, 'storage must be a string that is not empty, not 5'),
    type({ clock: () => 5 }, 'clock must be an object with now(), wall() and after(), not a function'),
    type({ discovery: true }, 'discovery must be an object with enabled, maxToolTokens, always, not true'),
    type({ discovery: { maxToolToken: 5 } }, 'discovery: unknown option "maxToolToken". Did you mean "maxToolTokens"?'),
    range({ discovery: { maxToolTokens: Number.NaN } }, 'discovery.maxToolTokens must be a number above 0, not NaN'),
    type(
      { discovery: { always: 'look' } },
      'discovery.always must be an array of patterns, such as ["orders_*"], not "look"',
    ),
  ])('rejects %j', async (options, wrong) => {
    const error = await createToolyard(options as never).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ constructor: wrong.constructor, message: `createToolyard: ${wrong.message}` })
  })
})
