import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../core/tool.ts'
import { compileTools } from './compile-tools.ts'

function compiled(schema: unknown, extra: JsonSchema = {}) {
  const parameters = { type: 'object', properties: { a: schema }, ...extra }
  const { tools, dropped } = compileTools([{ name: 't', description: '', parameters }], 'gemini')
  const properties = tools[0]?.parameters.properties as JsonSchema
  return {
    a: properties.a,
    losses: dropped.map(({ keyword, instead }) => (instead ? `${keyword} → ${instead}` : keyword)),
  }
}
const text = { type: 'string' }
const nothing = { type: 'null' }

describe('Gemini', () => {
  it.each<[string, unknown, JsonSchema, string[]]>([
    ['makes a constant a list of one', { const: 'x' }, { type: 'string', enum: ['x'] }, []],
    ['makes numbers a list of numbers', { enum: [1, 2.5] }, { type: 'number', enum: [1, 2.5] }, []],
    [
      'parts values by type',
      { enum: ['x', 1] },
      {
        anyOf: [
          { type: 'string', enum: ['x'] },
          { type: 'number', enum: [1] },
        ],
      },
      [],
    ],
    [
      'takes null out of the values',
      { type: ['string', 'null'], enum: ['x', null] },
      { anyOf: [{ type: 'string', enum: ['x'] }, nothing] },
      [],
    ],
    [
      'says values in words that are neither texts nor numbers',
      { type: 'boolean', enum: [true] },
      { type: 'boolean', description: '(enum: [true])' },
      ['enum → description'],
    ],
    ['lists no empty text', { type: 'string', enum: ['', 'x'] }, { type: 'string', enum: ['x'] }, ['enum → enum']],
    [
      'drops a list of values without any',
      { type: 'string', enum: [] },
      { type: 'string', description: '(enum: [])' },
      ['enum → description'],
    ],
    ['knows null', { const: null }, nothing, []],
    [
      'keeps null beside one type',
      { type: ['integer', 'null'], minimum: 1 },
      { type: ['integer', 'null'], minimum: 1 },
      [],
    ],
    [
      'parts several types',
      { type: ['string', 'array'], minItems: 1, minLength: 2, description: 'D' },
      {
        description: 'D',
        anyOf: [
          { type: 'string', description: '(minLength: 2)' },
          { type: 'array', minItems: 1, items: {} },
        ],
      },
      ['minLength → description'],
    ],
    [
      'folds a choice with null',
      { anyOf: [text, nothing], description: 'D', default: null },
      { type: ['string', 'null'], description: 'D (default: null)' },
      ['default → description'],
    ],
    [
      'folds a choice of values with null',
      { anyOf: [{ enum: ['x'], title: 'T' }, nothing] },
      { title: 'T', anyOf: [{ type: 'string', enum: ['x'] }, nothing] },
      [],
    ],
    [
      'makes oneOf anyOf',
      { oneOf: [text, { type: 'integer' }] },
      { anyOf: [text, { type: 'integer' }] },
      ['oneOf → anyOf'],
    ],
    [
      'puts what stands beside a choice into it',
      { type: 'object', properties: { b: text }, anyOf: [{ properties: { c: text } }, { required: ['b'] }] },
      {
        anyOf: [
          { type: 'object', properties: { b: text, c: text } },
          { type: 'object', properties: { b: text }, required: ['b'] },
        ],
      },
      [],
    ],
    [
      'says in words which are required',
      { type: 'object', properties: { b: text, c: text }, anyOf: [{ required: ['b'] }, { required: ['c'] }] },
      { type: 'object', properties: { b: text, c: text }, description: '(required: b or c)' },
      ['required → description'],
    ],
    [
      'joins allOf',
      { allOf: [{ type: ['string', 'null'] }, { type: 'string' }], description: 'D' },
      { description: 'D', type: 'string' },
      [],
    ],
    ['joins whole numbers and others', { allOf: [{ type: 'integer' }, { type: 'number' }] }, { type: 'integer' }, []],
    [
      'says what allOf contradicts',
      { allOf: [{ format: 'date-time', type: 'string' }, { format: 'float' }] },
      { format: 'date-time', type: 'string' },
      ['format'],
    ],
    [
      'knows whole numbers above',
      { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 9.5 },
      { type: 'integer', minimum: 1, maximum: 9 },
      [],
    ],
    [
      'says nearly which numbers are above',
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'number', minimum: 0, description: '(exclusiveMinimum: 0)' },
      ['exclusiveMinimum → description'],
    ],
    [
      'says formats in words',
      { type: 'string', format: 'uuid' },
      { type: 'string', description: '(format: "uuid")' },
      ['format → description'],
    ],
    ['keeps the formats it has', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }, []],
    ['adds items to an array', { type: 'array' }, { type: 'array', items: {} }, []],
    [
      'keeps tuples, closed by their length',
      { items: [text, text], additionalItems: false },
      { type: 'array', prefixItems: [text, text], maxItems: 2 },
      [],
    ],
    [
      'declares required properties',
      { type: 'object', required: ['b'] },
      { type: 'object', properties: { b: {} }, required: ['b'] },
      [],
    ],
    [
      'opens what patterns let in',
      { type: 'object', patternProperties: { '^x': text }, additionalProperties: false },
      { type: 'object', additionalProperties: text },
      ['patternProperties → additionalProperties'],
    ],
    [
      'keeps maps',
      { type: 'object', additionalProperties: { type: 'string', minLength: 1 } },
      { type: 'object', additionalProperties: { type: 'string', description: '(minLength: 1)' } },
      ['minLength → description'],
    ],
    [
      'drops the rest',
      { type: 'string', not: { const: 'x' }, if: {}, pattern: 'x'.repeat(200), deprecated: true },
      { type: 'string' },
      ['not', 'if', 'pattern', 'deprecated'],
    ],
    ['takes true for anything', true, {}, []],
  ])('%s', (_, schema, expected, losses) => {
    expect(compiled(schema)).toEqual({ a: expected, losses })
  })

  it('writes out references, recursive ones twice', () => {
    const node = { type: 'object', description: 'N', properties: { next: { $ref: '#/$defs/node' } } }
    const { a, losses } = compiled({ $ref: '#/$defs/node', description: 'A' }, { $defs: { node } })
    const cut = { type: 'object', description: 'N' }
    const inner = { ...node, properties: { next: cut } }
    expect(a).toEqual({ ...node, description: 'A', properties: { next: inner } })
    expect(losses).toEqual(['$ref → type'])
  })

  it('leaves out parameters that nothing fits, and those whose names are refused', () => {
    const properties = { a: false, 'b-c.d': text, 'e[]': text }
    const { tools, dropped } = compileTools([{ name: 't', description: '', parameters: { properties } }], 'gemini')
    expect(tools[0]?.parameters).toEqual({ type: 'object', properties: { 'b-c.d': text } })
    expect(dropped.map(({ keyword }) => keyword)).toEqual(['properties', 'properties'])
  })
})
