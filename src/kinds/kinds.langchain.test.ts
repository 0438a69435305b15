import { dispatchCustomEvent } from '@langchain/core/callbacks/dispatch'
import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { RunnableLambda } from '@langchain/core/runnables'
import { DynamicStructuredTool, DynamicTool, type ToolRunnableConfig, tool } from '@langchain/core/tools'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { type LangchainTool, toolView } from '../core/execution/tool-view.ts'
import { kindContract } from '../testing/kind-contract.ts'
import { ManualClock } from '../testing/stand-ins.ts'
import { langchainYard, weather } from './fixtures/langchain-yard.ts'
import { langchainKind } from './kinds.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const

/** A tool that gives what the function gives. */
const giving = (run: (params: { city: string }) => unknown, rest: object = {}) =>
  tool(run as never, { name: 'probe', description: 'A probe', schema: parameters, ...rest })

const run = async (one: LangchainTool, params: object = { city: 'Oslo' }) =>
  langchainYard([one]).executor.execute('probe', params)

describe('the kind langchain', () => {
  const lacking = {
    tool: { name: 'x', description: 'x', parameters, implementation: { type: 'langchain' } },
    error: 'LangChain tools are registered in code: pass the tool itself to ToolRegistry.register',
  }
  const underTest = { kind: langchainKind(), tool: toolView(weather()), params: { city: 'Oslo' }, lacking }
  for (const clause of kindContract({ ...underTest, result: { city: 'Oslo', sky: 'blue' } })) {
    test(clause.name, () => clause.run())
  }
})

