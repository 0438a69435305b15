import { describe, expect, test } from 'vitest'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import type { JsonSchema, Params, ToolDefinition } from '../../core/tool.ts'
import { loadSuite } from '../load-suite.ts'
import { generateSuite, sampleParams } from './generate-suite.ts'
import type { FileCase, ObservedCall, SuiteCase } from './suite.ts'

const tool = (name: string, description: string, parameters: object): ToolDefinition => ({
  name,
  description,
  parameters: { type: 'object', ...parameters },
  implementation: { type: 'mock' },
})

const definitions = [
  tool('get_weather', 'Get the weather of a place. It is asked every hour.', {
    properties: { location: { type: 'string' }, units: { enum: ['celsius', 'fahrenheit'], default: 'celsius' } },
    required: ['location'],
  }),
  tool('get_forecast', 'Get the weather of the next days.', {
    properties: { location: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 3 } },
    required: ['location', 'days'],
  }),
  tool('find_orders', 'Find orders.', {
    properties: { filter: { type: 'object', examples: [{ $match: { status: 'open' } }] } },
    required: ['filter'],
  }),
  tool('now', 'Tell the time.', { properties: {} }),
]

const suite = generateSuite(definitions)
const named = (id: string) => suite.cases.find((one) => one.id === id) as FileCase

describe('a generated suite', () => {
  test('names the tool and its values, so that the right call is clear', () => {
    expect(named('get_weather/simple')).toEqual({
      id: 'get_weather/simple',
      query: 'Use get_weather: Get the weather of a place. Set location to "Paris" and units to "fahrenheit".',
      tools: ['get_weather'],
      expect: { calls: [{ tool: 'get_weather', params: { location: 'Paris', units: 'fahrenheit' } }] },
    })
  })

  test('offers similar tools without naming the right one', () => {
    const { query, tools } = named('get_forecast/distractor')
    expect(query).toBe('Get the weather of the next days. Set location to "Paris" and days to 3.')
    expect(tools).toEqual(['get_weather', 'get_forecast', 'find_orders', 'now'])
  })

  test('omits a required value, so that no call is right', () => {
    const { query, expect: expected } = named('get_forecast/missing_parameter')
    expect(query).toBe('Use get_forecast: Get the weather of the next days. Set days to 3.')
    expect(expected).toEqual({ forbidden: ['get_forecast'] })
    expect(named('now/missing_parameter')).toBeUndefined()
  })

  test('includes requests that need no tool', () => {
    expect(named('now/irrelevance')).toMatchObject({ tools: ['now'], expect: { no_call: true } })
  })

  test('escapes values that contain `$` keys', () => {
    const calls = [{ tool: 'find_orders', params: { filter: { $equals: { $match: { status: 'open' } } } } }]
    expect(named('find_orders/simple').expect).toEqual({ calls })
  })

  test('names the tool if another has the same purpose', () => {
    const twins = ['a', 'b'].map((name) => tool(name, 'Do it.', { properties: {} }))
    const { cases } = generateSuite(twins)
    expect(cases.find(({ id }) => id === 'b/distractor')?.query).toBe('Use b: Do it.')
  })

  test('is deterministic', () => {
    expect(JSON.stringify(generateSuite(structuredClone(definitions)))).toBe(JSON.stringify(suite))
  })

  test('skips tools with an invalid schema, and reports them', () => {
    const broken = tool('broken', 'Broken.', { properties: { a: { pattern: '(' } } })
    const { cases, remark } = generateSuite([broken, ...definitions])
    expect(cases.some(({ tools }) => tools?.includes('broken'))).toBe(false)
    expect(remark).toContain('1 of 5 tools have no cases')
  })

  test('reports tools without valid parameters', () => {
    const impossible = tool('impossible', 'Impossible.', {
      properties: { a: { type: 'string', enum: [1] } },
      required: ['a'],
    })
    const { cases, remark } = generateSuite([impossible])
    expect(cases.map(({ id }) => id)).toEqual(['impossible/irrelevance'])
    expect(remark).toBe('No valid parameters were found for impossible: write cases for them by hand.')
  })

  test('stays within the case limit of a file', () => {
    const many = Array.from({ length: 2_600 }, (_none, at) => tool(`tool_${at}`, 'Do it.', { properties: {} }))
    const { cases, remark } = generateSuite(many)
    expect(cases.length).toBeLessThanOrEqual(10_000)
    expect(remark).toContain('100 of 2600 tools have no cases')
  })
})

