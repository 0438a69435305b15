import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../core/tool.ts'
import { compileTools } from './compile-tools.ts'

const text = { type: 'string' }

describe('Ollama', () => {
  it.each<[string, unknown, JsonSchema, string[]]>([
    [
      'says bounds in words',
      { type: 'integer', description: 'A port.', minimum: 1, default: 80 },
      { type: 'integer', description: 'A port. (minimum: 1, default: 80)' },
      ['minimum', 'default'],
    ],
    ['keeps several types', { type: ['string', 'integer'] }, { type: ['string', 'integer'] }, []],
    ['makes a constant a list of one', { const: true }, { enum: [true] }, []],
    [
      'keeps null among values',
      { anyOf: [{ type: 'string', enum: ['x'] }, { type: 'null' }] },
      { type: ['string', 'null'], enum: ['x', null] },
      [],
    ],
    [
      'makes oneOf anyOf',
      { oneOf: [text, { type: 'object', properties: { b: text } }] },
      { anyOf: [text, { type: 'object', properties: { b: text } }] },
      ['oneOf'],
    ],
    [
      'describes the items of a tuple',
      { type: 'array', prefixItems: [text, { type: 'integer' }] },
      { type: 'array', items: { anyOf: [text, { type: 'integer' }] } },
      ['prefixItems'],
    ],
    [
      'drops what objects are closed by',
      { type: 'object', properties: { b: text }, additionalProperties: false },
      { type: 'object', properties: { b: text } },
      ['additionalProperties'],
    ],
    ['drops nothing where they are open', { type: 'object', additionalProperties: {} }, { type: 'object' }, []],
    ['writes out references', { type: 'array', items: { $ref: '#/$defs/word' } }, { type: 'array', items: text }, []],
  ])('%s', (_, schema, expected, losses) => {
    const parameters = { type: 'object', properties: { a: schema }, $defs: { word: text } }
    const { tools, dropped } = compileTools([{ name: 't', description: '', parameters }], 'ollama')
    expect(tools[0]?.parameters).toEqual({ type: 'object', properties: { a: expected } })
    expect(dropped.map(({ keyword }) => keyword)).toEqual(losses)
  })

  it('lets the tool say what the root has no place for', () => {
    const parameters = { type: 'object', description: 'All about it.', minProperties: 1 }
    const { tools } = compileTools([{ name: 't', description: 'Does it.', parameters }], 'ollama')
    expect(tools[0]).toEqual({
      name: 't',
      description: 'Does it. (All about it. (minProperties: 1))',
      parameters: { type: 'object', properties: {} },
    })
  })
})
