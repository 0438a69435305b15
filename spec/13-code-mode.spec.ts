import { type CallContext, type CallRecord, type Config, silentLog, ToolHandlers, ToolManager } from 'toolyard'
import { captureLog, ManualClock, scripted } from 'toolyard/testing'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ProviderClient } from '../src/models/providers/provider-client.ts'
import { configured, mock, never, withTools } from './fixtures/tool-manager.ts'

vi.setConfig({ testTimeout: 60_000 })

const config = (code_mode: object = {}): { readonly config: Config } => ({
  config: { tools: { code_mode: { enabled: true, ...code_mode } } },
})
const echo = { run: (params: unknown) => params, effect: 'read' } as const
const write = (run: () => unknown) => ({ run, effect: 'write' }) as const
const code = (text: string) => ({ code: text })

/** One server for most scenarios: each sandbox is a process. */
const records: CallRecord[] = []
const pay = vi.fn()
const handlers = new ToolHandlers()
let manager: ToolManager
let work: (params: { id?: string }) => unknown
const run = (text: string, context: CallContext = {}) => manager.getExecutor().execute('run_code', code(text), context)

beforeAll(async () => {
  handlers.register('echo', echo.run, { effect: 'read' })
  handlers.register('pay', pay, { effect: 'write' })
  handlers.register('work', (params) => work(params), { effect: 'write' })
  const tool = (name: string, handler: string, more = {}) => ({
    ...{
      name,
      description: name,
      parameters: { type: 'object' },
      implementation: { type: 'internal', handler },
      ...more,
    },
  })
  const registry = [
    ...[tool('echo', 'echo'), tool('odd-name', 'echo'), tool('work', 'work')],
    tool('look', 'echo', { rate_limit: { calls: 1, per_ms: 3_600_000 } }),
    tool('secret', 'echo', { permissions: ['payments'] }),
    tool('strict', 'echo', { parameters: { type: 'object', required: ['id'] } }),
    tool('pay', 'pay', { approval: true }),
  ]
  const code_mode = { enabled: true, memory_mb: 16, max_calls: 64, timeout_ms: 60_000 }
  const sinks = [{ write: (batch: { records: readonly CallRecord[] }) => void records.push(...batch.records) }]
  manager = new ToolManager({ tools: { enabled: true, registry, code_mode } }, { handlers, sinks, log: silentLog })
  await manager.loadTools()
})
afterAll(() => manager.close())