describe('a generated suite judges', () => {
  const outcomes = async (calls: (one: SuiteCase) => readonly ObservedCall[]) => {
    const { cases } = await loadSuite('generated', { definitions })
    const passed = cases.filter((one) => one.judge([{ calls: calls(one), answer: '' }]).passed).map(({ id }) => id)
    return { passed, failed: cases.map(({ id }) => id).filter((id) => !passed.includes(id)) }
  }

  test('a perfect model as passing every case', async () => {
    const { failed } = await outcomes(({ id }) =>
      (named(id).expect.calls ?? []).map(({ tool: name, params = {} }) => ({ tool: name, params: plain(params) })),
    )
    expect(failed).toEqual([])
  })

  test('a model that does nothing as failing exactly the cases that expect calls', async () => {
    const { passed, failed } = await outcomes(() => [])
    expect(failed.every((id) => /\/(?:simple|distractor)$/.test(id))).toBe(true)
    expect(passed.every((id) => /\/(?:missing_parameter|irrelevance)$/.test(id))).toBe(true)
  })

  test('a model that calls everything as failing all but calls without parameters', async () => {
    const { passed } = await outcomes(({ tools }) => tools.map(({ name }) => ({ tool: name, params: {} })))
    expect(passed).toEqual(['now/simple'])
  })
})

const plain = (params: Params): Params =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, (value as { $equals?: unknown })?.$equals ?? value]),
  )

describe('sampled parameters', () => {
  const sample = (schema: JsonSchema) => {
    const params = sampleParams({ type: 'object', ...schema })?.params
    expect(compileSchema({ type: 'object', ...schema }).check?.(params)).toBe(true)
    return params
  }
  const one = (property: object) => sample({ properties: { a: property }, required: ['a'] })?.a

  test.each<[string, object, unknown]>([
    ['a constant', { const: 7 }, 7],
    ['an example', { type: 'string', examples: ['Rome', 'Oslo'] }, 'Rome'],
    ['a listed value other than the default', { enum: ['a', 'b'], default: 'a' }, 'b'],
    ['a default', { type: 'integer', default: 30 }, 30],
    ['a boolean other than the default', { type: 'boolean', default: true }, false],
    ['a minimum', { type: 'integer', minimum: 100 }, 100],
    ['an exclusive minimum', { type: 'integer', exclusiveMinimum: 100 }, 101],
    ['a maximum', { type: 'number', maximum: 0.5 }, 0.5],
    ['an exclusive maximum', { type: 'number', minimum: 0, exclusiveMaximum: 1 }, 0.9],
    ['a multiple', { type: 'integer', multipleOf: 15 }, 15],
    ['a date', { type: 'string', format: 'date' }, '2026-03-14'],
    ['a short text', { type: 'string', maxLength: 3 }, 'exa'],
    ['a long text', { type: 'string', minLength: 12 }, 'example axxx'],
    ['a list', { type: 'array', items: { type: 'integer' }, minItems: 3, uniqueItems: true }, [5, 6, 7]],
    ['a list of fixed places', { type: 'array', prefixItems: [{ const: 1 }, { type: 'boolean' }] }, [1, true]],
    ['an empty list', { type: 'array', maxItems: 0 }, []],
    ['a map', { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 2 }, { key: 5, key2: 6 }],
    ['no null if there is another type', { type: ['null', 'string'], format: 'email' }, 'anna@example.com'],
    ['the first form', { anyOf: [{ type: 'null' }, { const: 'x' }, { const: 'y' }] }, 'x'],
    ['all of several', { allOf: [{ type: 'integer' }, { minimum: 50 }] }, 50],
    ['anything', {}, 'example a'],
    [
      'nested objects',
      {
        type: 'object',
        properties: { b: { type: 'object', properties: { c: { const: 1 } }, required: ['c'] } },
        required: ['b'],
      },
      { b: { c: 1 } },
    ],
  ])('%s', (_what, property, value) => {
    expect(one(property)).toEqual(value)
  })

  test('follow references, and stop at cycles', () => {
    const node = {
      type: 'object',
      properties: { name: { type: 'string' }, next: { $ref: '#/$defs/node' } },
      required: ['name'],
    }
    expect(sample({ $defs: { node }, properties: { a: { $ref: '#/$defs/node' } }, required: ['a'] })).toEqual({
      a: { name: 'example name' },
    })
    const endless = { ...node, required: ['next'] }
    expect(
      sampleParams({
        type: 'object',
        $defs: { node: endless },
        properties: { a: { $ref: '#/$defs/node' } },
        required: ['a'],
      }),
    ).toBeUndefined()
  })

  test('include parameters that others require', () => {
    const properties = { a: { type: 'string' }, b: { type: 'integer' }, c: { type: 'boolean' }, d: { type: 'integer' } }
    expect(sample({ properties, dependentRequired: { a: ['d'] } })).toHaveProperty('d')
    expect(sample({ properties, oneOf: [{ required: ['c'] }, { required: ['d'] }] })).toHaveProperty('c')
  })

  test('never contain forbidden names', () => {
    const inner = { type: 'object', properties: { prototype: { type: 'string' }, b: { const: 1 } } }
    expect(sample({ properties: { constructor: { type: 'string' }, a: inner } })).toEqual({ a: { b: 1 } })
    const wanted = { properties: { prototype: { type: 'string' } }, required: ['prototype'] }
    expect(sampleParams({ type: 'object', ...wanted })).toBeUndefined()
  })
})
