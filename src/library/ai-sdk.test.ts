import {
  dynamicTool,
  generateText,
  isStepCount,
  type JSONSchema7,
  jsonSchema,
  streamText,
  type ToolSet,
  tool,
  zodSchema,
} from 'ai'
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import { z } from 'zod'
import { z as zod3 } from 'zod/v3'
import type { CallRecord } from '../core/records/recorder.ts'
import type { ToolResult } from '../core/tool-result.ts'
import { scripted } from '../testing/stand-ins.ts'
import { type AiSdkOptions, fromAiSdk, toAiSdk } from './ai-sdk.ts'
import { adapterYard, PNG } from './fixtures/adapter-yard.ts'
import { createToolyard } from './toolyard.ts'

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** A model that calls the tool, then answers. */
function caller(toolName: string, input: object = {}, toolCallId = 'call_1') {
  const call = { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) } as const
  const calls = { unified: 'tool-calls', raw: undefined } as const
  const stop = { unified: 'stop', raw: undefined } as const
  const end = { type: 'finish', usage } as const
  const text = [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'Done.' },
    { type: 'text-end', id: '1' },
  ] as const
  return new MockLanguageModelV4({
    doGenerate: [
      { content: [call], finishReason: calls, usage, warnings: [] },
      { content: [{ type: 'text', text: 'Done.' }], finishReason: stop, usage, warnings: [] },
    ],
    doStream: [
      { stream: convertArrayToReadableStream([call, { ...end, finishReason: calls }]) },
      { stream: convertArrayToReadableStream([...text, { ...end, finishReason: stop }]) },
    ],
  })
}

const stopWhen = isStepCount(2)

/** Runs one call of a tool; gives the steps, and what the model saw of the result. */
async function generate(tools: ToolSet, model: MockLanguageModelV4) {
  const { steps, text } = await generateText({ model, tools, prompt: 'Go', stopWhen })
  const last = model.doGenerateCalls[1]?.prompt.at(-1)
  const seen = last?.role === 'tool' && last.content[0]?.type === 'tool-result' ? last.content[0].output : undefined
  return { text, parts: steps[0]?.content, seen }
}

async function calledIn(name: string, input: object = {}, options: AiSdkOptions = {}) {
  const made = await adapterYard()
  return { ...made, ...(await generate(toAiSdk(made.yard, options), caller(name, input))) }
}

