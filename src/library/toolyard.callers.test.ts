import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { StructuredTool } from '@langchain/core/tools'
import { tool as langchainTool } from '@langchain/core/tools'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { ToolManager } from '../app/tools/tool-manager.ts'
import { ToolExecutor } from '../core/execution/tool-executor.ts'
import { ToolRegistry } from '../core/execution/tool-registry.ts'
import type { ToolResult } from '../core/tool-result.ts'
import { kinds } from '../kinds/kinds.ts'
import { isolated, ToolHandlers } from '../kinds/tool-handlers.ts'
import { captureLog, ManualClock, scripted } from '../testing/stand-ins.ts'
import { fromAiSdk, toAiSdk } from './ai-sdk.ts'
import { createToolyard } from './configured.ts'
import { toOpenAiAgents } from './openai-agents.ts'
import { toLangChain } from './to-langchain.ts'
import { tool } from './tool.ts'

/** The session of a framework, as in Next's `cookies()`. */
const session = new AsyncLocalStorage<string>()
const as = <Value>(user: string, work: () => Value): Value => session.run(user, work)
const NONE = { type: 'object', properties: {} } as const
const CACHED = { effect: 'read', cache: { ttlMs: 60_000 } } as const

/** Answers with the session once each of these users has asked. */
function ordersOf(...users: string[]) {
  const waiting = new Set(users)
  const all = Promise.withResolvers<void>()
  const runs = vi.fn()
  const run = async () => {
    const user = session.getStore() as string
    runs(user)
    waiting.delete(user)
    if (waiting.size === 0) all.resolve()
    await all.promise
    return `orders of ${user}`
  }
  return { run, runs }
}

const orders = (execute: () => unknown, more: object = CACHED) =>
  tool({ name: 'orders', description: 'Lists the orders of the user.', input: NONE, ...more, execute })

async function yardWith(given: readonly unknown[], config?: object) {
  const yard = await createToolyard({ tools: given as never, ...(config && { config: config as never }) })
  onTestFinished(() => yard.close())
  return yard as never as {
    call(name: string, input: unknown, options?: object): Promise<ToolResult<unknown>>
    executor: ToolExecutor
  }
}

const answer = async (result: Promise<ToolResult<unknown>>): Promise<unknown> => {
  const { success, ...rest } = (await result) as ToolResult<unknown> & { result?: unknown; error?: string }
  return success ? rest.result : rest.error
}

/** Both users ask at once, and then once more. */
async function bothAsk(ask: () => Promise<unknown>): Promise<void> {
  const both = ['ada', 'bob']
  expect(await Promise.all(both.map((user) => as(user, ask)))).toEqual(['orders of ada', 'orders of bob'])
  for (const user of both) expect(await as(user, ask)).toBe(`orders of ${user}`)
}

