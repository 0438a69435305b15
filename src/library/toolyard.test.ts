import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AIMessageChunk } from '@langchain/core/messages'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { Installation } from '../app/installation.ts'
import { later, never } from '../core/fixtures/code-yard.ts'
import { silentLog } from '../core/log.ts'
import type { CallBatch, CallRecord } from '../core/records/recorder.ts'
import { isolated } from '../kinds/tool-handlers.ts'
import { ScriptedChatModel } from '../models/fixtures/scripted-chat-model.ts'
import { scriptedLanguageModel } from '../models/fixtures/scripted-language-model.ts'
import { captureLog, scripted } from '../testing/stand-ins.ts'
import { createToolyard } from './configured.ts'
import type { ToolyardOptions } from './options.ts'
import { type AnyTool, type ToolContext, tool } from './tool.ts'
import { createToolyard as createLight } from './toolyard.ts'

const description = 'A tool.'
const none = { type: 'object' } as const

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => ({ city, degrees: 20 }),
})

test('rejects a definition with a misspelled key', async () => {
  const implementation = { type: 'mock', mock_response: 1 }
  const written = { name: 'one', description, parameters: none, implementation, permision: ['admin'] }
  await expect(createToolyard({ tools: [written] })).rejects.toThrow(
    `Tool 'one': unknown option "permision". Did you mean "permissions"?`,
  )
})

/** An instance that the test closes, and the records of its calls. */
async function open<const Tools extends readonly AnyTool[]>(
  tools: Tools,
  rest: ToolyardOptions<Tools, undefined> = {},
) {
  const records: CallRecord[] = []
  const sinks = [{ write: (batch: CallBatch) => void records.push(...batch.records) }]
  const yard = await createToolyard({ tools, sinks, ...rest })
  onTestFinished(() => yard.close())
  return { yard, records }
}

const askForecast = { calls: [{ name: 'forecast', arguments: { city: 'Oslo' } }] }

describe('call', () => {
  test('needs nothing to be enabled or loaded, and lists its tools', async () => {
    const { yard } = await open([forecast])
    expect(yard.tools).toEqual([forecast])
    expect(await yard.call('forecast', { city: 'Oslo' })).toMatchObject({
      success: true,
      result: { city: 'Oslo', degrees: 20 },
      tool_name: 'forecast',
    })
  })

  test('passes tenant, user, flags, signal, report, log and app to the tool', async () => {
    const log = captureLog()
    const app = { db: new Map([[1, 'one']]) }
    const seen = tool({
      name: 'seen',
      description,
      input: none,
      permissions: ['read_rows'],
      execute(_, { tenant, user, flags, signal, report, log: given, app: passed }: ToolContext<typeof app>) {
        report({ half: true })
        given.info({ row: 1 }, 'Reading')
        return { tenant, user, flags, aborted: signal.aborted, row: passed.db.get(1), same: passed === app }
      },
    })
    const { yard, records } = await open([seen], { log })
    const progress: unknown[] = []
    const flags = { read_rows: true }
    const options = { tenant: 'acme', user: 'ann', flags, app, report: (one: unknown) => void progress.push(one) }
    expect(await yard.call('seen', {}, options)).toMatchObject({
      result: { tenant: 'acme', user: 'ann', flags, aborted: false, row: 'one', same: true },
    })
    expect(progress).toEqual([{ half: true }])
    expect(log.lines.map(({ message }) => message)).toContain('Reading')
    yard.executor.flush()
    expect(records).toMatchObject([{ tool: 'seen', tenant: 'acme', caller: 'ann', source: 'code' }])
    expect(JSON.stringify(log.lines)).not.toContain('"db"')
    expect(await yard.call('seen', {}, { app })).toMatchObject({ error_code: 'PERMISSION_DENIED' })
  })

  test('is cancelled by its signal, and repeated calls with a key run once', async () => {
    const execute = vi.fn((_: unknown, { signal }: { signal: AbortSignal }) => {
      return signal.aborted ? undefined : later(0).then(() => 'done')
    })
    const slow = tool({ name: 'slow', description, input: none, execute: () => never() })
    const once = tool({ name: 'once', description, input: none, execute })
    const { yard } = await open([slow, once])
    const controller = new AbortController()
    const call = yard.call('slow', {}, { signal: controller.signal })
    controller.abort()
    expect(await call).toMatchObject({ error_code: 'CANCELLED' })
    for (const _ of [1, 2]) {
      expect(await yard.call('once', {}, { idempotencyKey: 'k' })).toMatchObject({ result: 'done' })
    }
    expect(execute).toHaveBeenCalledTimes(1)
  })

  test('runs an isolated handler, which has no app', async () => {
    const url = new URL('../isolation/fixtures/handlers.ts', import.meta.url)
    const seen = tool({ name: 'seen', description, input: none, execute: isolated(url, 'seen') })
    const needs = tool({ name: 'needs_app', description, input: none, execute: isolated(url, 'needsApp') })
    const { yard } = await open([seen, needs])
    expect(await yard.call('seen', {}, { tenant: 'acme' })).toMatchObject({ result: { tenant: 'acme' } })
    expect(await yard.call('needs_app', {})).toMatchObject({
      error: 'context.app is not available in an isolated handler',
    })
  })

  test('takes definitions and LangChain tools beside tools in code', async () => {
    const mock = { name: 'mock', description, parameters: none, implementation: { type: 'mock', mock_response: 1 } }
    const langchain = { name: 'langchain', description, schema: none, invoke: async () => 'from LangChain' }
    await using yard = await createToolyard({ tools: [forecast, mock, langchain] })
    expect(await yard.call('mock', {})).toMatchObject({ result: 1 })
    expect(await yard.call('langchain', {})).toMatchObject({ result: 'from LangChain' })
    expect(await yard.call('forecast', { city: 'Oslo' })).toMatchObject({ success: true })
  })

  test('catches what a tool throws, synchronously too', async () => {
    const broken = tool({
      name: 'broken',
      description,
      input: none,
      execute() {
        throw new Error('Out of order')
      },
    })
    const { yard } = await open([broken])
    expect(await yard.call('broken', {})).toMatchObject({ error: 'Out of order', error_code: 'EXECUTION_ERROR' })
  })
})

