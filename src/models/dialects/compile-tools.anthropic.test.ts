import { expect, it } from 'vitest'
import type { JsonSchema } from '../../core/tool.ts'
import { compileTools } from './compile-tools.ts'

const compiled = (parameters: JsonSchema) => compileTools([{ name: 't', description: '', parameters }], 'anthropic')

it('keeps JSON Schema as it is, below the root', () => {
  const a = { allOf: [{ minLength: 1 }], not: { const: '' }, propertyNames: { pattern: 'x' }, if: {}, default: 1 }
  const schema = { type: 'object', properties: { a }, additionalProperties: false, dependentRequired: { a: ['b'] } }
  expect(compiled({ ...schema, $schema: 'https://json-schema.org/draft/2020-12/schema' }).tools).toEqual([
    { name: 't', description: '', parameters: schema },
  ])
})

it('leaves out top-level parameters with unsupported names, but not nested ones', () => {
  const { tools, dropped } = compiled({
    type: 'object',
    properties: { 'Time<': { type: 'string' }, filter: { type: 'object', properties: { $top: { type: 'integer' } } } },
  })
  expect(tools[0]?.parameters.properties).toEqual({
    filter: { type: 'object', properties: { $top: { type: 'integer' } } },
  })
  expect(dropped).toEqual([{ tool: 't', keyword: 'properties' }])
})

it('leaves out a tool that requires a parameter of such a name', () => {
  const { tools, omitted } = compiled({ properties: { 'filter[id]': {} }, required: ['filter[id]'] })
  expect(tools).toEqual([])
  expect(omitted[0]?.reason).toContain('requires the parameter "filter[id]"')
})
