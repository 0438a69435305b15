import { tool } from '@langchain/core/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { captureLog } from '../../testing/stand-ins.ts'
import { toQwenForm } from './ollama.ts'

const parameters = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }

describe('Qwen form', () => {
  test('S14 is exactly type, function, name (lc_name first), description and parameters', () => {
    const source = {
      name: 'get_weather',
      lc_name: 'weather_now',
      description: 'The weather',
      schema: parameters,
      lc_kwargs: { secret: 1 },
      lc_serializable: true,
      implementation: { type: 'mock', mock_response: 1 },
      invoke: () => 'sunny',
    }
    expect(toQwenForm([source])).toStrictEqual([
      { type: 'function', function: { name: 'weather_now', description: 'The weather', parameters } },
    ])
  })

  test('takes the parameters of a registered tool as they are', () => {
    const [converted] = toQwenForm([{ name: 'get_weather', description: 'The weather', parameters }])
    expect(converted?.function).toStrictEqual({ name: 'get_weather', description: 'The weather', parameters })
  })

  test.each([
    ['Zod 4', z.object({ location: z.string() })],
    ['Zod 3', z3.object({ location: z3.string() })],
    ['Zod 4 with a transform behind it', z.object({ location: z.string() }).transform(({ location }) => location)],
  ])('a schema of %s becomes JSON Schema', (_name, schema) => {
    const [converted] = toQwenForm([{ name: 'get_weather', description: 'The weather', schema }])
    expect(converted?.function.parameters).toMatchObject(parameters)
    expect(converted?.function.parameters).not.toHaveProperty('$schema')
  })

  test('a Zod 4 schema that cannot describe itself goes through the converter of LangChain', () => {
    const schema = z.object({ location: z.string() })
    const older = { _zod: schema._zod, type: schema.type, def: schema.def, shape: schema.shape }
    const [converted] = toQwenForm([{ name: 'get_weather', description: 'The weather', schema: older }])
    expect(converted?.function.parameters).toMatchObject(parameters)
  })

  test('a real LangChain tool is converted and stays as it was', async () => {
    const weather = tool(({ location }) => `sunny in ${location}`, {
      name: 'get_weather',
      description: 'The weather',
      schema: z.object({ location: z.string() }),
    })
    const [converted] = toQwenForm([weather])
    expect(Object.keys(converted?.function ?? {})).toEqual(['name', 'description', 'parameters'])
    expect(converted?.function.name).toBe('get_weather')
    expect(await weather.invoke({ location: 'Paris' })).toBe('sunny in Paris')
  })

  test('changes nothing of what it is given', () => {
    const frozen = Object.freeze({ name: 'a', description: 'b', parameters: Object.freeze({ properties: {} }) })
    expect(toQwenForm(Object.freeze([frozen]))[0]?.function.parameters).toEqual({ type: 'object', properties: {} })
    expect(frozen.parameters).toEqual({ properties: {} })
  })

  test('nothing gives nothing', () => {
    const log = captureLog()
    expect(toQwenForm([], log)).toEqual([])
    expect(toQwenForm(undefined, log)).toEqual([])
    expect(log.lines).toEqual([])
  })

  test('says at debug level how many tools it converted', () => {
    const log = captureLog()
    toQwenForm([{ name: 'a' }, { name: 'b' }], log)
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['debug', '🔧 Converted 2 tools from LangChain to Qwen format'],
    ])
  })

  test.each([
    ['a schema of text', z.string()],
    ['a schema that JSON cannot express', z.object({ at: z.date() })],
    ['no schema at all', 'text'],
  ])('a tool with %s is left out with a warning that names it', (_name, schema) => {
    const log = captureLog()
    expect(toQwenForm([{ name: 'odd', schema }], log)).toEqual([])
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', "Tool 'odd' is not offered: its parameters are not a JSON Schema of an object"],
    ])
  })
})