describe('context.call', () => {
  test('calls another tool for the same caller, recorded under its parent', async () => {
    const report = tool({
      name: 'report',
      description,
      input: none,
      async execute(_, context) {
        const answer = await context.call<{ degrees: number }>('forecast', { city: 'Oslo' })
        return answer.success ? answer.result.degrees : answer.error
      },
    })
    const { yard, records } = await open([forecast, report])
    expect(await yard.call('report', {}, { tenant: 'acme', user: 'ann' })).toMatchObject({ result: 20 })
    yard.executor.flush()
    const [child, parent] = records
    expect(parent).toMatchObject({ tool: 'report', parentId: undefined, id: expect.any(String) })
    expect(child).toMatchObject({ tool: 'forecast', tenant: 'acme', caller: 'ann', parentId: parent?.id })
  })

  test('has no more rights than the caller', async () => {
    const secret = tool({ name: 'secret', description, input: none, permissions: ['admin'], execute: () => 'secret' })
    const ask = tool({ name: 'ask', description, input: none, execute: (_, { call }) => call('secret', {}) })
    const { yard } = await open([secret, ask])
    expect(await yard.call('ask', {})).toMatchObject({ result: { error_code: 'PERMISSION_DENIED' } })
    expect(await yard.call('ask', {}, { flags: { admin: true } })).toMatchObject({ result: { result: 'secret' } })
  })

  test('ends with its parent, at its deadline or when it is cancelled', async () => {
    const ends: unknown[] = []
    const inner = tool({
      name: 'inner',
      description,
      input: none,
      execute: (_, { signal }) => new Promise(() => signal.addEventListener('abort', () => ends.push(signal.reason))),
    })
    const outer = tool({
      name: 'outer',
      description,
      input: none,
      timeoutMs: 50,
      execute: (_, { call }) => call('inner', {}),
    })
    const { yard, records } = await open([inner, outer])
    expect(await yard.call('outer', {})).toMatchObject({ error_code: 'TIMEOUT' })
    const controller = new AbortController()
    const call = yard.call('outer', {}, { signal: controller.signal })
    controller.abort()
    expect(await call).toMatchObject({ error_code: 'CANCELLED' })
    await vi.waitFor(() => {
      yard.executor.flush()
      expect(records).toHaveLength(4)
    })
    expect(ends).toHaveLength(2)
    for (const { code, executionTimeMs } of records.filter((record) => record.tool === 'inner')) {
      expect(['TIMEOUT', 'CANCELLED']).toContain(code)
      expect(executionTimeMs).toBeLessThan(30_000)
    }
  })

  test('ends a cycle with an error that names it', async () => {
    let calls = 0
    const next = (name: string, other: string) =>
      tool({
        name,
        description,
        input: none,
        async execute(_, { call }) {
          calls++
          const answer = await call(other, {})
          if (!answer.success) throw new Error(answer.error)
          return answer.result
        },
      })
    const { yard } = await open([next('ping', 'pong'), next('pong', 'ping')])
    expect(await yard.call('ping', {})).toMatchObject({
      error: expect.stringMatching(
        /10 calls are nested already \(ping → pong → ping .*Look for tools that call each other/,
      ),
    })
    expect(calls).toBe(10)
  })

  test('reaches tools that the model was not offered', async () => {
    const ask = tool({
      name: 'ask',
      description,
      input: none,
      execute: (_, { call }) => call('forecast', { city: 'Oslo' }),
    })
    const { yard } = await open([forecast, ask])
    const { tool_calls } = await yard.run({
      model: scripted({ calls: [{ name: 'ask' }] }, 'Done.'),
      prompt: 'Hi',
      tools: ['ask'],
    })
    expect(tool_calls).toMatchObject([{ tool: 'ask', result: { result: { success: true } } }])
  })
})

describe('a configuration', () => {
  const config = {
    tools: {
      registry: [{ name: 'static', description, parameters: none, implementation: { type: 'mock', mock_response: 1 } }],
    },
  }

  test('joins the tools in code, as an object or a file, whether tools are enabled or not', async () => {
    const off = { tools: { ...config.tools, enabled: false } }
    await using yard = await createToolyard({ tools: [forecast], config })
    await using disabled = await createToolyard({ tools: [forecast], config: off })
    expect(yard.tools.map(({ name }) => name)).toEqual(['static', 'forecast'])
    expect(disabled.tools.map(({ name }) => name)).toEqual(['forecast'])
    expect(await yard.call('static', {})).toMatchObject({ result: 1 })
    expect(await disabled.call('forecast', { city: 'Oslo' })).toMatchObject({ success: true })
    await expect(createToolyard({ tools: [], config: '/nowhere/toolyard.config.json' })).rejects.toThrow(
      'there is no such file',
    )
  })

  test('refuses two tools of one name', async () => {
    const clash = tool({ name: 'static', description, input: none, execute: () => 2 })
    await expect(createToolyard({ tools: [clash], config })).rejects.toThrow("There are two tools 'static'")
    await expect(createToolyard({ tools: [forecast, forecast] })).rejects.toThrow("There are two tools 'forecast'")
  })
})

describe('@toolyard/core', () => {
  test('says that a configuration and the id of a model need the package toolyard', async () => {
    const todo = "needs the package toolyard: install it, and import createToolyard from 'toolyard'"
    // @ts-expect-error: its type has no configuration
    await expect(createLight({ tools: [forecast], config: {} })).rejects.toThrow(`config ${todo}`)
    const yard = await createLight({ tools: [forecast] })
    await expect(yard.run({ model: 'openai:gpt-5', prompt: 'Hi' })).rejects.toThrow(`A model id ${todo}`)
    expect(await yard.call('forecast', { city: 'Oslo' })).toMatchObject({ success: true })
    await yard.close()
  })
})

describe('run and stream', () => {
  const seen = tool({
    name: 'seen',
    description,
    input: none,
    execute: (_, { app, user, report }: ToolContext<{ name: string }>) => {
      report('half')
      return `${app.name} ${user}`
    },
  })

  test('sets up the provider of a model id, and says what it lacks', async () => {
    vi.stubEnv('OPENAI_API_KEY', '')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { yard } = await open([forecast], { models: { fast: scripted('Hi') } })
    const error = expect.stringContaining('the environment variable OPENAI_API_KEY is not set. Set it')
    expect(await yard.run({ model: 'openai:gpt-5', prompt: 'Hi' })).toMatchObject({ stop_reason: 'error', error })
    await expect(yard.run({ model: 'openia:gpt-5', prompt: 'Hi' })).rejects.toThrow('Did you mean "openai"?')
    await expect(yard.run({ model: 'fats', prompt: 'Hi' })).rejects.toThrow(
      "There is no model 'fats': pass one of models (fast), or an id such as openai:gpt-5",
    )
  })

  test('runs the loop to the answer', async () => {
    const { yard } = await open([forecast])
    const model = scripted(askForecast, 'It is 20 degrees.')
    const answer = await yard.run({ model, prompt: 'How warm is Oslo?', system: 'Be brief.' })
    expect(answer).toMatchObject({
      content: 'It is 20 degrees.',
      stop_reason: 'stop',
      tool_calls: [{ tool: 'forecast', result: { result: { degrees: 20 } } }],
    })
    expect(model.requests[0]).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is Oslo?' },
      ],
      tools: [{ name: 'forecast', parameters: { properties: { city: { type: 'string' } } } }],
    })
  })

  test('streams events and has the answer beside them', async () => {
    const { yard } = await open([seen])
    const run = yard.stream({
      model: scripted({ calls: [{ name: 'seen' }] }, 'Done.'),
      messages: [{ role: 'user', content: 'Look.' }],
      app: { name: 'app' },
      user: 'ann',
    })
    const events = []
    for await (const event of run) events.push(event)
    expect(events.map((event) => event.type)).toEqual(
      expect.arrayContaining(['tool-call-end', 'call-progress', 'call-result', 'text-delta', 'answer']),
    )
    expect(await run.answer).toMatchObject({ content: 'Done.', tool_calls: [{ result: { result: 'app ann' } }] })
    await expect(run[Symbol.asyncIterator]().next()).rejects.toThrow('only once')
  })

  test('leaving the stream cancels the run, and its answer says so', async () => {
    const { yard } = await open([forecast])
    const run = yard.stream({ model: scripted('One two three.'), prompt: 'Count.' })
    for await (const event of run) if (event.type === 'text-delta') break
    await expect(run.answer).rejects.toThrow('its events were not read to the end')
  })

  test('takes models of the AI SDK and of LangChain, and named models', async () => {
    const parts = [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'From the AI SDK.' },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: { inputTokens: {}, outputTokens: {} } },
    ] as const
    const { model: aiSdk } = scriptedLanguageModel('v4', parts as never)
    const langchain = new ScriptedChatModel()
    langchain.chunks = [new AIMessageChunk('From LangChain.')]
    const { yard } = await open([forecast], { models: { named: scripted('Named.'), langchain } })
    expect(await yard.run({ model: 'named', prompt: 'Hi' })).toMatchObject({ content: 'Named.' })
    expect(await yard.run({ model: aiSdk, prompt: 'Hi' })).toMatchObject({ content: 'From the AI SDK.' })
    expect(await yard.run({ model: 'langchain', prompt: 'Hi' })).toMatchObject({ content: 'From LangChain.' })
  })

  test.each([
    [{ model: scripted('Hi'), prompt: 'Hi', messages: [] }, 'Pass either messages or prompt'],
    [{ model: scripted('Hi') }, 'Pass either messages or prompt'],
    [{ model: {} as never, prompt: 'Hi' }, 'model must be a model of Toolyard, the AI SDK or LangChain'],
    [{ model: 'nowhere:model', prompt: 'Hi' }, 'nowhere'],
    [{ model: scripted('Hi'), prompt: 'Hi', tools: ['forcast' as 'forecast'] }, "There is no tool 'forcast'"],
  ])('rejects %j', async (options, message) => {
    const { yard } = await open([forecast])
    await expect(yard.run(options)).rejects.toThrow(message)
  })
})

