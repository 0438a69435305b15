import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../tool.ts'
import { compiledCount, compileSchema } from './compiled-schema.ts'

const draft07 = 'http://json-schema.org/draft-07/schema#'
const accepts = (schema: JsonSchema, params: unknown) => compileSchema(schema).check?.(params)

describe('compileSchema', () => {
  it.each<[string, JsonSchema, unknown, unknown]>([
    ['fills no type in', { type: 'object', properties: { a: { type: 'integer' } } }, { a: 1 }, { a: '1' }],
    ['takes 1.0 for an integer', { properties: { a: { type: 'integer' } } }, { a: 1.0 }, { a: 1.5 }],
    [
      'takes Infinity for no number',
      { properties: { a: { type: 'number' } } },
      { a: 1e300 },
      { a: Number.POSITIVE_INFINITY },
    ],
    ['looks at own properties only', { required: ['toString'] }, { toString: 1 }, {}],
    ['knows prices', { properties: { a: { multipleOf: 0.01 } } }, { a: 19.99 }, { a: 19.995 }],
    [
      'finds equal items whatever the order of their keys',
      { properties: { a: { uniqueItems: true } } },
      { a: [1, '1', true, 'true'] },
      {
        a: [
          { x: 1, y: 2 },
          { y: 2, x: 1 },
        ],
      },
    ],
    [
      'reads $schema of draft-07',
      {
        $schema: draft07,
        dependencies: { a: ['b'] },
        properties: { c: { items: [{ type: 'string' }], additionalItems: false } },
      },
      { c: ['x'] },
      { c: ['x', 'y'] },
    ],
    [
      'reads $schema of draft-07 without its #',
      { $schema: draft07.slice(0, -1), properties: { c: { items: [{ type: 'string' }] } } },
      { c: ['x'] },
      { c: [1] },
    ],
    [
      'reads an unknown $schema as 2020-12',
      { $schema: 'https://example.com/mine', properties: { c: { prefixItems: [{ type: 'string' }] } } },
      { c: ['x'] },
      { c: [1] },
    ],
    [
      'reads 2019-09 as 2020-12',
      { $schema: 'https://json-schema.org/draft/2019-09/schema', dependentRequired: { a: ['b'] } },
      { a: 1, b: 2 },
      { a: 1 },
    ],
    [
      'reads a list of items as draft-07',
      { properties: { c: { items: [{ type: 'string' }] } } },
      { c: ['x'] },
      { c: [1] },
    ],
    [
      'reads the exclusive bounds of draft-04',
      { $schema: 'http://json-schema.org/draft-04/schema#', properties: { a: { minimum: 1, exclusiveMinimum: true } } },
      { a: 2 },
      { a: 1 },
    ],
    ['reads nullable', { properties: { a: { type: 'string', nullable: true } } }, { a: null }, { a: 1 }],
    [
      'ignores formats that it does not know',
      { properties: { a: { format: 'mystery' }, b: { format: 'email' } } },
      { a: 'x' },
      { b: 'x' },
    ],
    [
      'ignores keywords that it does not know',
      { id: 'x', discriminator: {}, nullable: true, properties: { a: { type: 'string' } } },
      { a: '' },
      { a: 1 },
    ],
    [
      'follows a reference to an anchor',
      { $defs: { a: { $anchor: 'word', type: 'string' } }, properties: { a: { $ref: '#word' } } },
      { a: '' },
      { a: 1 },
    ],
  ])('%s', (_, schema, good, bad) => {
    expect(accepts(schema, good)).toBe(true)
    expect(accepts(schema, bad)).toBe(false)
  })

  it.each<[JsonSchema, string]>([
    [{ type: 'any' }, 'type must be equal to one of the allowed values'],
    [{ properties: { a: { minLength: -1 } } }, 'properties.a.minLength must be >= 0'],
    [{ $async: true }, '"$async" is not allowed'],
    [{ properties: { a: { pattern: '(' } } }, 'pattern "(" is not a regular expression'],
  ])('refuses %j', (schema, reason) => {
    expect(() => compileSchema(schema)).toThrow(reason)
  })

  it("has no check if compilation shows that Ajv can't be used", () => {
    const ring = Array.from({ length: 150 }, (_, n) => [n, { properties: { x: { $ref: `#/$defs/${(n + 1) % 150}` } } }])
    const patterns = Array.from({ length: 20 }, (_, n) => [n, { pattern: `^[a-z]{1,${200 + n}}$` }])
    expect(compileSchema({ properties: { a: { pattern: '^.{1,5000}$' } } }).check).toBeUndefined()
    expect(compileSchema({ properties: Object.fromEntries(patterns) }).check).toBeUndefined()
    expect(compileSchema({ $defs: Object.fromEntries(ring), $ref: '#/$defs/0' }).check?.({})).not.toBe(false)
  })

  it('computes the cost per character', () => {
    expect(compileSchema({ properties: { a: { type: 'string' } } }).textCost).toBe(0)
    expect(compileSchema({ properties: { a: { pattern: '^[a-z]{1,64}$' } } }).textCost).toBeGreaterThan(60)
  })

  it('separates tools that use the same $id', () => {
    const one = compileSchema({ $id: 'https://example.com/tool', type: 'object', required: ['a'] })
    const two = compileSchema({ $id: 'https://example.com/tool', type: 'object', required: ['b'] })
    expect([one.check?.({ a: 1 }), two.check?.({ a: 1 })]).toEqual([true, false])
  })

  it('compiles one text once', () => {
    expect(compileSchema({ title: 'once' })).toBe(compileSchema({ title: 'once' }))
  })

  it('ignores later changes of the schema object', () => {
    const schema = { properties: { a: { type: 'string' } } }
    const { check, explain } = compileSchema(schema)
    schema.properties.a.type = 'number'
    expect(check?.({ a: 1 })).toBe(false)
    expect(explain({ a: 1 })[0]?.message).toBe('a must be a string')
  })

  it('releases unused schemas', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const settle = async () => {
      for (let turn = 0; turn < 5; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        collect()
      }
    }
    const full = process.env.TOOLYARD_TEST_FULL === '1'
    const round = async (name: string) => {
      for (let n = 0; n < (full ? 500 : 100); n++) {
        const text = `${name} ${n} ${'x'.repeat(2000)}`
        compileSchema({
          $id: `https://example.com/${n}`,
          description: text,
          properties: { a: { enum: [text] }, b: { $ref: '#/$defs/c' } },
          $defs: { c: { $anchor: `c${n}`, pattern: `^${n}$` } },
        }).check?.({ a: text })
      }
      await settle()
      return process.memoryUsage().heapUsed
    }
    const before = await round('first')
    await round('second')
    const after = await round('third')
    expect(compiledCount()).toBeLessThan(100)
    // 1,000 schemas kept would be more than 10 MB.
    if (full) expect(after - before).toBeLessThan(5_000_000)
  })
})