describe('users who are not stated, and ask at once and again', () => {
  test('get their own results of yard.call, with a tenant and an app that all share, too', async () => {
    for (const options of [undefined, { tenant: 'acme' }, { app: {} }]) {
      const app = options?.app
      const yard = await yardWith([orders(ordersOf('ada', 'bob').run)])
      await bothAsk(() => answer(yard.call('orders', {}, app === undefined ? options : { app })))
    }
  })

  test('get their own results of a tool that calls another one', async () => {
    const outer = tool({
      name: 'outer',
      description: 'Calls another tool.',
      input: NONE,
      ...CACHED,
      execute: async (_input, { call }) => answer(call('orders', {})),
    })
    const yard = await yardWith([orders(ordersOf('ada', 'bob').run), outer])
    await bothAsk(() => answer(yard.call('outer', {})))
  })

  test('get their own results of pipelines, also of pipelines of pipelines', async () => {
    const step = (name: string) => ({ type: 'pipeline', steps: [{ id: 'mine', tool: name, params: {} }] })
    const piped = (name: string, inner: string) => ({
      ...{ name, description: 'Asks.', parameters: NONE, cache: { ttl_ms: 60_000 } },
      implementation: step(inner),
    })
    const registry = [piped('piped', 'orders'), piped('twice', 'piped')]
    for (const name of ['piped', 'twice']) {
      const yard = await yardWith([orders(ordersOf('ada', 'bob').run)], { tools: { registry } })
      await bothAsk(() => answer(yard.call(name, {})))
    }
  })

  test('get their own results through the AI SDK', async () => {
    const yard = await yardWith([orders(ordersOf('ada', 'bob').run)])
    const tools = toAiSdk(yard as never)
    // Some models number the calls of each run.
    await bothAsk(async () => tools.orders?.execute({}, { toolCallId: 'call_0' }))
  })

  test('get their own results of tools of the AI SDK', async () => {
    const given = { orders: { description: 'Lists.', inputSchema: z.object({}), execute: ordersOf('ada', 'bob').run } }
    const yard = await yardWith(fromAiSdk(given, { orders: CACHED }))
    await bothAsk(() => answer(yard.call('orders', {})))
  })

  test('get their own results of LangChain tools, and through LangChain', async () => {
    const given = langchainTool(ordersOf('ada', 'bob').run, {
      name: 'orders',
      description: 'Lists.',
      schema: z.object({}),
    })
    given.metadata = { toolyard: { effect: 'read', cache: { ttl_ms: 60_000 } } }
    const yard = await yardWith([given])
    const [handed] = await toLangChain<StructuredTool>(yard as never)
    await bothAsk(async () => handed?.invoke({}))
    const other = await yardWith([orders(ordersOf('ada', 'bob').run)])
    const [one] = await toLangChain<StructuredTool>(other as never)
    await bothAsk(async () => one?.invoke({}))
  })

  test('get their own results through OpenAI Agents', async () => {
    const yard = await yardWith([orders(ordersOf('ada', 'bob').run)])
    const [handed] = await toOpenAiAgents(yard as never)
    const details = { toolCall: { callId: 'call_0' } }
    await bothAsk(async () => handed?.invoke(undefined, '{}', details))
  })

  test('get their own results of registered handlers, by an executor that is told nothing', async () => {
    for (const type of ['internal', 'builtin']) {
      const handlers = new ToolHandlers()
      handlers.register('orders', ordersOf('ada', 'bob').run, { effect: 'read' })
      const registry = new ToolRegistry()
      const executor = new ToolExecutor(registry, { kinds: kinds(handlers) })
      const definition = { name: 'orders', description: 'Lists.', parameters: NONE, cache: { ttl_ms: 60_000 } }
      registry.register({ ...definition, implementation: { type, handler: 'orders' } })
      await bothAsk(() => answer(executor.execute('orders', {})))
      await bothAsk(() => answer(executor.execute('orders', {}, { caller: '', user: ' ' })))
      await bothAsk(() => answer(registry.execute('orders', {})))
    }
  })
})

describe('stated users', () => {
  test.each(['code', 'langchain', 'internal'])('share results with themselves only: %s', async (type) => {
    const { run, runs } = ordersOf('ada', 'bob')
    const handlers = new ToolHandlers()
    handlers.register('orders', run, { effect: 'read' })
    const registry = new ToolRegistry()
    const executor = new ToolExecutor(registry, { kinds: kinds(handlers) })
    const definition = { name: 'orders', description: 'Lists.', parameters: NONE, cache: { ttl_ms: 60_000 } }
    if (type === 'code') registry.register(orders(run))
    else if (type === 'internal') registry.register({ ...definition, implementation: { type, handler: 'orders' } })
    else {
      const metadata = { toolyard: { effect: 'read', cache: { ttl_ms: 60_000 } } }
      registry.register({ name: 'orders', description: 'Lists.', schema: NONE, metadata, invoke: run })
    }
    const ask = () => answer(executor.execute('orders', {}, { caller: session.getStore() }))
    await bothAsk(ask)
    expect(runs.mock.calls).toEqual([['ada'], ['bob']])
  })
})

describe('a tool with shared: true', () => {
  test('runs once for all users of a tenant, stated or not', async () => {
    const { run, runs } = ordersOf('ada')
    const yard = await yardWith([orders(run, { ...CACHED, shared: true })])
    const ask = (options?: object) => answer(yard.call('orders', {}, options))
    const asked = [undefined, { user: 'bob' }, { app: {} }].map((options, at) =>
      as(at === 0 ? 'ada' : 'bob', () => ask(options)),
    )
    expect(await Promise.all(asked)).toEqual(['orders of ada', 'orders of ada', 'orders of ada'])
    expect(await as('bob', () => ask({ user: 'cleo' }))).toBe('orders of ada')
    expect(await as('ada', () => ask({ tenant: 'acme' }))).toBe('orders of ada')
    expect(runs).toHaveBeenCalledTimes(2)
  })

  test('may be a step of a pipeline that is shared then', async () => {
    const { run, runs } = ordersOf('ada')
    const piped = {
      ...{ name: 'piped', description: 'Asks.', parameters: NONE, cache: { ttl_ms: 60_000 } },
      implementation: { type: 'pipeline', steps: [{ id: 'mine', tool: 'orders', params: {} }] },
    }
    const yard = await yardWith([orders(run, { effect: 'read', shared: true })], { tools: { registry: [piped] } })
    for (const user of ['ada', 'bob']) {
      expect(await as(user, () => answer(yard.call('piped', {})))).toBe('orders of ada')
    }
    expect(runs).toHaveBeenCalledTimes(1)
  })
})

