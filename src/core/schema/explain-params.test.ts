import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../tool.ts'
import { compileSchema } from './compiled-schema.ts'

const messages = (schema: JsonSchema, params: unknown) =>
  compileSchema(schema)
    .explain(params)
    .map(({ message }) => message)
const accepts = (schema: JsonSchema, params: unknown) => compileSchema(schema).check?.(params)

describe('explain', () => {
  it.each<[string, JsonSchema, unknown]>([
    ["missing 'a'", { required: ['a'] }, {}],
    [
      "missing 'a.b[1].c'",
      { properties: { a: { properties: { b: { items: { required: ['c'] } } } } } },
      { a: { b: [{ c: 1 }, {}] } },
    ],
    ['a must be an integer', { properties: { a: { type: 'integer' } } }, { a: 1.5 }],
    ['a must be a string', { properties: { a: { type: 'string' } } }, { a: 1 }],
    ['a must be an object', { properties: { a: { type: 'object' } } }, { a: [] }],
    ['a must be an array', { properties: { a: { type: 'array' } } }, { a: {} }],
    ['a must be a number', { properties: { a: { type: 'number' } } }, { a: '1' }],
    ['a must be a boolean', { properties: { a: { type: 'boolean' } } }, { a: 0 }],
    ['a must be null', { properties: { a: { type: 'null' } } }, { a: 0 }],
    ['a must be a string or null', { properties: { a: { type: ['string', 'null'] } } }, { a: 1 }],
    [
      'a must be one of: celsius, fahrenheit',
      { properties: { a: { enum: ['celsius', 'fahrenheit'] } } },
      { a: 'kelvin' },
    ],
    ['a must be one of: 1, null, {"b":2}', { properties: { a: { enum: [1, null, { b: 2 }] } } }, { a: 2 }],
    ['a must be x', { properties: { a: { const: 'x' } } }, { a: 'y' }],
    ['a must match format "email"', { properties: { a: { format: 'email' } } }, { a: 'x' }],
    ['a must match format "email"', { properties: { a: { format: 'email', pattern: '@' } } }, { a: 'x' }],
    ['a must match pattern "^x$"', { properties: { a: { pattern: '^x$' } } }, { a: 'y' }],
    ['a must be at least 1', { properties: { a: { minimum: 1 } } }, { a: 0 }],
    ['a must be at most 1', { properties: { a: { maximum: 1 } } }, { a: 2 }],
    ['a must be more than 1', { properties: { a: { exclusiveMinimum: 1 } } }, { a: 1 }],
    ['a must be less than 1', { properties: { a: { exclusiveMaximum: 1 } } }, { a: 1 }],
    ['a must be a multiple of 5', { properties: { a: { multipleOf: 5 } } }, { a: 3 }],
    ['a must have at least 1 character', { properties: { a: { minLength: 1 } } }, { a: '' }],
    ['a must have at most 2 characters', { properties: { a: { maxLength: 2 } } }, { a: '😀😀😀' }],
    ['a must have at least 2 items', { properties: { a: { minItems: 2 } } }, { a: [1] }],
    ['a must have at most 1 item', { properties: { a: { maxItems: 1 } } }, { a: [1, 2] }],
    ['a must not contain the same item twice', { properties: { a: { uniqueItems: true } } }, { a: [1, 1] }],
    ['parameters must have at least 1 entry', { minProperties: 1 }, {}],
    ['parameters must have at most 1 entry', { maxProperties: 1 }, { a: 1, b: 2 }],
    ["unknown parameter 'b'", { properties: { a: {} }, additionalProperties: false }, { a: 1, b: 2 }],
    ["unknown parameter 'b'", { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, { a: 1, b: 2 }],
    ['b must be a string', { additionalProperties: { type: 'string' } }, { b: 2 }],
    ['the name of B must match pattern "^[a-z]$"', { propertyNames: { pattern: '^[a-z]$' } }, { B: 1 }],
    ["missing 'b', which is required with 'a'", { dependentRequired: { a: ['b'] } }, { a: 1 }],
    ["missing 'b'", { dependentSchemas: { a: { required: ['b'] } } }, { a: 1 }],
    ['a must contain at least 1 matching item', { properties: { a: { contains: { const: 1 } } } }, { a: [2] }],
    [
      'a must contain at most 1 matching item',
      { properties: { a: { contains: { const: 1 }, maxContains: 1 } } },
      { a: [1, 1] },
    ],
    ['a[1] is not allowed', { properties: { a: { prefixItems: [{}], items: false } } }, { a: [1, 2] }],
    ['a is not allowed', { properties: { a: false } }, { a: 1 }],
    ['a must not be a string', { properties: { a: { not: { type: 'string' } } } }, { a: '' }],
    ['a has a value that is not allowed', { properties: { a: { not: { minimum: 1, type: 'number' } } } }, { a: 1 }],
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    ["missing 'b'", { if: { required: ['a'] }, then: { required: ['b'] } }, { a: 1 }],
    [
      'a must be a string or a number',
      { properties: { a: { anyOf: [{ type: 'string' }, { type: 'number' }] } } },
      { a: [] },
    ],
    [
      'a must match format "email"',
      { properties: { a: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] } } },
      { a: 'x' },
    ],
    ['a must be one of: x, y, z', { properties: { a: { oneOf: [{ const: 'x' }, { enum: ['y', 'z'] }] } } }, { a: 'w' }],
    [
      'a must match exactly one of 2 schemas, but matches 2',
      { properties: { a: { oneOf: [{ type: 'number' }, { minimum: 1 }] } } },
      { a: 2 },
    ],
    [
      's.kind must be one of: circle, square',
      {
        properties: {
          s: { oneOf: [{ properties: { kind: { const: 'circle' } } }, { properties: { kind: { const: 'square' } } }] },
        },
      },
      { s: { kind: 'line' } },
    ],
    [
      "missing 's.side'",
      {
        properties: {
          s: {
            oneOf: [
              { properties: { kind: { const: 'circle' } }, required: ['radius'] },
              { properties: { kind: { const: 'square' } }, required: ['side'] },
            ],
          },
        },
      },
      { s: { kind: 'square' } },
    ],
    [
      "parameters matches none of 2 allowed schemas; for the closest: missing 'c'",
      { anyOf: [{ required: ['a', 'b'] }, { required: ['c'] }] },
      {},
    ],
    ['["x.y"][0] must be a string', { properties: { 'x.y': { items: { type: 'string' } } } }, { 'x.y': [1] }],
  ])('says %j', (message, schema, params) => {
    expect(accepts(schema, params)).toBe(false)
    expect(messages(schema, params)).toEqual([message])
  })

  it('lists all problems in the order of the schema', () => {
    const user = {
      type: 'object',
      properties: { name: { type: 'string' }, email: { type: 'string', format: 'email' } },
      required: ['email', 'name'],
    }
    const schema = {
      type: 'object',
      required: ['z', 'location', 'user'],
      properties: {
        location: { type: 'string' },
        user: { $ref: '#/$defs/user' },
        days: { type: 'integer', minimum: 1 },
      },
      $defs: { user },
      additionalProperties: false,
    }
    expect(messages(schema, { days: 0.5, more: 1, user: { email: 'x' } })).toEqual([
      "missing 'location'",
      "missing 'user.name'",
      'user.email must match format "email"',
      'days must be an integer',
      'days must be at least 1',
      "missing 'z'",
      "unknown parameter 'more'",
    ])
  })

  it('has path, rule and the expected value', () => {
    expect(
      compileSchema({ required: ['b'], properties: { a: { items: { type: 'integer' } } } }).explain({ a: ['x'] }),
    ).toEqual([
      { path: 'a[0]', rule: 'type', expected: 'integer', message: 'a[0] must be an integer' },
      { path: 'b', rule: 'required', expected: true, message: "missing 'b'" },
    ])
  })

  it('limits the number and length of problems', () => {
    const schema = { properties: { a: { items: { const: 'x'.repeat(500) } } } }
    const problems = messages(schema, { a: Array.from({ length: 9000 }, (_, n) => n) })
    expect(problems).toHaveLength(51)
    expect(problems.at(-1)).toMatch(/^and at least \d+ more$/)
    const few = { required: Array.from({ length: 100 }, (_, index) => `key${index}`) }
    expect(messages(few, {}).slice(-2)).toEqual(["missing 'key49'", 'and 50 more'])
    const exact = { required: few.required.slice(0, 50) }
    expect(messages(exact, {}).at(-1)).toBe("missing 'key49'")
    expect(Math.max(...problems.map((text) => text.length))).toBeLessThan(120)
    expect(messages({ properties: { a: { enum: Array.from({ length: 300 }, (_, n) => n) } } }, { a: 'x' })[0]).toMatch(
      / 19 and 280 more$/,
    )
  })

  it('truncates expected values', () => {
    const long = Array.from({ length: 300 }, (_, n) => `${n}${'x'.repeat(200)}`)
    const [problem] = compileSchema({ properties: { a: { enum: long } } }).explain({ a: 1 })
    expect(JSON.stringify(problem?.expected).length).toBeLessThan(10_000)
  })

  it('stays on one line without duplicates', () => {
    expect(
      messages({ properties: { a: { const: 'x\ny' } }, allOf: [{ properties: { a: { const: 'x\ny' } } }] }, { a: 1 }),
    ).toEqual(['a must be x y'])
    expect(messages({ required: ['a\nb'] }, {})).toEqual([`missing '["a\\nb"]'`])
  })
})
