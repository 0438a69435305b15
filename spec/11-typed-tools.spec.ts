import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import {
  type CallBatch,
  type CallRecord,
  createToolyard,
  silentLog,
  type ToolContext,
  type ToolDefinition,
  ToolExecutor,
  ToolHandlers,
  ToolManager,
  ToolRegistry,
  type ToolResult,
  tool,
} from 'toolyard'
import { captureLog, scripted } from 'toolyard/testing'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { z as zod3 } from 'zod/v3'

const description = 'A tool.'
const none = { type: 'object' } as const

const forecast = tool({
  name: 'forecast',
  description: 'The weather of a city.',
  input: z.object({ city: z.string(), days: z.number().default(1) }),
  output: z.object({ degrees: z.number(), days: z.number() }),
  effect: 'read',
  execute: ({ days }) => ({ degrees: 20, days }),
})

/** Runs a program in a new process; gives what it printed. */
async function printedBy(program: string): Promise<{ stdout: string; stderr: string }> {
  const args = ['-C', 'toolyard-source', '--input-type=module', '-e', program]
  return promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
}

describe('Typed tools', () => {
  test('[11.1-1] tool({name, description, input, output?, effect?, execute, …}) makes one tool in one place', async () => {
    await using yard = await createToolyard({ tools: [forecast] })
    expect(yard.tools).toEqual([forecast])
    expect(await yard.call('forecast', { city: 'Oslo' })).toMatchObject({ success: true, result: { degrees: 20 } })
  })

  test.each([
    ['zod', z.object({ city: z.string() })],
    ['valibot', toStandardJsonSchema(v.object({ city: v.string() }))],
    ['arktype', type({ city: 'string' })],
    ['JSON Schema', { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const],
  ])(
    '[11.1-2] input of tool() is any Standard Schema that can give its JSON Schema (zod 4, valibot, arktype) or a JSON Schema object: %s',
    async (_, input) => {
      await using yard = await createToolyard({
        tools: [tool({ name: 'one', description, input, execute: () => 'ran' })],
      })
      expect(yard.tools[0]?.parameters).toMatchObject({ type: 'object', properties: { city: { type: 'string' } } })
      expect(await yard.call('one', { city: 'Oslo' })).toMatchObject({ result: 'ran' })
      expect(await yard.call('one', { city: 7 } as never)).toMatchObject({
        error: 'Invalid parameters: city must be a string',
        error_code: 'INVALID_PARAMETERS',
      })
    },
  )

  test('[11.1-3] execute(input, context) gets the parsed type, and its return type is the type of result', async () => {
    const year = tool({
      name: 'year',
      description,
      input: z.object({ at: z.string().transform((text) => new Date(text)) }),
      execute(input) {
        expectTypeOf(input).toEqualTypeOf<{ at: Date }>()
        return input.at.getUTCFullYear()
      },
    })
    await using yard = await createToolyard({ tools: [year] })
    const envelope = await yard.call('year', { at: '2026-05-01' })
    expectTypeOf(envelope).toEqualTypeOf<ToolResult<number>>()
    expect(envelope).toMatchObject({ result: 2026 })
  })

  // `approval` and `cost` join the fields with their features.
  test('[11.1-4] tool() takes all optional fields of a definition in camelCase (timeoutMs, permissions, approval, cache, rateLimit, cost, …)', async () => {
    const made = tool({
      name: 'one',
      description,
      input: none,
      timeoutMs: 5_000,
      permissions: ['p'],
      cache: { ttlMs: 1_000 },
      rateLimit: { calls: 1, perMs: 60_000 },
      execute: () => 1,
    })
    expect(made).toMatchObject({
      timeout_ms: 5_000,
      permissions: ['p'],
      cache: { ttl_ms: 1_000 },
      rate_limit: { calls: 1, per_ms: 60_000 },
    })
    await using yard = await createToolyard({ tools: [made] })
    const flags = { p: true }
    expect(await yard.call('one', {})).toMatchObject({ error_code: 'PERMISSION_DENIED' })
    expect(await yard.call('one', {}, { flags })).toMatchObject({ result: 1 })
    expect(await yard.call('one', {}, { flags })).toMatchObject({ error_code: 'RATE_LIMITED' })
  })

  test('[11.1-5] context has signal, tenant, user, flags, report(progress) and log', async () => {
    const log = captureLog()
    const seen = tool({
      name: 'seen',
      description,
      input: none,
      execute(_, { signal, tenant, user, flags, report, log: given }) {
        report(0.5)
        given.info({}, 'Half way')
        return { aborted: signal.aborted, tenant, user, flags }
      },
    })
    await using yard = await createToolyard({ tools: [seen], log })
    const progress: unknown[] = []
    const options = {
      tenant: 'acme',
      user: 'ann',
      flags: { a: true },
      report: (one: unknown) => void progress.push(one),
    }
    expect(await yard.call('seen', {}, options)).toMatchObject({
      result: { aborted: false, tenant: 'acme', user: 'ann', flags: { a: true } },
    })
    expect(progress).toEqual([0.5])
    expect(log.lines.map(({ message }) => message)).toContain('Half way')
  })

  test('[11.1-6] context.call(name, input) makes a child call through the executor, recorded under its parent', async () => {
    const ask = tool({ name: 'ask', description, input: none, execute: (_, { call }) => call('forecast', { city: 7 }) })
    const records: CallRecord[] = []
    const sinks = [{ write: (batch: CallBatch) => void records.push(...batch.records) }]
    await using yard = await createToolyard({ tools: [forecast, ask], sinks })
    expect(await yard.call('ask', {})).toMatchObject({ result: { error_code: 'INVALID_PARAMETERS' } })
    yard.executor.flush()
    expect(records.map((record) => record.tool)).toEqual(['forecast', 'ask'])
    expect(records[0]?.parentId).toBe(records[1]?.id)
    expect(records[1]?.id).toBeTypeOf('string')
  })

  test('[11.1-7] context.app is whatever the application passed with the call, typed by createToolyard<App>()', async () => {
    const app = { rows: ['one'] }
    const row = tool({
      name: 'row',
      description,
      input: none,
      execute: (_, context: ToolContext<{ rows: string[] }>) => context.app === app && context.app.rows[0],
    })
    await using yard = await createToolyard<{ rows: string[] }>({ tools: [row] })
    expect(await yard.call('row', {}, { app })).toMatchObject({ result: 'one' })
    // @ts-expect-error: app is another type
    await yard.call('row', {}, { app: { rows: 1 } })
  })

  test('[11.1-8] const yard = await createToolyard({tools, config?, models?, log?}) makes an instance', async () => {
    const models = { named: scripted('Hello.') }
    await using yard = await createToolyard({ tools: [forecast], config: {}, models, log: silentLog })
    expect(await yard.run({ model: 'named', prompt: 'Hi' })).toMatchObject({ content: 'Hello.' })
  })

  test('[11.1-9] config of createToolyard is a file name, an object or absent', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const implementation = { type: 'mock', mock_response: 1 }
    const config = { tools: { registry: [{ name: 'static', description, parameters: none, implementation }] } }
    const file = join(folder, 'toolyard.config.json')
    await writeFile(file, JSON.stringify(config))
    for (const given of [file, config]) {
      await using yard = await createToolyard({ tools: [forecast], config: given })
      expect(await yard.call('static', {})).toMatchObject({ result: 1 })
      expect(await yard.call('forecast', { city: 'Oslo' })).toMatchObject({ success: true })
    }
    await using yard = await createToolyard({ tools: [forecast] })
    expect(yard.tools).toHaveLength(1)
    await expect(
      createToolyard({ tools: [tool({ name: 'static', description, input: none, execute: () => 2 })], config: file }),
    ).rejects.toThrow("There are two tools 'static'")
  })

  test('[11.1-10] yard.call(name, input, {tenant?, user?, app?, signal?, idempotencyKey?}) resolves to the envelope, typed by the tool if the name is known', async () => {
    const execute = vi.fn(() => 'done')
    const once = tool({ name: 'once', description, input: none, execute })
    await using yard = await createToolyard({ tools: [once, forecast] })
    const envelope = await yard.call('forecast', { city: 'Oslo', days: 2 })
    expectTypeOf(envelope).toEqualTypeOf<ToolResult<{ degrees: number; days: number }>>()
    for (const _ of [1, 2])
      expect(await yard.call('once', {}, { idempotencyKey: 'k' })).toMatchObject({ result: 'done' })
    expect(execute).toHaveBeenCalledTimes(1)
    expect(await yard.call('once', {}, { signal: AbortSignal.abort() })).toMatchObject({ error_code: 'CANCELLED' })
    // @ts-expect-error: there is no such tool
    expect(await yard.call('forcast', {})).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
  })

  test('[11.1-11] yard.run({model, messages | prompt, tools?, …}) and yard.stream(…) run the tool-calling loop', async () => {
    await using yard = await createToolyard({ tools: [forecast] })
    const model = () => scripted({ calls: [{ name: 'forecast', arguments: { city: 'Oslo' } }] }, 'It is 20 degrees.')
    const answer = await yard.run({ model: model(), prompt: 'How warm is it in Oslo?', tools: ['forecast'] })
    expect(answer).toMatchObject({ content: 'It is 20 degrees.', tool_calls: [{ tool: 'forecast' }] })
    const stream = yard.stream({ model: model(), messages: [{ role: 'user', content: 'How warm is it in Oslo?' }] })
    const types = []
    for await (const event of stream) types.push(event.type)
    expect(types).toEqual(expect.arrayContaining(['call-result', 'text-delta', 'answer']))
    expect(await stream.answer).toMatchObject({ content: 'It is 20 degrees.' })
  })

  test('[11.1-12] yard.tools lists the tools. yard.close() and await using close the instance', async () => {
    const yard = await createToolyard({ tools: [forecast] })
    expect(yard.tools.map(({ name }) => name)).toEqual(['forecast'])
    const close = vi.spyOn(yard, 'close')
    {
      await using closed = yard
      expect(closed.tools).toHaveLength(1)
    }
    expect(close).toHaveBeenCalledTimes(1)
    await yard.close()
  })

  test('[11.1-13] createToolyard needs nothing to be "enabled" or "loaded" first', async () => {
    await using yard = await createToolyard({ tools: [forecast], config: { tools: { enabled: false } } })
    expect(await yard.call('forecast', { city: 'Oslo' })).toMatchObject({ success: true })
  })

  test('[11.1-14] The classes ToolManager, ToolExecutor, ToolRegistry and ToolHandlers stay underneath: new ToolExecutor(registry) works, and registry.execute(name, params) exists', async () => {
    const registry = new ToolRegistry()
    registry.register(forecast)
    const executor = new ToolExecutor(registry)
    expect(await executor.execute('forecast', { city: 'Oslo' })).toMatchObject({ success: true })
    expect(await registry.execute('forecast', { city: 7 })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    const manager = new ToolManager({ tools: { enabled: true } }, { handlers: new ToolHandlers(), log: silentLog })
    onTestFinished(() => manager.close())
    manager.getRegistry().register(forecast)
    expect(await manager.getExecutor().execute('forecast', { city: 'Oslo' })).toMatchObject({ success: true })
  })

  test('[11.1-15] execute before loadTools() says that tools are not loaded yet', async () => {
    const registry = [
      { name: 'one', description, parameters: none, implementation: { type: 'mock', mock_response: 1 } },
    ]
    const manager = new ToolManager({ tools: { enabled: true, registry } }, { log: silentLog })
    onTestFinished(() => manager.close())
    expect(await manager.getExecutor().execute('one', {})).toMatchObject({
      error: "Tool 'one' not found: tools are not loaded yet. Await loadTools() first",
      error_code: 'TOOL_NOT_FOUND',
    })
    await manager.loadTools()
    expect(await manager.getExecutor().execute('one', {})).toMatchObject({ result: 1 })
  })

  test("[11.1-16] parameters that aren't a JSON Schema object (a Zod schema, a class) are converted if possible, and refused with a sentence if not. Validation is never silently off", async () => {
    const registry = new ToolRegistry()
    const executor = new ToolExecutor(registry, {
      kinds: { run: { effect: () => 'read', bind: () => () => () => 'ran' } },
    })
    const define = (parameters: unknown) =>
      ({ name: 'forecast', description, parameters, implementation: { type: 'run' } }) as ToolDefinition
    registry.register(define(z.object({ city: z.string() })))
    expect(await executor.execute('forecast', { city: 7 })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    expect(await executor.execute('forecast', { city: 'Oslo' })).toMatchObject({ result: 'ran' })
    class Shape {
      type = 'object'
    }
    for (const [wrong, sentence] of [
      [zod3.object({ city: zod3.string() }), "not a schema of zod that can't describe itself"],
      [new Shape(), 'not an instance of Shape'],
      [Shape, 'must be an object schema'],
      [null, 'must be an object schema'],
    ] as const) {
      expect(() => registry.register(define(wrong))).toThrow(sentence)
      expect(() => registry.register(define(wrong))).toThrow("(tool 'forecast')")
    }
  })

  const PROGRAM = `
    import { createToolyard, tool } from 'toolyard'
    const fails = tool({ name: 'fails', description: 'A tool.', input: { type: 'object' }, execute() { throw new Error('No.') } })
    await using yard = await createToolyard({ tools: [fails], log: LOG })
    await yard.call('fails', {})`

  test('[11.1-17] The library prints nothing by default', async () => {
    expect(await printedBy(PROGRAM.replace('LOG', 'undefined'))).toEqual({ stdout: '', stderr: '' })
  })

  test('[11.1-18] log takes pino, console or {level}', async () => {
    const { stderr } = await printedBy(PROGRAM.replace('LOG', "{ level: 'warn' }"))
    expect(JSON.parse(stderr)).toMatchObject({ level: 40, tool: 'fails', error: 'No.', msg: 'Tool call failed' })
    const console = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    for (const log of [console, captureLog()]) {
      await using yard = await createToolyard({ tools: [forecast], log })
      await yard.call('forecast', { city: 'Oslo' })
    }
    expect(console.info).toHaveBeenCalledWith('Tool call succeeded', expect.objectContaining({ tool: 'forecast' }))
  })
})
