import { ToolRegistry } from 'toolyard'
import { captureLog } from 'toolyard/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { toQwenForm } from '../src/models/providers/ollama.ts'
import { mock, withTools } from './fixtures/tool-manager.ts'

const parameters = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
const weather = { ...mock('get_weather'), description: 'The weather', parameters }
const time = mock('get_time')

function registry() {
  const tools = new ToolRegistry()
  for (const tool of [weather, time]) tools.register(tool)
  return tools
}
const { name, description } = weather

/** A tool as LangChain makes it. */
const langchain = (more: object = {}) => ({
  name: 'Weather',
  lc_name: 'get_weather',
  description: 'The weather',
  schema: z.object({ location: z.string() }),
  lc_kwargs: { secret: 1 },
  invoke: async () => 'sunny',
  ...more,
})

describe('Tool formats', () => {
  test('[3.2-1] formats tools for openai and ollama', () => {
    for (const provider of ['openai', 'ollama']) {
      expect(registry().toProviderFormat(provider)).toEqual([
        { type: 'function', function: { name, description, parameters } },
        { type: 'function', function: expect.objectContaining({ name: 'get_time' }) },
      ])
    }
  })

  test('[3.2-2] formats tools for gemini', () => {
    expect(registry().toProviderFormat('gemini', ['get_weather'])).toEqual([{ name, description, parameters }])
    expect(registry().toProviderFormat('gemini', [])).toEqual([])
  })

  test('[3.2-3] formats tools for anthropic', () => {
    expect(registry().toProviderFormat('anthropic', ['get_weather'])).toEqual([
      { name, description, input_schema: parameters },
    ])
  })

  test('[3.2-4] formats tools for mcp', () => {
    expect(registry().toProviderFormat('mcp', ['get_weather'])).toEqual([
      { name, description, inputSchema: parameters },
    ])
  })

  test('[3.2-5] formats tools for langchain', async () => {
    const { registry: tools, records } = await withTools({
      get_weather: { run: async ({ location }) => ({ location, sky: 'blue' }), parameters },
    })
    const [tool] = tools.toProviderFormat('langchain', ['get_weather']) as [
      { name: string; schema: object; invoke(args: object): Promise<unknown> },
    ]
    expect(tool).toMatchObject({ name: 'get_weather', schema: parameters })
    expect(await tool.invoke({ location: 'Paris' })).toBe('{"location":"Paris","sky":"blue"}')
    await expect(tool.invoke({})).rejects.toMatchObject({ code: 'INVALID_PARAMETERS' })
    expect(records()).toHaveLength(2)
  })

  test('[3.2-6] names the known providers when the provider is unknown', () => {
    expect(() => registry().toProviderFormat('cohere')).toThrow(/^Unknown provider: cohere .*openai.*langchain/)
  })

  test('[3.2-7] has exactly the fields of the Qwen form', () => {
    expect(toQwenForm([weather])).toEqual([{ type: 'function', function: { name, description, parameters } }])
  })

  test('[3.2-8] takes the name of the Qwen form from lc_name, else from name', () => {
    const { lc_name: _, ...plain } = langchain()
    const names = toQwenForm([langchain(), plain]).map((tool) => tool.function.name)
    expect(names).toEqual(['get_weather', 'Weather'])
  })

  test('[3.2-9] converts parameters of the Qwen form to an object JSON Schema', () => {
    const [tool] = toQwenForm([langchain()])
    expect(tool?.function.parameters).toMatchObject(parameters)
  })

  test('[3.2-10] drops invoke, lc_name and lc_kwargs from the Qwen form', () => {
    const [tool] = toQwenForm([langchain()])
    expect(Object.keys(tool ?? {})).toEqual(['type', 'function'])
    expect(Object.keys(tool?.function ?? {})).toEqual(['name', 'description', 'parameters'])
  })

  test('[3.2-11] converts to the Qwen form without changing the tool', () => {
    const tool = Object.freeze(langchain())
    expect(toQwenForm([tool])).toEqual(toQwenForm([tool]))
    expect(Object.keys(tool)).toEqual(Object.keys(langchain()))
  })

  test('[3.2-12] converts an empty or undefined list to []', () => {
    expect([toQwenForm([]), toQwenForm(undefined)]).toEqual([[], []])
  })

  test('[3.2-13] logs how many tools it converted to the Qwen form', () => {
    const log = captureLog()
    toQwenForm([langchain(), weather], log)
    expect(log.lines).toMatchObject([{ level: 'debug', message: '🔧 Converted 2 tools from LangChain to Qwen format' }])
  })

  test('[3.2-14] converts only for the provider that needs it', async () => {
    const zod = z.object({ location: z.string() })
    const tools = registry()
    expect(tools.toProviderFormat('openai', ['get_weather'])).toMatchObject([{ function: { parameters } }])
    expect((tools.get('get_weather') as typeof weather).parameters).toBe(parameters)
    expect(toQwenForm([langchain({ schema: zod })])).toHaveLength(1)
  })

  test('[3.2-15] leaves stored tools as they were registered', () => {
    const tools = registry()
    const before = JSON.stringify(tools.list())
    for (const provider of ['openai', 'ollama', 'gemini', 'anthropic', 'mcp']) tools.toProviderFormat(provider)
    toQwenForm(tools.list())
    expect(tools.get('get_weather')).toBe(weather)
    expect(JSON.stringify(tools.list())).toBe(before)
  })
})