describe('shared', () => {
  test('is a field of a handler too', async () => {
    const { run, runs } = ordersOf('ada')
    const handlers = new ToolHandlers()
    handlers.register('orders', run, { effect: 'read', shared: true })
    const registry = new ToolRegistry()
    const executor = new ToolExecutor(registry, { kinds: kinds(handlers) })
    const definition = { name: 'orders', description: 'Lists.', parameters: NONE, cache: { ttl_ms: 60_000 } }
    registry.register({ ...definition, implementation: { type: 'internal', handler: 'orders' } })
    for (const user of ['ada', 'bob']) {
      expect(await as(user, () => answer(executor.execute('orders', {})))).toBe('orders of ada')
    }
    expect(runs).toHaveBeenCalledTimes(1)
    // A handler that replaces it need not be shared.
    handlers.register('orders', ordersOf('cleo').run, { effect: 'read' })
    expect(await as('cleo', () => answer(executor.execute('orders', {})))).toBe('orders of cleo')
  })

  test('must be true or false', () => {
    const make = () => orders(() => 1, { shared: 'yes' })
    expect(make).toThrow(new TypeError("Tool 'orders': shared must be true or false, not yes"))
  })

  test('is refused for tools that run no function of the program', async () => {
    const log = captureLog()
    const definition = { description: 'Lists.', parameters: NONE, shared: true }
    const registry = [
      { ...definition, name: 'asks_http', implementation: { type: 'http', url: 'http://127.0.0.1:1/' } },
      { ...definition, name: 'mocked', implementation: { type: 'mock', mock_response: 1 } },
      {
        ...definition,
        name: 'piped',
        implementation: { type: 'pipeline', steps: [{ id: 'one', tool: 'mocked', params: {} }] },
      },
    ]
    const manager = new ToolManager({ tools: { enabled: true, registry } }, { log })
    onTestFinished(() => manager.close())
    const { skipped } = await manager.loadTools()
    const problem = 'shared is only for tools whose function is in code: remove it'
    expect(skipped.map((one) => [one.name, one.problem])).toEqual(registry.map(({ name }) => [name, problem]))
    manager.getRegistry().register(registry[1] as never)
    expect(manager.getRegistry().brokenReason('mocked')).toBe(problem)
  })
})

describe('an idempotency key of the program', () => {
  test('holds though no user is stated, within its tenant', async () => {
    let runs = 0
    const yard = await yardWith([orders(() => ++runs, {})])
    const ask = (tenant?: string) => answer(yard.call('orders', {}, { idempotencyKey: 'k', ...(tenant && { tenant }) }))
    expect([await ask(), await ask(), await ask('acme'), await ask('acme')]).toEqual([1, 1, 2, 2])
  })

  test('holds for a tool that reads, too, though its results are not shared', async () => {
    let runs = 0
    const yard = await yardWith([orders(() => ++runs)])
    const ask = (idempotencyKey?: string) => answer(yard.call('orders', {}, { idempotencyKey }))
    expect([await ask('k'), await ask(), await ask('k')]).toEqual([1, 2, 1])
  })

  test('is made by adapters for one run only', async () => {
    let runs = 0
    const yard = await yardWith([orders(() => ++runs, { effect: 'write' })])
    const ask = async (options?: object) =>
      toAiSdk(yard as never, ...((options ? [options] : []) as [])).orders?.execute({}, { toolCallId: 'call_0' })
    expect([await ask(), await ask()]).toEqual([1, 2])
    const inRun = { runId: 'run-1' }
    expect([await ask(inRun), await ask(inRun), await ask({ runId: 'run-2' })]).toEqual([3, 3, 4])
  })
})

