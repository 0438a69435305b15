import { ToolRegistry } from 'toolyard'
import { captureLog } from 'toolyard/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { toQwenForm } from '../src/models/qwen-form.ts'
import { mock, yard } from './yard.ts'

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
  test('toProviderFormat: openai and ollama [{type: "function", function: {name, description, parameters}}]', () => {
    for (const provider of ['openai', 'ollama']) {
      expect(registry().toProviderFormat(provider)).toEqual([
        { type: 'function', function: { name, description, parameters } },
        { type: 'function', function: expect.objectContaining({ name: 'get_time' }) },
      ])
    }
  })

  test('toProviderFormat(provider, allowed?): gemini [{name, description, parameters}]', () => {
    expect(registry().toProviderFormat('gemini', ['get_weather'])).toEqual([{ name, description, parameters }])
    expect(registry().toProviderFormat('gemini', [])).toEqual([])
  })

  test('toProviderFormat(provider, allowed?): anthropic [{name, description, input_schema}]', () => {
    expect(registry().toProviderFormat('anthropic', ['get_weather'])).toEqual([
      { name, description, input_schema: parameters },
    ])
  })

  test('toProviderFormat(provider, allowed?): mcp [{name, description, inputSchema}]', () => {
    expect(registry().toProviderFormat('mcp', ['get_weather'])).toEqual([
      { name, description, inputSchema: parameters },
    ])
  })

  test('toProviderFormat(provider, allowed?): langchain tools with invoke', async () => {
    const { registry: tools, records } = await yard({
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

  test('unknown: Unknown provider: <name> and the known ones', () => {
    expect(() => registry().toProviderFormat('cohere')).toThrow(/^Unknown provider: cohere .*openai.*langchain/)
  })

  test('Qwen form: exactly {type: "function", function: {name, description, parameters}}', () => {
    expect(toQwenForm([weather])).toEqual([{ type: 'function', function: { name, description, parameters } }])
  })

  test('Qwen form, for Ollama: name from lc_name else name', () => {
    const { lc_name: _, ...plain } = langchain()
    const names = toQwenForm([langchain(), plain]).map((tool) => tool.function.name)
    expect(names).toEqual(['get_weather', 'Weather'])
  })

  test('Qwen form, for Ollama: parameters a JSON Schema with type: "object"', () => {
    const [tool] = toQwenForm([langchain()])
    expect(tool?.function.parameters).toMatchObject(parameters)
  })

  test('Qwen form, for Ollama: invoke, lc_name, lc_kwargs gone', () => {
    const [tool] = toQwenForm([langchain()])
    expect(Object.keys(tool ?? {})).toEqual(['type', 'function'])
    expect(Object.keys(tool?.function ?? {})).toEqual(['name', 'description', 'parameters'])
  })

  test('Qwen form, for Ollama: a pure function', () => {
    const tool = Object.freeze(langchain())
    expect(toQwenForm([tool])).toEqual(toQwenForm([tool]))
    expect(Object.keys(tool)).toEqual(Object.keys(langchain()))
  })

  test('Qwen form, for Ollama: empty or undefined gives []', () => {
    expect([toQwenForm([]), toQwenForm(undefined)]).toEqual([[], []])
  })

  test('Qwen form, for Ollama: a debug line 🔧 Converted N tools from LangChain to Qwen format', () => {
    const log = captureLog()
    toQwenForm([langchain(), weather], log)
    expect(log.lines).toMatchObject([{ level: 'debug', message: '🔧 Converted 2 tools from LangChain to Qwen format' }])
  })

  test('conversion happens only for the provider that needs it', async () => {
    const zod = z.object({ location: z.string() })
    const tools = registry()
    expect(tools.toProviderFormat('openai', ['get_weather'])).toMatchObject([{ function: { parameters } }])
    expect((tools.get('get_weather') as typeof weather).parameters).toBe(parameters)
    expect(toQwenForm([langchain({ schema: zod })])).toHaveLength(1)
  })

  test('what is stored stays as it was registered', () => {
    const tools = registry()
    const before = JSON.stringify(tools.list())
    for (const provider of ['openai', 'ollama', 'gemini', 'anthropic', 'mcp']) tools.toProviderFormat(provider)
    toQwenForm(tools.list())
    expect(tools.get('get_weather')).toBe(weather)
    expect(JSON.stringify(tools.list())).toBe(before)
  })
})