describe('Code mode', () => {
  test('[13.2-1] tools.code_mode {enabled, tools?: [patterns], timeout_ms (30,000), memory_mb (64), max_calls (50)} offers one tool run_code {code}', async () => {
    const settings = { tools: ['orders_*'], timeout_ms: 40_000, memory_mb: 32, max_calls: 2 }
    const given = await configured([mock('orders_get', { id: 7 }), mock('pay')], config(settings))
    expect(given.registry.definitions().map(({ name }) => name)).toEqual(['orders_get', 'pay', 'run_code'])
    const [tool] = given.registry.definitions().filter(({ name }) => name === 'run_code')
    expect(tool).toMatchObject({ timeout_ms: 40_000, parameters: { required: ['code'] } })
    const orders = code('return [(await tools.orders_get({})).id, await tools.pay({}).catch((error) => error.code)]')
    expect(await given.execute('run_code', orders)).toMatchObject({ result: { result: [7, 'TOOL_NOT_FOUND'] } })

    const usual = await configured([], config())
    expect(usual.registry.get('run_code')).toMatchObject({ timeout_ms: 30_000 })
    expect(usual.registry.toProviderFormat('mcp')).toMatchObject([{ description: expect.stringContaining('50 calls') }])
    const taken = await configured([mock('run_code')], config())
    expect((await taken.manager.loadTools()).skipped).toEqual([
      {
        name: 'run_code',
        problem:
          "The name 'run_code' at tools.code_mode is already used by tools.registry[0]: rename one of them, or give it another version",
      },
    ])
    const off = await configured([], config({ enabled: false }))
    expect(off.registry.has('run_code')).toBe(false)
  })

  test('[13.2-2] run_code runs JavaScript or TypeScript in a sandbox without I/O in which every offered tool is await tools.<name>(params)', async () => {
    const script = `
      interface Pair { left: number; right: number }
      const pairs: Pair[] = await Promise.all([1, 2].map((left) => tools.echo({ left, right: left * 2 })))
      const { odd } = await tools['odd-name']({ odd: true })
      return { sum: pairs.reduce((sum, { left, right }) => sum + left + right, 0), odd, io: [typeof fetch, typeof process, typeof require] }
    `
    const undefineds = ['undefined', 'undefined', 'undefined']
    expect(await run(script)).toMatchObject({
      result: { result: { sum: 9, odd: true, io: undefineds } },
    })
  })

  test('[13.2-3] Each call from run_code goes through the executor: permission, limits, approval, record', async () => {
    const script = `
      const all = []
      for (const name of ['look', 'look', 'secret', 'strict', 'pay']) all.push(await tools[name]({}).catch((error) => error.code ?? error.message))
      return all
    `
    const envelope = await run(script, { tenant: 'acme' })
    manager.getExecutor().flush()
    // Without a store for approvals nothing can be approved, so the tool can't be called.
    const codes = [{}, 'RATE_LIMITED', 'PERMISSION_DENIED', 'INVALID_PARAMETERS', 'EXECUTION_ERROR']
    expect(envelope).toMatchObject({ result: { result: codes } })
    expect(pay).not.toHaveBeenCalled()
    const parent = records.findLast(({ tool }) => tool === 'run_code')
    expect(records.filter(({ parentId }) => parentId === parent?.id)).toHaveLength(5)
  })

  test('[13.2-4] The model is shown TypeScript declarations made from the schemas', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const { manager } = await withTools({ get_weather: { ...echo, parameters }, hidden: echo }, config())
    const model = scripted('Fine.')
    const allowed_tools = ['run_code']
    const context = { tools: ['get_*', 'run_code'] }
    await manager.getLoop().answer({ model, messages: [{ role: 'user', content: 'Hi' }], allowed_tools, context })
    const [{ tools } = { tools: [] }] = model.requests
    expect(tools.map(({ name }) => name)).toEqual(['run_code'])
    expect(tools[0]?.description).toContain('  get_weather(params: { city: string }): Promise<unknown>')
    expect(tools[0]?.description).not.toContain('hidden')
  })

  test('[13.2-5] Loops, memory, output and number of calls of run_code are bounded', async () => {
    expect(await run('const list = []; for (;;) list.push({})')).toMatchObject({
      error: 'InternalError: out of memory (line 1)',
    })
    expect(await run('for (let i = 0; i < 65; i++)\n  await tools.echo()')).toMatchObject({
      error: 'RATE_LIMITED: The code may make at most 64 calls (line 2)',
    })
    // The call ends at its deadline: one builtin that never looks at the clock must not outlive it.
    expect(await run('new Array(2 ** 32 - 2).indexOf(5)', { timeoutMs: 1_000 })).toMatchObject({
      error_code: 'TIMEOUT',
    })
    expect(await run('return "alive"')).toMatchObject({ result: { result: 'alive' } })
  })

  test('[13.2-6] console.log and the returned value of run_code come back, bounded', async () => {
    expect(await run('console.log("a", { b: 1 }); console.warn("c"); return [1]')).toMatchObject({
      result: { result: [1], console: 'a {"b":1}\nc' },
    })
    expect(await run('console.log("x".repeat(70000))')).toMatchObject({
      result: {
        result: null,
        console: expect.stringMatching(/^x{60000,65536}$/),
        note: 'The console was cut. Print less',
      },
    })
  })

  test('[13.2-7] run_code has at most 32 calls in flight, 64 KB of source and 64 KB of output', async () => {
    let running = 0
    let most = 0
    const waiting: (() => void)[] = []
    work = async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 32) for (const go of waiting.splice(0)) go()
      })
      running--
    }
    const calls = 'return (await Promise.all(Array.from({ length: 64 }, () => tools.work()))).length'
    expect(await run(calls)).toMatchObject({ result: { result: 64 } })
    expect(most).toBe(32)
    expect(await run(' '.repeat(65_537))).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    const long = await run('return "x".repeat(70000)')
    expect(long).toMatchObject({ result: { note: expect.stringContaining('longer than 65536 bytes') } })
  })

  test('[13.2-8] A server runs 2 run_code calls at a time. The rest queue inside the deadline', async () => {
    const waiting = new Map<string, () => void>()
    let arrived = () => {}
    work = ({ id }) =>
      new Promise<void>((resolve) => {
        waiting.set(String(id), resolve)
        arrived()
      })
    const twoWait = new Promise<void>((resolve) => {
      arrived = () => (waiting.size === 2 ? resolve() : undefined)
    })
    const hold = (id: string, context = {}) => run(`await tools.work({ id: "${id}" })`, context)
    const runs = [hold('a'), hold('b')]
    await twoWait
    expect(await hold('late', { timeoutMs: 1_000 })).toMatchObject({ error_code: 'TIMEOUT' })
    expect([...waiting.keys()].sort()).toEqual(['a', 'b'])
    const third = hold('c')
    arrived = () => waiting.get('c')?.()
    for (const go of waiting.values()) go()
    for (const ended of await Promise.all([...runs, third])) expect(ended).toMatchObject({ success: true })
  })

  test('[13.2-9] The effect of run_code is write, unless all its tools are read', async () => {
    const tools = { look: echo, orders_pay: write(never) }
    const all = await withTools(tools, config())
    const some = await withTools(tools, config({ tools: ['look'] }))
    expect([all.executor.effectOf('run_code'), some.executor.effectOf('run_code')]).toEqual(['write', 'read'])
  })

  test.each(['read', 'all'] as const)('[13.2-10] run_code never runs from printed text', async (printed_calls) => {
    const { manager, executor } = await withTools({ look: echo }, config())
    expect(executor.effectOf('run_code')).toBe('read')
    const printed = '<tool_call>{"name": "run_code", "arguments": {"code": "return 1"}}</tool_call>'
    const script = scripted(printed)
    const wire = { dialect: 'plain', printsCalls: true, stream: (_: string, asked: never) => script.stream(asked) }
    const provider = new ProviderClient({ name: 'local', type: 'ollama' }, wire as never, {
      log: captureLog(),
      clock: new ManualClock(),
    })
    const model = provider.model('m', { printed_calls })
    const answer = await manager.getLoop().answer({ model, messages: [{ role: 'user', content: 'Go' }] })
    expect(answer).toMatchObject({ content: printed, tool_calls: [] })
  })

  // `src/kinds/composite/code-mode.escapes.test.ts` tries the whole table, which is in docs/guides/code-mode.md.
  test('[13.2-11] The sandbox sees no environment, file, network, process or host object: a table of escapes fails', async () => {
    const script = `
      const seen = Object.getOwnPropertyNames(globalThis).filter((name) => /process|env|require|fetch|socket|file|worker|module|buffer$|timeout|atomics|wasm|webassembly/i.test(name))
      const attempts = [() => process.env, () => require('fs'), () => fetch('http://127.0.0.1'), () => new Function('return process')(), () => tools.look.constructor('return process')()]
      const escaped = attempts.filter((attempt) => { try { return attempt() !== undefined } catch { return false } })
      const imported = await import('node:fs').then(() => 'imported', () => 'refused')
      return { seen, escaped: escaped.length, imported }
    `
    expect(await run(script)).toMatchObject({
      result: { result: { seen: ['ArrayBuffer'], escaped: 0, imported: 'refused' } },
    })
  })
})