describe('log', () => {
  test('takes console', async () => {
    const console = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    const { yard } = await open([forecast], { log: console })
    await yard.call('forecast', { city: 'Oslo' })
    expect(console.info).toHaveBeenCalledWith('Tool call succeeded', expect.objectContaining({ tool: 'forecast' }))
    expect(console.debug).not.toHaveBeenCalled()
  })

  test('takes the level of a log on stderr', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => write.mockRestore())
    const { yard: quiet } = await open([forecast], { log: { level: 'error' } })
    await quiet.call('forecast', { city: 'Oslo' })
    expect(write).not.toHaveBeenCalled()
    const { yard } = await open([forecast], { log: { level: 'info' } })
    await yard.call('forecast', { city: 'Oslo' })
    const chatty = tool({
      name: 'chatty',
      description,
      input: none,
      execute(_, { log }) {
        log.debug({}, 'Not written')
        log.info({ err: new RangeError('Too far') }, 'An error')
        log.warn({ id: 1n }, 'Not JSON')
      },
    })
    const { yard: other } = await open([chatty], { log: { level: 'info' } })
    await other.call('chatty', {})
    expect(write.mock.calls.map(([line]) => JSON.parse(String(line)))).toMatchObject([
      { level: 30, tool: 'forecast', msg: 'Tool call succeeded' },
      { err: { type: 'RangeError', message: 'Too far' }, msg: 'An error' },
      { level: 40, fields: '{ id: 1n }', msg: 'Not JSON' },
      { level: 30, tool: 'chatty' },
    ])
    await expect(open([forecast], { log: { level: 'loud' } })).rejects.toThrow('Unknown log level "loud"')
  })
})