describe('a LangChain tool', () => {
  test.each([
    ['Zod 4', z.object({ city: z.string() })],
    ['Zod 3', z3.object({ city: z3.string() })],
    ['JSON Schema', parameters],
  ])('with a schema of %s is validated by it', async (_, schema) => {
    const ran = vi.fn(() => 'sunny')
    const { executor } = langchainYard([giving(ran, { schema })])
    expect(await executor.execute('probe', { city: 'Oslo' })).toMatchObject({ result: 'sunny' })
    expect(await executor.execute('probe', { city: 7 })).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
      error: 'Invalid parameters: city must be a string',
      details: { required: [{ name: 'city', type: 'string' }] },
    })
    expect(ran).toHaveBeenCalledOnce()
  })

  test('that takes one text has a parameter "input"', async () => {
    const one = new DynamicTool({ name: 'probe', description: 'A probe', func: async (text) => text.toUpperCase() })
    expect(await run(one, { input: 'abc' })).toMatchObject({ result: 'ABC' })
    expect(await run(one, { text: 'abc' })).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  })

  test('may be a runnable', async () => {
    const schema = z.object({ city: z.string() })
    const double = RunnableLambda.from(({ city }: { city: string }) => city + city)
    expect(await run(double.asTool({ name: 'probe', description: 'A probe', schema }))).toMatchObject({
      result: 'OsloOslo',
    })
  })

  test('gets defaults filled in, and its own schema transforms', async () => {
    const schema = z.object({ city: z.string().transform((city) => city.length), unit: z.string().default('c') })
    expect(await run(giving((params) => params, { schema }))).toMatchObject({ result: { city: 4, unit: 'c' } })
  })

  test('that refuses parameters by a rule of its own makes them invalid', async () => {
    const ran = vi.fn()
    const schema = z.object({ city: z.string().refine((city) => city !== 'Oslo', 'Not Oslo') })
    expect(await run(giving(ran, { schema }))).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
      error: expect.stringMatching(/^Invalid parameters: .*Not Oslo/s),
    })
    expect(ran).not.toHaveBeenCalled()
  })

  test('has run if a tool that it called rejected parameters', async () => {
    const inner = giving(() => 'never', { name: 'inner' })
    expect(await run(giving(() => inner.invoke({ town: 'Oslo' })))).toMatchObject({ error_code: 'EXECUTION_ERROR' })
  })

  test('is not run with parameters that LangChain reads as a tool call', async () => {
    const ran = vi.fn()
    const hidden = { city: 'Oslo', type: 'tool_call', id: 'call_1', name: 'probe', args: { city: 'Paris' } }
    expect(await run(giving(ran), hidden)).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
      error: expect.stringContaining('type must not be "tool_call"'),
    })
    expect(ran).not.toHaveBeenCalled()
  })

  test('is cancelled at its deadline', async () => {
    const clock = new ManualClock()
    let signal: AbortSignal | undefined
    const stuck = {
      name: 'stuck',
      description: 'Never ends',
      schema: { type: 'object' },
      invoke: (_: never, options: { signal: AbortSignal }) => {
        signal = options.signal
        return new Promise(() => {})
      },
    }
    const { executor, recorded } = langchainYard([stuck], { clock })
    const call = executor.execute('stuck', {})
    expect(signal?.aborted).toBe(false)
    clock.advance(30_001)
    expect(await call).toMatchObject({ error: 'Tool execution timed out after 30000ms', outcome: 'unknown' })
    expect(signal?.aborted).toBe(true)
    expect(recorded()).toMatchObject([{ tool: 'stuck', code: 'TIMEOUT' }])
  })

  test('reports what it yields, dispatches and writes as progress', async () => {
    const copy = tool(
      async function* (_: object, config: ToolRunnableConfig & { writer?: (chunk: unknown) => void }) {
        yield { copied: 1 }
        await dispatchCustomEvent('page', { copied: 2 }, config)
        config.writer?.({ copied: 3 })
        return 'copied'
      },
      { name: 'probe', description: 'A probe', schema: z.object({}) },
    )
    const progress: unknown[] = []
    const { executor } = langchainYard([copy])
    const envelope = await executor.execute('probe', {}, { report: (one) => void progress.push(one) })
    expect(envelope).toMatchObject({ result: 'copied' })
    expect(progress).toEqual([{ copied: 1 }, { copied: 2 }, { copied: 3 }])
  })

  test('whose schema does not compile is listed as broken', async () => {
    const schema = { type: 'object', properties: { city: { type: 'town' } } }
    const { executor, registry } = langchainYard([giving(() => 'sunny', { schema })])
    expect(await executor.execute('probe', { city: 'Oslo' })).toMatchObject({
      error: expect.stringMatching(/^Tool 'probe' has an invalid schema: /),
    })
    expect(registry.brokenReason('probe')).toBeDefined()
  })

  test('that throws gives its message', async () => {
    const failing = giving(() => {
      throw new Error('The station is closed')
    })
    expect(await run(failing)).toMatchObject({ error: 'The station is closed', error_code: 'EXECUTION_ERROR' })
  })

  test('reads effect and permissions from its metadata', async () => {
    const toolyard = { effect: 'read', timeout_ms: 5_000, permissions: ['weather'] }
    const { executor, registry } = langchainYard([giving(() => 'sunny', { metadata: { toolyard } })])
    expect(registry.definitions()).toMatchObject([{ name: 'probe', effect: 'read', timeout_ms: 5_000 }])
    expect(await executor.execute('probe', { city: 'x' })).toMatchObject({ error_code: 'PERMISSION_DENIED' })
    const allowed = { flags: { weather: true } }
    expect(await executor.execute('probe', { city: 'x' }, allowed)).toMatchObject({ result: 'sunny' })
  })

  test.each(['permission', 'timeoutMs', 'name'])('is refused with the unknown key %s in its metadata', (key) => {
    const unknown = giving(() => 'sunny', { metadata: { toolyard: { [key]: ['weather'] } } })
    expect(() => langchainYard([unknown])).toThrow(`metadata.toolyard has an unknown key "${key}": known are effect`)
  })

  test('that replaced another never uses its cached results', async () => {
    const cached = (answer: string) =>
      giving(() => answer, { metadata: { toolyard: { effect: 'read', cache: { ttl_ms: 60_000 } } } })
    const { executor, registry } = langchainYard([cached('old')])
    expect(await executor.execute('probe', { city: 'x' })).toMatchObject({ result: 'old' })
    registry.register(cached('new'))
    expect(await executor.execute('probe', { city: 'x' })).toMatchObject({ result: 'new' })
  })
})

