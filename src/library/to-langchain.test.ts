import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ToolMessage } from '@langchain/core/messages'
import { isLangChainTool, type StructuredTool, tool } from '@langchain/core/tools'
import { convertToOpenAITool } from '@langchain/core/utils/function_calling'
import { describe, expect, test } from 'vitest'
import { z as z3 } from 'zod/v3'
import type { ToolDefinition } from '../core/tool.ts'
import { langchainYard, weather } from '../kinds/fixtures/langchain-yard.ts'
import { ManualClock } from '../testing/stand-ins.ts'
import type { AdapterOptions } from './adapter.ts'
import { adapterYard, PNG } from './fixtures/adapter-yard.ts'
import { toLangChain } from './to-langchain.ts'
import { createToolyard } from './toolyard.ts'

const mock = (name: string, mock_response: unknown, rest: object = {}): ToolDefinition => ({
  name,
  description: `The tool ${name}`,
  parameters: { type: 'object' },
  implementation: { type: 'mock', mock_response },
  ...rest,
})

const call = (name: string, args: object) => ({ type: 'tool_call' as const, id: 'call_1', name, args })

async function handedOut(name: string, ...tools: Parameters<typeof langchainYard>[0]) {
  const yard = langchainYard(tools)
  const [one] = await toLangChain<StructuredTool>(yard.executor, [name])
  if (one === undefined) throw new Error(`${name} was not handed out`)
  return { ...yard, one }
}

describe('toLangChain', () => {
  test('hands out all tools, whatever their origin, as tools of LangChain', async () => {
    const { executor } = langchainYard([mock('now', 'noon'), weather()])
    const tools = await toLangChain<StructuredTool>(executor)
    expect(tools.map(({ name }) => name)).toEqual(['now', 'get_weather'])
    for (const one of tools) expect(isLangChainTool(one)).toBe(true)
    expect(tools.map((one) => convertToOpenAITool(one))).toMatchObject([
      { type: 'function', function: { name: 'now', description: 'The tool now', parameters: { type: 'object' } } },
      { function: { parameters: { properties: { city: { type: 'string' } }, required: ['city'] } } },
    ])
  })

  test.each([undefined, Promise.resolve(), []])('says what to pass instead of %j', async (wrong) => {
    await expect(toLangChain(wrong as never)).rejects.toThrow('Pass the instance of Toolyard: await createToolyard()')
  })

  test('takes a manager as well', async () => {
    const { executor } = langchainYard([mock('now', 'noon')])
    expect(await toLangChain({ getExecutor: () => executor })).toHaveLength(1)
  })

  test('returns only tools that are allowed, permitted and not broken', async () => {
    const broken = { parameters: { type: 'object', properties: { a: { $ref: 'http://x.test/y' } } } }
    const { executor } = langchainYard([
      mock('now', 'noon'),
      mock('vault', 'gold', { permissions: ['vault'] }),
      mock('broken', 1, broken),
    ])
    const names = async (...rest: [(readonly string[])?, object?]) =>
      (await toLangChain<StructuredTool>(executor, ...rest)).map(({ name }) => name)
    expect(await names()).toEqual(['now'])
    expect(await names(undefined, { flags: { vault: true } })).toEqual(['now', 'vault'])
    expect(await names(['vault'], { flags: { vault: true } })).toEqual(['vault'])
    expect(await names(undefined, { visible: new Set(['vault']) })).toEqual([])
    expect(await names([])).toEqual([])
  })

  test('runs for the caller that they were handed out to', async () => {
    const { executor, recorded } = langchainYard([mock('vault', 'gold', { permissions: ['vault'] })])
    const context = { tenant: 'acme', flags: { vault: true } }
    const [vault] = await toLangChain<StructuredTool>(executor, undefined, context)
    expect(await vault?.invoke({})).toBe('gold')
    expect(recorded()).toMatchObject([{ tool: 'vault', tenant: 'acme' }])
  })

  test('gives a text as it is and anything else as JSON, and the envelope as artifact', async () => {
    const { one: text } = await handedOut('text', mock('text', 'two\nlines'))
    expect(await text.invoke({})).toBe('two\nlines')
    const { one: data } = await handedOut('data', mock('data', { a: ['1'] }))
    expect(await data.invoke(call('data', {}))).toMatchObject({
      content: '{"a":["1"]}',
      status: 'success',
      tool_call_id: 'call_1',
      artifact: { success: true, result: { a: ['1'] } },
    })
  })

  test('returns the error message to the model', async () => {
    const { one, recorded } = await handedOut('get_weather', weather())
    const message = await one.invoke(call('get_weather', {}))
    expect(message).toBeInstanceOf(ToolMessage)
    expect(message).toMatchObject({
      content: "Invalid parameters: missing 'city'",
      status: 'error',
      name: 'get_weather',
      tool_call_id: 'call_1',
      artifact: { error_code: 'INVALID_PARAMETERS' },
    })
    expect(recorded()).toMatchObject([{ tool: 'get_weather', code: 'INVALID_PARAMETERS' }])
  })

  test('throws the error without a tool call id', async () => {
    const { one } = await handedOut('get_weather', weather())
    await expect(one.invoke({})).rejects.toMatchObject({
      name: 'ToolExecutionError',
      code: 'INVALID_PARAMETERS',
      message: "Invalid parameters: missing 'city'",
    })
  })

  test('leaves all checking to the executor, which fills in defaults first', async () => {
    const schema = {
      type: 'object',
      properties: { unit: { type: 'string', default: 'celsius' } },
      required: ['unit'],
    } as const
    const echo = tool((params) => params as object, { name: 'echo', description: 'Echo', schema })
    const { one } = await handedOut('echo', echo)
    expect(await one.invoke({})).toBe('{"unit":"celsius"}')
    expect(one.schema).toEqual(schema)
  })

  test("hands on LangChain's signal, and throws when it has aborted", async () => {
    const clock = new ManualClock()
    let seen: AbortSignal | undefined
    const stuck = {
      name: 'stuck',
      description: 'Never ends',
      schema: { type: 'object' },
      invoke(_: never, { signal }: { signal: AbortSignal }) {
        seen = signal
        return new Promise(() => {})
      },
    }
    const { executor } = langchainYard([stuck], { clock })
    const [one] = await toLangChain<StructuredTool>(executor)
    const controller = new AbortController()
    const running = one?.invoke(call('stuck', {}), { signal: controller.signal })
    await expect.poll(() => seen).toBeDefined()
    controller.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(seen?.aborted).toBe(true)
  })

  test('runs LangChain callbacks', async () => {
    const { one } = await handedOut('now', mock('now', 'noon'))
    const heard: unknown[] = []
    const handleToolStart = (_: unknown, input: string) => void heard.push(['start', input])
    const handleToolEnd = (output: unknown) => void heard.push(['end', output])
    await one.invoke({ zone: 'UTC' }, { callbacks: [{ handleToolStart, handleToolEnd }] })
    await expect
      .poll(() => heard)
      .toEqual([
        ['start', '{"zone":"UTC"}'],
        ['end', 'noon'],
      ])
  })
})

