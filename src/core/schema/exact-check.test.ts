import { getAllRegisteredSchemaUris } from '@hyperjump/json-schema'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EXACT_CHECK } from '../execution/parameter-check.ts'
import type { JsonSchema } from '../tool.ts'
import { compileSchema } from './compiled-schema.ts'
import { exactCheck } from './exact-check.ts'

const draft07 = 'http://json-schema.org/draft-07/schema#'

describe('exactCheck', () => {
  const fetched = vi.fn(() => Promise.reject(new Error('fetched')))

  beforeEach(() => {
    vi.stubGlobal('fetch', fetched)
  })

  afterEach(() => {
    vi.unstubAllGlobals()
    expect(fetched).not.toHaveBeenCalled()
  })

  const user = {
    type: 'object',
    properties: { email: { type: 'string', format: 'email' }, age: { type: 'integer', minimum: 0 } },
    required: ['email'],
  }
  const shape = {
    oneOf: [
      { properties: { kind: { const: 'circle' } }, required: ['radius'] },
      { properties: { kind: { const: 'square' } }, required: ['side'] },
    ],
  }

  it.each<[JsonSchema, unknown]>([
    [user, { email: 'a@b.co' }],
    [user, {}],
    [user, { email: 'x', age: -1.5 }],
    [user, []],
    [{ ...user, $schema: draft07 }, { age: 'x' }],
    [{ properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { enum: ['x', 'y'] } } }, { a: 'z' }],
    [{ properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } }, { a: 1 }],
    [{ properties: { shape } }, { shape: { kind: 'square' } }],
    [{ properties: { shape } }, { shape: { kind: 'line' } }],
    [{ properties: { a: { items: { multipleOf: 0.01 }, uniqueItems: true } } }, { a: [19.99, 0.001, 19.99] }],
    [{ properties: { a: { pattern: '^[a-z]+$', maxLength: 3 } } }, { a: 'ABCD' }],
    [
      { properties: { a: { format: 'int32' }, b: { format: 'uuid' }, c: { format: 'mystery' } } },
      { a: 2 ** 40, b: 'x', c: 'x' },
    ],
    [
      { properties: { a: {} }, patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false },
      { 'x-a': 1, b: 2 },
    ],
    [
      { properties: { a: { prefixItems: [{ type: 'string' }], items: { type: 'number' }, contains: { const: 7 } } } },
      { a: [1, 'x'] },
    ],
    [{ $schema: draft07, properties: { a: { items: [{ type: 'string' }], additionalItems: false } } }, { a: [1, 2] }],
    [
      { $schema: draft07, dependencies: { a: ['b'], c: { required: ['d'] } } },
      { a: 1, c: 1 },
    ],
    [
      { propertyNames: { maxLength: 2 }, dependentRequired: { a: ['b'] }, minProperties: 3 },
      { abc: 1, a: 1 },
    ],
    [
      {
        properties: { a: { type: 'string', nullable: true, minLength: 1 }, b: { maximum: 5, exclusiveMaximum: true } },
      },
      { a: '', b: 5 },
    ],
    [
      { not: { required: ['a'] }, properties: { b: false } },
      { a: 1, b: 1 },
    ],
    [
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { a: 1, b: 2 },
    ],
    [{ required: ['toString', 'a'] }, {}],
    [{ $schema: draft07, $ref: '#/definitions/a', type: 'string', definitions: { a: { type: 'object' } } }, 3],
    [
      {
        $schema: draft07,
        items: { $ref: '#/definitions/a', maxLength: 1 },
        definitions: { a: { type: 'string' } },
      },
      [1, 'long'],
    ],
  ])('returns the same details as the inline path for %j', async (schema, params) => {
    const { check, explain } = compileSchema(schema)
    expect(await exactCheck({ schema, params })).toEqual(check?.(params) === true ? [] : explain(params))
  })

  it.each<[string, JsonSchema, unknown, unknown, string]>([
    [
      'lookaheads',
      { properties: { a: { pattern: '^(?!x)' } } },
      { a: 'a' },
      { a: 'x' },
      'a must match pattern "^(?!x)"',
    ],
    [
      'patterns of the web that Unicode mode refuses',
      { properties: { a: { pattern: '^(?!x)[\\w-.]+\\@$' } } },
      { a: 'a@' },
      { a: 'x@' },
      'a must match pattern "^(?!x)[\\w-.]+\\@$"',
    ],
    [
      'unevaluatedItems',
      { properties: { a: { prefixItems: [{}], contains: { const: 1 }, unevaluatedItems: false } } },
      { a: [0, 1] },
      { a: [0, 2, 1] },
      'a[1] is not allowed',
    ],
    ['an empty enum', { properties: { a: { enum: [] } } }, {}, { a: 1 }, 'a must be one of: '],
    [
      'dynamic references',
      { $dynamicAnchor: 'node', properties: { n: { type: 'integer' }, next: { $dynamicRef: '#node' } } },
      { next: { n: 1 } },
      { next: { n: 'x' } },
      'next.n must be an integer',
    ],
    [
      'meta-schemas',
      { properties: { schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' } } },
      { schema: { type: 'string' } },
      { schema: { minLength: -1 } },
      'schema.minLength must be at least 0',
    ],
    [
      'addresses of its own',
      {
        $id: 'https://example.com/root',
        $defs: { a: { $id: 'a.json', type: 'string' } },
        properties: { a: { $ref: 'a.json' } },
      },
      { a: '' },
      { a: 1 },
      'a must be a string',
    ],
  ])('validates %s', async (_, schema, good, bad, message) => {
    expect(compileSchema(schema).check).toBeUndefined()
    expect(await exactCheck({ schema, params: good })).toEqual([])
    expect((await exactCheck({ schema, params: bad })).map((problem) => problem.message)).toEqual([message])
  })

  it.each(['https://example.com/x', 'http://127.0.0.1:1/x', 'file:///etc/passwd', 'x.json'])(
    'loads nothing from %s',
    async ($ref) => {
      await expect(exactCheck({ schema: { properties: { a: { $ref } } }, params: { a: 1 } })).rejects.toThrow(
        /^cannot be validated: /,
      )
    },
  )

  it('stores no schema, valid or not', async () => {
    const before = getAllRegisteredSchemaUris()
    const schema = (n: number) => ({
      $id: `https://example.com/${n}`,
      $defs: { a: { $id: `a${n}`, enum: [] } },
      properties: { a: { $ref: `a${n}` } },
    })
    for (let n = 0; n < 20; n++) await exactCheck({ schema: schema(n), params: { a: 1 } })
    await expect(exactCheck({ schema: { $ref: 'x' }, params: {} })).rejects.toThrow('cannot be validated')
    expect(getAllRegisteredSchemaUris()).toEqual(before)
  })

  it('validates schemas with the same $id concurrently', async () => {
    const schema = (name: string) => ({ $id: 'https://example.com/same', required: [name] })
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((name) => exactCheck({ schema: schema(name), params: { b: 1 } })),
    )
    expect(answers.map((problems) => problems.length)).toEqual([1, 0, 1])
  })

  it('says in its own words that references lead too deep', async () => {
    const schema = { $dynamicAnchor: 'x', allOf: [{ $dynamicRef: '#x' }] }
    await expect(exactCheck({ schema, params: {} })).rejects.toThrow(
      'cannot be validated: its references lead too deep',
    )
  })

  it("doesn't let a schema redefine a draft", async () => {
    const $vocabulary = { 'https://json-schema.org/draft/2020-12/vocab/core': true }
    const poison = { const: { $id: 'https://json-schema.org/draft/2020-12/schema', $vocabulary } }
    await expect(exactCheck({ schema: poison, params: {} })).rejects.toThrow('"$vocabulary" is not allowed')
    expect(await exactCheck({ schema: { type: 'string' }, params: {} })).toHaveLength(1)
  })

  it('changes neither schema nor parameters', async () => {
    const schema = Object.freeze({
      $schema: draft07,
      properties: Object.freeze({ a: Object.freeze({ type: 'string', nullable: true }) }),
    })
    expect(await exactCheck({ schema, params: Object.freeze({ a: null }) })).toEqual([])
  })
})

it('EXACT_CHECK names the module and the function it exports', async () => {
  const module = (await import(EXACT_CHECK.module)) as Record<string, unknown>
  expect(module[EXACT_CHECK.export]).toBe(exactCheck)
})