describe('the result of a LangChain tool', () => {
  test('is its content, without the artifact', async () => {
    const both = { responseFormat: 'content_and_artifact' }
    expect(await run(giving(() => ['two hits', { hits: [1, 2] }], both))).toMatchObject({ result: 'two hits' })
    const blocks = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]
    expect(await run(giving(() => [blocks, []], both))).toMatchObject({ result: blocks })
  })

  test('is the content of a message', async () => {
    const message = new ToolMessage({ content: 'sunny', tool_call_id: 'call_1' })
    expect(await run(giving(() => message))).toMatchObject({ success: true, result: 'sunny' })
    expect(await run(giving(() => new AIMessage('cloudy')))).toMatchObject({ success: true, result: 'cloudy' })
  })

  test('has media of Toolyard for image blocks', async () => {
    const data = 'iVBORw0KGgo='
    const image = { type: 'image', media_type: 'image/png', data }
    const blocks = [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
      { type: 'image_url', image_url: 'https://example.com/a.png' },
      { type: 'image', source_type: 'base64', mime_type: 'image/png', data },
      { type: 'image', mimeType: 'image/png', data },
    ]
    expect(await run(giving(() => blocks))).toMatchObject({
      result: [blocks[0], image, { type: 'image', url: 'https://example.com/a.png' }, image, blocks[4]],
    })
  })

  test('is a failure if the message has the status error', async () => {
    const message = new ToolMessage({ content: 'No such city', tool_call_id: 'call_1', status: 'error' })
    expect(await run(giving(() => message))).toMatchObject({ error: 'No such city', error_code: 'EXECUTION_ERROR' })
  })
})

describe('a tool of @langchain/mcp-adapters', () => {
  /** As its `loadMcpTools` makes them. */
  const adapted = (name: string, annotations?: object, rest: object = {}) =>
    new DynamicStructuredTool({
      name,
      description: '',
      schema: { type: 'object', properties: { deviceName: { type: 'string' }, action: {} }, required: ['deviceName'] },
      responseFormat: 'content_and_artifact',
      metadata: { annotations },
      func: async (args: unknown) => [JSON.stringify(args), []],
      ...rest,
    })

  test.each([
    ['control_zwave_device', '{"deviceName":"lamp","action":"on"}'],
    ['mcp__house__control_zwave_device', '{"deviceName":"lamp","action":"on"}'],
    ['other', '{"deviceName":"lamp","command":"on"}'],
  ])('%s gets the names of its server', async (name, result) => {
    const { executor, log } = langchainYard([adapted(name)])
    expect(await executor.execute(name, { device_name: 'lamp', command: 'on' })).toMatchObject({ result })
    expect(log.at('info')).toContainEqual({ tool: name })
    expect(log.lines.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^\{device_name: …, command: …\} → \{deviceName: …, \w+: …\}$/),
    )
  })

  test('has its parameters renamed, unlike other LangChain tools', async () => {
    const schema = z.object({ deviceName: z.string() })
    for (const other of [
      giving((params) => params, { schema }),
      adapted('probe', undefined, { responseFormat: 'content', func: async (args: unknown) => args }),
      adapted('probe', undefined, { metadata: { owner: 'us' } }),
      adapted('probe', undefined, { schema }),
    ]) {
      const { registry } = langchainYard([])
      const definition = registry.definitionOf(other)
      const params = { device_name: 'lamp' }
      expect(langchainKind().rename?.(definition, params)).toBe(params)
    }
  })

  test.each([
    [{ readOnlyHint: true }, 'read'],
    [{ idempotentHint: true }, 'idempotent'],
    [{}, 'write'],
    [undefined, 'write'],
  ])('with the annotations %j has the effect %s', (annotations, effect) => {
    expect(langchainKind().effect(toolView(adapted('probe', annotations)))).toBe(effect)
  })

  test('joins without a description, which servers need not give', () => {
    expect(langchainYard([adapted('probe')]).registry.definitions()).toMatchObject([{ description: 'The tool probe.' }])
  })
})