describe('rights', () => {
  const open = async (...tools: AnyTool[]) => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-library-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const installation = await Installation.open({
      config: {},
      tools,
      log: silentLog,
      env: { TOOLYARD_DATA: folder },
    })
    onTestFinished(() => installation.close())
    return installation
  }
  const executorOf = async (...tools: AnyTool[]) => (await open(...tools)).manager.getExecutor()

  test.each([{ action: 'delete' }, { action: 'DELETE ' }, {}])(
    'approval looks at what the handler gets: %j',
    async (params) => {
      const execute = vi.fn()
      const pay = tool({
        name: 'pay',
        description: 'Pays.',
        input: z.object({ action: z.string().trim().toLowerCase().default('delete') }),
        approval: { when: { properties: { action: { const: 'delete' } }, required: ['action'] } },
        execute,
      })
      const executor = await executorOf(pay)
      expect(await executor.execute('pay', params)).toMatchObject({ error_code: 'APPROVAL_REQUIRED' })
      expect(execute).not.toHaveBeenCalled()
      expect(await executor.execute('pay', { action: 'look' })).toMatchObject({ success: true })
    },
  )

  test('a call within a call has its own row in the audit, which names the outer one', async () => {
    const inner = tool({ name: 'inner', description, input: none, execute: () => 1 })
    const outer = tool({ name: 'outer', description, input: none, execute: (_, { call }) => call('inner', {}) })
    const { manager, sink, storage } = await open(inner, outer)
    await manager.getExecutor().execute('outer', {}, { tenant: 'acme', caller: 'ann' })
    manager.getExecutor().flush()
    await sink.flush()
    const { rows } = await storage.ledger.audit({ tenant: 'acme', limit: 10 })
    const [first, second] = rows.toSorted((a, b) => (a.tool < b.tool ? -1 : 1))
    expect([first, second]).toMatchObject([
      { tool: 'inner', caller: 'ann', outcome: 'success' },
      { tool: 'outer', caller: 'ann', outcome: 'success' },
    ])
    const { call_id } = JSON.parse(String(second?.detail))
    expect(JSON.parse(String(first?.detail))).toEqual({ parent_id: call_id })
    expect((await storage.ledger.verify()).faults).toEqual([])
  })

  test('parameters that are too long to read need no person: they are refused', async () => {
    const input = { type: 'object', properties: { text: { type: 'string' } } } as const
    const executor = await executorOf(
      tool({ name: 'pay', description: 'Pays.', input, approval: true, execute: () => 1 }),
    )
    const refused = await executor.execute('pay', { text: 'x'.repeat(20_000) })
    expect(refused).toMatchObject({ error_code: 'INVALID_PARAMETERS', error: expect.stringContaining('16384') })
  })

  test('a cached result of a tool that calls others is not for callers with fewer rights', async () => {
    const input = { type: 'object' } as const
    const secret = tool({
      name: 'secret',
      description: 'Tells a secret.',
      input,
      effect: 'read',
      permissions: ['secret'],
      execute: () => 'hidden',
    })
    const parent = tool({
      name: 'parent',
      description: 'Asks for the secret.',
      input,
      effect: 'read',
      cache: { ttlMs: 60_000 },
      execute: async (_input, { call }) => call('secret', {}),
    })
    await using yard = await createToolyard({ tools: [secret, parent] })
    const told = await yard.call('parent', {}, { flags: { secret: true } })
    const untold = await yard.call('parent', {}, { flags: {} })
    expect(told).toMatchObject({ result: { result: 'hidden' } })
    expect(untold).toMatchObject({ result: { error_code: 'PERMISSION_DENIED' } })
  })
})