describe('toAiSdk', () => {
  test('gives tools for generateText, with their schemas as they are', async () => {
    const { yard, recorded } = await adapterYard()
    const model = caller('forecast', { city: 'Oslo' })
    const { text, seen, parts } = await generate(toAiSdk(yard), model)
    expect(text).toBe('Done.')
    expect(parts).toMatchObject([{}, { type: 'tool-result', output: { city: 'Oslo', days: 1, degrees: 22 } }])
    expect(seen).toEqual({ type: 'json', value: { city: 'Oslo', days: 1, degrees: 22 } })
    const offered = model.doGenerateCalls[0]?.tools?.find(({ name }) => name === 'forecast')
    expect(offered).toMatchObject({ description: 'The weather of a city.' })
    expect(offered).toHaveProperty('inputSchema', yard.tools[0]?.parameters)
    expect(recorded()).toMatchObject([{ tool: 'forecast' }])
  })

  test('gives the tools that match the patterns and that the caller may use', async () => {
    const { yard } = await adapterYard()
    expect(Object.keys(toAiSdk(yard))).toEqual(['forecast', 'order_book', 'copy_pages', 'chart', 'stuck'])
    expect(Object.keys(toAiSdk(yard, { tools: ['c*', 'vault'], flags: { vault: true } }))).toEqual([
      'copy_pages',
      'chart',
      'vault',
    ])
    expect(() => toAiSdk(yard, { tools: ['forcast'] })).toThrow("There is no tool 'forcast'")
    expect(() => toAiSdk(yard, { usr: 'ann' } as object)).toThrow('unknown option "usr". Did you mean "user"?')
  })

  test.each([undefined, Promise.resolve(), []])('says what to pass instead of %j', (wrong) => {
    expect(() => toAiSdk(wrong as never)).toThrow('Pass the instance of Toolyard: await createToolyard()')
  })

  test('calls for the tenant and the user, with app', async () => {
    const caller = { tenant: 'acme', user: 'ann', app: { rows: 1 }, flags: { vault: true } }
    const { seen } = await calledIn('vault', {}, caller)
    expect(seen).toEqual({ type: 'json', value: { tenant: 'acme', user: 'ann', app: { rows: 1 } } })
  })

  test('makes a failure a tool error whose message the model reads', async () => {
    const { parts, seen, text, recorded } = await calledIn('forecast', { town: 'Oslo' })
    expect(parts).toMatchObject([{}, { type: 'tool-error', error: { code: 'INVALID_PARAMETERS' } }])
    expect(seen).toEqual({
      type: 'error-text',
      value: expect.stringContaining("Invalid parameters: missing 'city'"),
    })
    expect(text).toBe('Done.')
    expect(recorded()).toMatchObject([{ tool: 'forecast', code: 'INVALID_PARAMETERS' }])
  })

  test('shows images in results to the model', async () => {
    const { seen } = await calledIn('chart')
    expect(seen).toEqual({
      type: 'content',
      value: [
        {
          type: 'text',
          text: expect.stringMatching(/^\["The chart","\[image chart\.png, image\/png, \d+ bytes\]"\]$/),
        },
        { type: 'file', mediaType: 'image/png', filename: 'chart.png', data: { type: 'data', data: PNG } },
      ],
    })
  })

  test('cancels the call with the abort signal of the run, or of the options', async () => {
    for (const own of [true, false]) {
      const { yard, signal, recorded } = await adapterYard()
      const controller = new AbortController()
      const tools = toAiSdk(yard, own ? { signal: controller.signal } : {})
      const abortSignal = own ? new AbortController().signal : controller.signal
      const running = generateText({ model: caller('stuck'), tools, prompt: 'Go', stopWhen, abortSignal })
      const ended = running.then(
        ({ steps }) => steps[0]?.content[1],
        (error) => error,
      )
      await vi.waitFor(() => expect(signal()).toBeDefined())
      controller.abort()
      await ended
      expect(signal()?.aborted).toBe(true)
      await vi.waitFor(() => expect(recorded()).toMatchObject([{ tool: 'stuck', code: 'CANCELLED' }]))
      if (own) {
        const unknown = expect.stringContaining('It is not known whether the call took effect')
        expect(await ended).toMatchObject({ type: 'tool-error', error: { message: unknown } })
      }
    }
  })

  test('streams progress as preliminary results if asked to', async () => {
    const { yard } = await adapterYard()
    const outputs = async (progress: boolean) => {
      const tools = toAiSdk(yard, { progress })
      const found: unknown[] = []
      for await (const part of streamText({ model: caller('copy_pages'), tools, prompt: 'Go', stopWhen }).stream) {
        if (part.type === 'tool-result') found.push([part.preliminary === true, part.output])
      }
      return found
    }
    expect(await outputs(false)).toEqual([[false, 'copied']])
    expect(await outputs(true)).toEqual([
      [true, { copied: 1 }],
      [true, { copied: 2 }],
      [true, 'copied'],
      [false, 'copied'],
    ])
  })

  test('makes a failure after progress a tool error too', async () => {
    const { parts } = await calledIn('forecast', {}, { progress: true })
    expect(parts).toMatchObject([{}, { type: 'tool-error', error: { code: 'INVALID_PARAMETERS' } }])
  })

  test('runs a repeated write once within a run, and only there', async () => {
    const { yard, ran } = await adapterYard()
    const order = async (options: AiSdkOptions, id?: string) =>
      (await generate(toAiSdk(yard, options), caller('order_book', { title: 'Emma' }, id))).seen
    for (const _ of [1, 2]) expect(await order({ runId: 'a' })).toEqual({ type: 'text', value: 'ordered Emma' })
    expect(ran).toHaveLength(1)
    await order({ runId: 'b' })
    await order({ runId: 'a' }, 'call_2')
    expect(ran).toHaveLength(3)
    await order({})
    await order({})
    expect(ran).toHaveLength(5)
  })

  test('requires app if a tool does', async () => {
    const { yard: any } = await adapterYard()
    expectTypeOf(toAiSdk(any)).toExtend<ToolSet>()
    const typed = await createToolyard<{ rows: number }>({ tools: [] })
    toAiSdk(typed, { app: { rows: 1 } })
    // @ts-expect-error: app is missing
    toAiSdk(typed)
    // @ts-expect-error: app is another type
    toAiSdk(typed, { app: { rows: 'one' } })
  })
})