describe('toLangChain of an instance', () => {
  /** The tool of an instance that a call names. */
  async function invoke(name: string, args: object = {}, options: AdapterOptions = {}, config: object = {}) {
    const made = await adapterYard()
    const [one] = await toLangChain<StructuredTool>(made.yard, { ...options, tools: [name] })
    return { ...made, message: await one?.invoke(call(name, args), config) }
  }

  test('gives the tools that match the patterns and that the caller may use', async () => {
    const { yard } = await adapterYard()
    const names = async (options?: AdapterOptions) => (await toLangChain(yard, options)).map(({ name }) => name)
    expect(await names()).toEqual(['forecast', 'order_book', 'copy_pages', 'chart', 'stuck'])
    expect(await names({ tools: ['c*', 'vault'], flags: { vault: true } })).toEqual(['copy_pages', 'chart', 'vault'])
    await expect(names({ tools: ['forcast'] })).rejects.toThrow("There is no tool 'forcast'")
    const typed = await createToolyard<{ rows: number }>({ tools: [] })
    // @ts-expect-error: app is missing
    await toLangChain(typed)
  })

  test('calls for the tenant and the user, with app', async () => {
    const caller = { tenant: 'acme', user: 'ann', app: { rows: 1 }, flags: { vault: true } }
    const { message } = await invoke('vault', {}, caller)
    expect(message).toMatchObject({ content: '{"tenant":"acme","user":"ann","app":{"rows":1}}' })
  })

  test('shows images in results to the model', async () => {
    const { message } = await invoke('chart')
    expect(message.content).toEqual([
      { type: 'text', text: expect.stringMatching(/^\["The chart","\[image chart\.png, image\/png, \d+ bytes\]"\]$/) },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
    ])
    expect(message.artifact).toMatchObject({ success: true, result: ['The chart', { data: PNG }] })
  })

  test('reports progress to callbacks and to the writer of LangGraph', async () => {
    const heard: unknown[] = []
    const written: unknown[] = []
    const handleToolEvent = (chunk: unknown) => void heard.push(chunk)
    const writer = (chunk: unknown) => void written.push(chunk)
    const { message } = await invoke('copy_pages', {}, {}, { callbacks: [{ handleToolEvent }], writer })
    expect(message).toMatchObject({ content: 'copied' })
    await expect.poll(() => heard).toEqual([{ copied: 1 }, { copied: 2 }])
    expect(written).toEqual(heard)
  })

  test('cancels with the signal of the options beside the one of the call', async () => {
    const made = await adapterYard()
    const own = new AbortController()
    const [one] = await toLangChain<StructuredTool>(made.yard, { tools: ['stuck'], signal: own.signal })
    const running = one?.invoke(call('stuck', {}), { signal: new AbortController().signal })
    await expect.poll(() => made.signal()).toBeDefined()
    own.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  test('runs a repeated write once within a run', async () => {
    const { yard, ran } = await adapterYard()
    for (const runId of ['a', 'a', 'b']) {
      const [one] = await toLangChain<StructuredTool>(yard, { tools: ['order_book'], runId })
      const message = await one?.invoke(call('order_book', { title: 'Emma' }))
      expect(message).toMatchObject({ content: 'ordered Emma' })
    }
    expect(ran).toHaveLength(2)
  })
})

test('createToolyard takes LangChain tools as they are', async () => {
  const old = tool(({ city }: { city: string }) => city, {
    name: 'old',
    description: 'Zod 3',
    schema: z3.object({ city: z3.string() }) as never,
  })
  await using yard = await createToolyard({ tools: [weather(), old] })
  expect(await yard.call('get_weather', { city: 'Oslo' })).toMatchObject({ result: { city: 'Oslo', sky: 'blue' } })
  expect(await yard.call('old', { city: 7 })).toMatchObject({ error: 'Invalid parameters: city must be a string' })
  const [one] = await toLangChain<StructuredTool>(yard)
  expect(await one?.invoke({ city: 'Oslo' })).toBe('{"city":"Oslo","sky":"blue"}')
})

describe('LangChain', () => {
  /** Runs a program that notes in `found` what it has loaded of LangChain; gives what it printed. */
  async function run(program: string, missing = false): Promise<string> {
    const start = `
      import { registerHooks } from 'node:module'
      const found = new Set()
      registerHooks({
        resolve(name, context, next) {
          const hidden = ${missing} && name.startsWith('@langchain/')
          return next(name, hidden ? { ...context, parentURL: 'file:///nowhere/x.js' } : context)
        },
        load(url, context, next) {
          if (url.includes('/node_modules/@langchain/')) found.add(url)
          return next(url, context)
        },
      })
      const { ToolManager } = await import('toolyard')
      const { toLangChain } = await import(${JSON.stringify(new URL('./to-langchain.ts', import.meta.url).href)})
      const manager = new ToolManager({})`
    const args = ['--conditions=toolyard-source', '--input-type=module', '--eval', `${start}\n${program}`]
    return (await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })).stdout.trim()
  }

  test('is loaded by toLangChain, and by nothing before it', async () => {
    const printed = await run(`
      const schema = { type: 'object', properties: {} }
      manager.getRegistry().register({ name: 'a', description: 'A', schema, invoke: async () => 'ran' })
      manager.getRegistry().toProviderFormat('langchain')
      await manager.getExecutor().execute('a', {})
      const before = found.size
      await toLangChain(manager)
      console.log(before, found.size > before)
      await manager.close()`)
    expect(printed).toBe('0 true')
  })

  test('is named in the error if it is not installed', async () => {
    const printed = await run('console.log(await toLangChain(manager).catch((error) => error.message))', true)
    expect(printed).toBe('toLangChain needs the package @langchain/core: npm install @langchain/core')
  })
})
