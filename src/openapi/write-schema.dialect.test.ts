import { describe, expect, test } from 'vitest'
import { converted } from './fixtures/documents.ts'

describe('the dialect of OpenAPI 3.0 becomes JSON Schema', () => {
  test.each([
    ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      'nullable with choices',
      { type: 'string', nullable: true, enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'nullable without a type',
      { nullable: true, allOf: [{ minLength: 2 }] },
      { anyOf: [{ minLength: 2 }, { type: 'null' }] },
    ],
    [
      'an exclusive bound',
      { type: 'number', minimum: 1, exclusiveMinimum: true },
      { type: 'number', exclusiveMinimum: 1 },
    ],
    ['an inclusive bound', { type: 'number', maximum: 1, exclusiveMaximum: false }, { type: 'number', maximum: 1 }],
    ['an example', { type: 'string', example: 'ab' }, { type: 'string', examples: ['ab'] }],
    ['a long example', { type: 'string', example: 'a'.repeat(500) }, { type: 'string' }],
    [
      'what only tools for documents read',
      {
        type: 'object',
        xml: { name: 'x' },
        discriminator: { propertyName: 'a' },
        externalDocs: {},
        title: 'T',
        'x-a': 1,
      },
      { type: 'object' },
    ],
    ['a format that is known', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
    ['a format that is not', { type: 'string', format: 'phone' }, { type: 'string' }],
    [
      'a list of items',
      { type: 'array', items: [{ type: 'string' }] },
      { type: 'array', prefixItems: [{ type: 'string' }] },
    ],
    ['choices that the type forbids', { type: 'integer', enum: ['1', '2'] }, { enum: ['1', '2'] }],
    ['an allOf of one', { description: 'D', allOf: [{ type: 'string' }] }, { type: 'string', description: 'D' }],
    [
      'a default',
      { type: 'integer', description: 'How many', default: 30 },
      { type: 'integer', description: 'How many. Default: 30' },
    ],
    ['required as in draft 3', { type: 'object', required: true }, { type: 'object' }],
  ])('%s', (_, written, expected) => {
    expect(converted(written).schema).toEqual(expected)
  })

  test.each([
    [
      'a pattern with a look-ahead',
      { type: 'string', pattern: '^(?=a)' },
      'the pattern "^(?=a)", which cannot be matched in bounded time',
    ],
    [
      'a pattern that is none',
      { type: 'string', pattern: '(' },
      'the pattern "(", which cannot be matched in bounded time',
    ],
    ['a type that is none', { type: 'money' }, 'the type "money", which JSON Schema does not have'],
    ['a number that is none', { minLength: 'two' }, 'minLength "two", which is not a valid number'],
    ['an empty enum', { enum: [] }, 'an enum without values'],
    [
      'a rule about what is left',
      { unevaluatedProperties: false },
      'the rule "unevaluatedProperties", which tools do not have',
    ],
  ])('%s is left out, and that is noted', (_, written, what) => {
    const { schema, notes } = converted(written)
    expect(schema).toEqual('type' in written && written.type === 'string' ? { type: 'string' } : {})
    expect(notes).toContain(`left out: ${what}`)
  })

  test('keywords with the wrong kind of value break nothing', () => {
    const wrong = {
      type: { a: 1 },
      enum: 'a',
      required: 'b',
      properties: [],
      items: 7,
      allOf: {},
      anyOf: null,
      not: 'x',
      format: 5,
      minimum: null,
      uniqueItems: 'yes',
      additionalProperties: 3,
      patternProperties: 'q',
      description: {},
      dependentRequired: { a: 'b' },
    }
    expect(converted(wrong).schema).toEqual({})
  })

  test('OpenAPI 3.1 needs no change, and what stands beside a reference counts', () => {
    const schema = { type: ['string', 'null'], minLength: 1, examples: ['a', 'b'], const: 'c' }
    expect(converted(schema, {}, '3.1.0').schema).toEqual({ ...schema, examples: ['a'] })
    const beside = { $ref: '#/components/schemas/T', maxLength: 9, description: 'D' }
    const components = { schemas: { T: { type: 'string', description: 'T' } } }
    expect(converted(beside, components, '3.1.0').schema).toEqual({
      description: 'D',
      maxLength: 9,
      allOf: [{ type: 'string', description: 'T' }],
    })
    expect(converted(beside, components).schema).toEqual({ type: 'string', description: 'D' })
    const fallback = { $ref: '#/components/schemas/T', default: 'x' }
    expect(converted(fallback, components, '3.1.0').schema).toEqual({ type: 'string', description: 'T. Default: x' })
  })

  test('true and false are schemas', () => {
    expect(converted({ type: 'object', properties: { a: true, b: false } }, {}, '3.1.0').schema).toEqual({
      type: 'object',
      properties: { a: {}, b: { not: {} } },
    })
  })

  test('omits read-only properties at any level', () => {
    const schema = {
      type: 'object',
      required: ['id', 'name', 'made'],
      properties: {
        id: { type: 'integer', readOnly: true },
        name: { type: 'string' },
        made: { $ref: '#/components/schemas/Made' },
      },
    }
    const { schema: result } = converted(schema, { schemas: { Made: { type: 'string', readOnly: true } } })
    expect(result).toEqual({ type: 'object', required: ['name'], properties: { name: { type: 'string' } } })
  })

  test('properties with the names of inherited ones are kept', () => {
    const properties = JSON.parse(
      '{"__proto__": {"type": "string"}, "constructor": {"type": "string"}, "a": {"type": "string"}}',
    )
    const { schema, notes } = converted({ type: 'object', properties })
    expect(JSON.stringify(schema)).toBe(JSON.stringify({ type: 'object', properties }))
    expect(notes).toEqual([])
  })
})