const city = z.object({ city: z.string() })
const described = { description: 'The weather of a city.' }

const weather = tool({
  ...described,
  inputSchema: city,
  execute: async ({ city }) => ({ city, degrees: 22 }),
})

describe('fromAiSdk', () => {
  test('adds tools that are typed by name', async () => {
    await using yard = await createToolyard({
      tools: fromAiSdk({ weather, other: tool({ ...described, inputSchema: city, execute: () => 'text' }) }),
    })
    const envelope = await yard.call('weather', { city: 'Oslo' })
    expectTypeOf(envelope).toEqualTypeOf<ToolResult<{ city: string; degrees: number }>>()
    expect(envelope).toMatchObject({ success: true, result: { city: 'Oslo', degrees: 22 } })
    expectTypeOf(await yard.call('other', { city: 'Oslo' })).toEqualTypeOf<ToolResult<string>>()
    // @ts-expect-error: city is a number
    expect(await yard.call('weather', { city: 7 })).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
      error: 'Invalid parameters: city must be a string',
    })
    // @ts-expect-error: there is no such tool
    await yard.call('wether', { city: 'Oslo' })
    expect(yard.executor.effectOf('weather')).toBe('write')
  })

  test('takes the fields of a definition', async () => {
    const records: CallRecord[] = []
    const sinks = [{ write: (batch: { records: readonly CallRecord[] }) => void records.push(...batch.records) }]
    const tools = fromAiSdk(
      { weather },
      { weather: { effect: 'read', permissions: ['weather'], description: 'Rain?' } },
    )
    await using yard = await createToolyard({ tools, sinks })
    expect(yard.tools).toMatchObject([{ effect: 'read', permissions: ['weather'], description: 'Rain?' }])
    expect(await yard.call('weather', { city: 'Oslo' })).toMatchObject({ error_code: 'PERMISSION_DENIED' })
    yard.executor.flush()
    expect(records).toMatchObject([{ tool: 'weather', code: 'PERMISSION_DENIED' }])
    // @ts-expect-error: there is no such tool
    expect(() => fromAiSdk({ weather }, { wether: {} })).toThrow("There is no tool 'wether'")
  })

  const parameters: JSONSchema7 = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const notOslo = z.object({ city: z.string().refine((name) => name !== 'Oslo', 'Not Oslo') })

  test.each([
    ['Zod 4', notOslo],
    ['zodSchema()', zodSchema(notOslo)],
    [
      'Zod 3 in zodSchema()',
      zodSchema(zod3.object({ city: zod3.string().refine((one) => one !== 'Oslo', 'Not Oslo') })),
    ],
    ['a lazy schema', () => zodSchema(notOslo)],
    [
      'jsonSchema() that validates',
      jsonSchema<{ city: string }>(parameters, {
        validate: (value) =>
          (value as { city: string }).city === 'Oslo'
            ? { success: false, error: new Error('Not Oslo') }
            : { success: true, value: value as { city: string } },
      }),
    ],
  ])('validates %s', async (_, inputSchema) => {
    const execute = vi.fn(() => 'sunny')
    await using yard = await createToolyard({
      tools: fromAiSdk({ probe: dynamicTool({ ...described, inputSchema, execute }) }),
    })
    expect(await yard.call('probe', { city: 'Rome' })).toMatchObject({ result: 'sunny' })
    expect(await yard.call('probe', { city: 7 })).toMatchObject({ error: 'Invalid parameters: city must be a string' })
    expect(await yard.call('probe', { city: 'Oslo' })).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
      error: expect.stringContaining('Not Oslo'),
    })
    expect(execute).toHaveBeenCalledOnce()
  })

  test('validates jsonSchema(), and refuses a schema that it could not validate', async () => {
    const inputSchema = jsonSchema<{ city: string }>(parameters)
    await using yard = await createToolyard({
      tools: fromAiSdk({ probe: tool({ ...described, inputSchema, execute: ({ city }) => city }) }),
    })
    expect(await yard.call('probe', { city: 'Rome' })).toMatchObject({ result: 'Rome' })
    expect(await yard.call('probe', {} as never)).toMatchObject({ error: "Invalid parameters: missing 'city'" })
    for (const inputSchema of [zod3.object({}), jsonSchema(Promise.resolve(parameters)), undefined, 'x', () => ({})]) {
      expect(() => fromAiSdk({ probe: { ...described, inputSchema, execute: () => 1 } })).toThrow("Tool 'probe': input")
    }
  })

  test('passes what the AI SDK passes: an id, the signal and the context', async () => {
    const seen: unknown[] = []
    const probe = tool({
      ...described,
      inputSchema: z.object({}),
      contextSchema: z.object({ key: z.string() }),
      execute: (_, { toolCallId, abortSignal, messages, context }) =>
        void seen.push({ toolCallId, abortSignal, messages, context }),
    })
    await using yard = await createToolyard({ tools: fromAiSdk({ probe }) })
    await yard.call('probe', {}, { app: { key: 'k', other: 1 } })
    expect(seen).toEqual([
      { toolCallId: expect.any(String), abortSignal: expect.any(AbortSignal), messages: [], context: { key: 'k' } },
    ])
    expect(await yard.call('probe', {}, { app: { key: 1 } })).toMatchObject({
      error: expect.stringContaining("app doesn't match the contextSchema"),
    })
  })

  test('reports preliminary results as progress, and ends the generator when the call is cancelled', async () => {
    let ended = false
    const first = Promise.withResolvers<void>()
    const probe = tool({
      ...described,
      inputSchema: z.object({ forever: z.boolean() }),
      async *execute({ forever }) {
        try {
          yield { copied: 1 }
          if (forever) await first.promise
          yield { copied: 2 }
        } finally {
          ended = true
        }
      },
    })
    await using yard = await createToolyard({ tools: fromAiSdk({ probe }) })
    const progress: unknown[] = []
    const report = (one: unknown) => void progress.push(one)
    const envelope = await yard.call('probe', { forever: false }, { report })
    expectTypeOf(envelope).toEqualTypeOf<ToolResult<{ copied: number }>>()
    expect(envelope).toMatchObject({ result: { copied: 2 } })
    expect(progress).toEqual([{ copied: 1 }, { copied: 2 }])
    ended = false
    const controller = new AbortController()
    const call = yard.call('probe', { forever: true }, { signal: controller.signal, report: () => controller.abort() })
    expect(await call).toMatchObject({ error_code: 'CANCELLED', outcome: 'unknown' })
    first.resolve()
    await vi.waitFor(() => expect(ended).toBe(true))
  })

  test('makes a thrown error a failure', async () => {
    const execute = () => {
      throw new Error('The station is closed')
    }
    await using yard = await createToolyard({
      tools: fromAiSdk({ probe: { ...described, inputSchema: city, execute } }),
    })
    expect(await yard.call('probe', { city: 'Oslo' } as never)).toMatchObject({
      error: 'The station is closed',
      error_code: 'EXECUTION_ERROR',
    })
  })

  const shot = tool({
    ...described,
    inputSchema: z.object({ how: z.string() }),
    execute: ({ how }) => ({ how, bytes: PNG }),
    toModelOutput({ output: { how, bytes } }) {
      const file = {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'data', data: Buffer.from(bytes, 'base64') },
      } as const
      if (how === 'fails') return { type: 'error-text', value: 'No camera' }
      if (how === 'denied') return { type: 'execution-denied', reason: 'Not at night' }
      if (how === 'text') return { type: 'text', value: 'dark' }
      if (how === 'old')
        return { type: 'content', value: [{ type: 'image-data', mediaType: 'image/png', data: bytes }] }
      if (how === 'url') return { type: 'content', value: [{ type: 'image-url', url: 'https://example.com/a.png' }] }
      return { type: 'content', value: [{ type: 'text', text: 'A shot' }, file] }
    },
  })
  const image = { type: 'image', media_type: 'image/png', data: PNG }

  test('returns what toModelOutput returns if asked to, with its images', async () => {
    expect(() => fromAiSdk({ shot })).toThrow("Tool 'shot' of the AI SDK has toModelOutput")
    await using yard = await createToolyard({
      tools: fromAiSdk({ shot }, { shot: { modelOutput: true, effect: 'read' } }),
    })
    const result = async (how: string) => await yard.call('shot', { how })
    expectTypeOf(await result('')).toEqualTypeOf<ToolResult<unknown>>()
    expect(await result('')).toMatchObject({ result: ['A shot', image] })
    expect(await result('old')).toMatchObject({ result: [image] })
    expect(await result('url')).toMatchObject({ result: [{ type: 'image', url: 'https://example.com/a.png' }] })
    expect(await result('text')).toMatchObject({ result: 'dark' })
    expect(await result('fails')).toMatchObject({ error: 'No camera', error_code: 'EXECUTION_ERROR' })
    expect(await result('denied')).toMatchObject({ error: 'Not at night', error_code: 'PERMISSION_DENIED' })
    await using raw = await createToolyard({ tools: fromAiSdk({ shot }, { shot: { modelOutput: false } }) })
    const envelope = await raw.call('shot', { how: '' })
    expectTypeOf(envelope).toEqualTypeOf<ToolResult<{ how: string; bytes: string }>>()
    expect(envelope).toMatchObject({ result: { how: '', bytes: PNG } })
    // There and back.
    const { seen } = await generate(toAiSdk(yard), caller('shot', { how: '' }))
    expect(seen).toMatchObject({ type: 'content', value: [{}, { type: 'file', data: { type: 'data', data: PNG } }] })
  })

  test('refuses tools that it can not run as they are', () => {
    const inputSchema = city
    const execute = () => 1
    expect(() => fromAiSdk({ probe: { ...described, inputSchema } })).toThrow(
      "Tool 'probe' of the AI SDK has no execute",
    )
    expect(() => fromAiSdk({ probe: { inputSchema, execute } })).toThrow('needs a description')
  })

  test('makes needsApproval the approval of the tool, unless the fields have another rule', async () => {
    const ran = vi.fn()
    const probe = (needsApproval: boolean | (() => boolean)) =>
      tool({ ...described, inputSchema: city, execute: ran, needsApproval })
    const when = { properties: { city: { const: 'Oslo' } } }
    const tools = fromAiSdk(
      {
        always: probe(true),
        perhaps: probe(() => false),
        never: probe(false),
        ruled: probe(() => true),
        open: probe(true),
      },
      { ruled: { approval: { when } }, open: { approval: false } },
    )
    expect(tools.map(({ name, approval }) => [name, approval])).toEqual([
      ['always', true],
      ['perhaps', true],
      ['never', undefined],
      ['ruled', { when }],
      ['open', false],
    ])
  })

  test('serves the tools in a run', async () => {
    await using yard = await createToolyard({ tools: fromAiSdk({ weather }) })
    const model = scripted({ calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] }, 'It is 22 degrees.')
    expect(await yard.run({ model, prompt: 'How warm is it?' })).toMatchObject({
      content: 'It is 22 degrees.',
      tool_calls: [{ tool: 'weather', result: { success: true } }],
    })
  })
})