describe('what a process or a connection of several callers hands to a program', () => {
  test('runs in the session of its call: calls of code mode', async () => {
    const name = orders(() => session.getStore() ?? 'nobody')
    const yard = await yardWith([name], { tools: { code_mode: { enabled: true } } })
    const run = async (user?: string) => {
      const { result } = (await yard.call('run_code', { code: 'return await tools.orders({})' }, { user })) as {
        result?: { result: unknown }
      }
      return result?.result
    }
    expect(await as('ada', () => run('ada'))).toBe('ada')
    expect(await as('bob', () => run('bob'))).toBe('bob')
    expect(await run()).toBe('nobody')
  })

  test('runs in the session of its call: progress and log lines of isolated handlers', async () => {
    const log = captureLog()
    const said: unknown[] = []
    const debug = (...line: unknown[]) => void said.push([session.getStore(), line.at(-1)])
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-session-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const module = join(folder, 'handler.mjs')
    await writeFile(module, "export const run = (_, { report, log }) => { report(1); log.debug({}, 'said') }")
    const slow = tool({
      ...{ name: 'slow', description: 'Reports.', input: NONE },
      execute: isolated(pathToFileURL(module), 'run'),
    })
    const yard = await createToolyard({ tools: [slow], log: { ...log, isLevelEnabled: () => true, debug } })
    onTestFinished(() => yard.close())
    for (const user of ['ada', 'bob']) {
      const report = (progress: unknown) => void said.push([session.getStore(), progress])
      await as(user, () => yard.executor.execute('slow', {}, { user, report }))
    }
    const ofHandler = said.filter((one) => /1|said/.test(JSON.stringify(one)))
    expect(ofHandler).toEqual([
      ['ada', 1],
      ['ada', 'said'],
      ['bob', 1],
      ['bob', 'said'],
    ])
  })

  test('runs in the session of its call: what listens for its end', async () => {
    const clock = new ManualClock()
    const registry = new ToolRegistry()
    const executor = new ToolExecutor(registry, { clock })
    const undone: unknown[] = []
    const booked = vi.fn()
    const book = tool({
      ...{ name: 'book', description: 'Books.', input: NONE },
      execute: (_input, { signal, user }) => {
        signal.addEventListener('abort', () => undone.push([user, session.getStore()]))
        booked()
        return new Promise(() => {})
      },
    })
    registry.register(book as never)
    const calls = ['ada', 'bob'].map((user) => as(user, () => executor.execute('book', {}, { user })))
    await vi.waitFor(() => expect(booked).toHaveBeenCalledTimes(2))
    // The calls begin to wait for their deadlines.
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(60_000)
    await Promise.all(calls)
    expect(undone.sort()).toEqual([
      ['ada', 'ada'],
      ['bob', 'bob'],
    ])
  })

  test('runs in the session of its run, whoever reads its events', async () => {
    const seen: unknown[] = []
    const look = orders(() => seen.push(session.getStore()), {})
    const yard = await createToolyard({
      tools: [look],
      models: { m: scripted({ calls: [{ name: 'orders', arguments: {} }] }, 'Done.') },
    })
    onTestFinished(() => yard.close())
    const run = as('ada', () => yard.stream({ model: 'm', prompt: 'Which orders?' }))
    await as('framework', () => run.answer)
    expect(seen).toEqual(['ada'])
  })

  test('runs in the session of its call: progress of whatever a kind listens to', async () => {
    const heard: (() => void)[] = []
    const registry = new ToolRegistry()
    const handler = (_: unknown, { report }: { report: (progress: unknown) => void }) => {
      heard.push(() => report(1))
      return new Promise((resolve) => heard.push(() => resolve(1)))
    }
    const listening = { effect: () => 'write' as const, bind: () => () => handler }
    const executor = new ToolExecutor(registry, { kinds: { listening } })
    const parameters = { type: 'object' }
    registry.register({ name: 'far', description: 'Reports.', parameters, implementation: { type: 'listening' } })
    const said: unknown[] = []
    const report = () => void said.push(session.getStore())
    const call = as('ada', () => executor.execute('far', {}, { report }))
    await vi.waitFor(() => expect(heard).toHaveLength(2))
    as('bob', () => {
      for (const one of heard) one()
    })
    expect(await call).toMatchObject({ success: true })
    expect(said).toEqual(['ada'])
  })
})
