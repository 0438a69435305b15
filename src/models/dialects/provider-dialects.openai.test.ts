import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../core/tool.ts'
import { compileTools } from './compile-tools.ts'

function compiled(parameters: JsonSchema) {
  const { tools, dropped } = compileTools([{ name: 't', description: '', parameters }], 'openai')
  return { ...tools[0], dropped: dropped.map(({ keyword, instead }) => [keyword, instead]) }
}
const closed = (properties: JsonSchema) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const required = (schema: JsonSchema) => ({ type: 'object', properties: { a: schema }, required: ['a'] })

describe('OpenAI, strict', () => {
  it('closes objects whose properties are all required', () => {
    const inner = { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] }
    const { strict, parameters, dropped } = compiled(required({ type: 'array', items: inner, minItems: 1 }))
    expect(strict).toBe(true)
    expect(parameters).toEqual(closed({ a: { type: 'array', items: closed({ b: { type: 'string' } }), minItems: 1 } }))
    expect(dropped).toEqual([])
  })

  it('says in words what strict mode refuses', () => {
    const { strict, parameters, dropped } = compiled(
      required({ type: 'string', description: 'A word.', minLength: 1, default: 'x', format: 'uri' }),
    )
    expect(strict).toBe(true)
    const description = 'A word. (minLength: 1, default: "x", format: "uri")'
    expect(parameters).toEqual(closed({ a: { type: 'string', description } }))
    expect(dropped.map(([keyword]) => keyword)).toEqual(['minLength', 'default', 'format'])
  })

  it.each<[string, JsonSchema]>([
    ['values without a type', required({ enum: ['a', 'b'] })],
    ['a constant', required({ const: 1 })],
    ['null beside a type', required({ type: ['string', 'null'] })],
    ['a choice with one object', required({ anyOf: [closed({ b: { type: 'null' } }), { type: 'string' }] })],
    ['no parameters', { type: 'object', properties: {} }],
    ['recursion', { ...required({ $ref: '#/$defs/n' }), $defs: { n: closed({ n: { $ref: '#/$defs/n' } }) } }],
  ])('takes %s', (_, schema) => {
    expect(compiled(schema).strict).toBe(true)
  })

  it.each<[string, JsonSchema]>([
    ['an optional property', { type: 'object', properties: { a: { type: 'string' } } }],
    ['a required property without a schema', { ...required({ type: 'string' }), required: ['a', 'b'] }],
    ['an object that is open on purpose', { ...required({ type: 'string' }), additionalProperties: true }],
    ['a map', required({ type: 'object', additionalProperties: { type: 'string' } })],
    ['an object of unknown shape', required({ type: 'object' })],
    ['parameters of unknown shape', { type: 'object' }],
    ['any value', required({})],
    ['an array of anything', required({ type: 'array' })],
    ['oneOf', required({ oneOf: [{ type: 'string' }, { type: 'null' }] })],
    ['objects that could begin alike', required({ anyOf: [closed({ b: { const: 1 } }), closed({ b: { const: 2 } })] })],
    ['a condition', { ...required({ type: 'string' }), if: {}, else: {} }],
    [
      'more than five levels',
      [1, 2, 3, 4, 5].reduce<JsonSchema>((schema) => closed({ a: schema }), { type: 'string' }),
    ],
    ['too many values', required({ enum: Array.from({ length: 501 }, (_, n) => n) })],
    ['too many properties', closed(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, { type: 'null' }])))],
    ['too much text', required({ enum: ['x'.repeat(15_001)] })],
  ])('is not asked for with %s', (_, schema) => {
    expect(compiled(schema).strict).toBe(false)
  })
})

describe('OpenAI, not strict', () => {
  it.each<[string, JsonSchema, JsonSchema, unknown[]]>([
    [
      'keeps what JSON Schema has',
      { a: { oneOf: [{ minLength: 1 }], not: { const: '' } } },
      { a: { oneOf: [{ minLength: 1 }], not: { const: '' } } },
      [],
    ],
    ['adds items to an array', { a: { type: 'array' } }, { a: { type: 'array', items: {} } }, []],
    [
      'reads lists of items as 2020-12',
      { a: { items: [{ type: 'string' }], additionalItems: false } },
      { a: { prefixItems: [{ type: 'string' }], items: false } },
      [],
    ],
    [
      'splits dependencies',
      { a: { dependencies: { b: ['c'], d: { type: 'object' } }, items: [{}] } },
      { a: { dependentRequired: { b: ['c'] }, dependentSchemas: { d: { type: 'object' } }, prefixItems: [{}] } },
      [],
    ],
    ['reads the bounds of draft-04', { a: { minimum: 1, exclusiveMinimum: true } }, { a: { exclusiveMinimum: 1 } }, []],
    ['reads nullable', { a: { type: 'string', nullable: true } }, { a: { type: ['string', 'null'] } }, []],
    [
      'drops propertyNames that say something',
      { a: { propertyNames: { pattern: '^x' } } },
      { a: {} },
      [['propertyNames', undefined]],
    ],
    ['drops propertyNames that say nothing, silently', { a: { propertyNames: { type: 'string' } } }, { a: {} }, []],
    [
      'says patterns in words that look around',
      { a: { pattern: '^(?!x)' } },
      { a: { description: '(pattern: "^(?!x)")' } },
      [['pattern', 'description']],
    ],
    [
      'drops a list of values without any',
      { a: { enum: [] } },
      { a: { description: '(enum: [])' } },
      [['enum', 'description']],
    ],
  ])('%s', (_, properties, expected, losses) => {
    const { strict, parameters, dropped } = compiled({ type: 'object', properties })
    expect(strict).toBe(false)
    expect(parameters).toEqual({ type: 'object', properties: expected })
    expect(dropped).toEqual(losses)
  })

  it('collects referenced schemas under $defs, and no others', () => {
    const { parameters } = compiled({
      properties: {
        a: { $ref: '#/definitions/b%20c' },
        d: { $ref: '#/properties/a', description: 'The same.' },
        e: { $ref: '#' },
      },
      definitions: { 'b c': { properties: { b: { $ref: '#/definitions/b%20c' } } }, unused: { type: 'string' } },
    })
    expect(parameters).toEqual({
      type: 'object',
      properties: {
        a: { $ref: '#/$defs/b20c' },
        d: { $ref: '#/$defs/a', description: 'The same.' },
        e: { $ref: '#/$defs/root' },
      },
      $defs: {
        b20c: { properties: { b: { $ref: '#/$defs/b20c' } } },
        a: { $ref: '#/$defs/b20c' },
        root: {
          properties: {
            a: { $ref: '#/$defs/b20c' },
            d: { $ref: '#/$defs/a', description: 'The same.' },
            e: { $ref: '#/$defs/root' },
          },
        },
      },
    })
  })

  it('drops keywords that are not supported at the root', () => {
    const { parameters, dropped } = compiled({ not: { required: ['a'] }, enum: [{}], properties: { a: {} } })
    expect(parameters).toEqual({ type: 'object', properties: { a: {} } })
    expect(dropped).toEqual([
      ['enum', undefined],
      ['not', undefined],
    ])
  })
})
