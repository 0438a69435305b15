import { describe, expect, it } from 'vitest'
import { compileSchema } from './compiled-schema.ts'
import { guardParameters, guardSchema } from './guard-schema.ts'
import { RefusedSchemaError } from './schema-references.ts'

const nested = (levels: number): unknown => (levels === 0 ? {} : { not: nested(levels - 1) })

describe('guardSchema refuses', () => {
  it.each<[string, unknown, string]>([
    ['what is no schema', 'text', 'is not an object'],
    ['a list', [], 'is not an object'],
    ['33 levels', nested(32), 'nested deeper than 32 levels'],
    [
      '33 levels of data',
      { default: JSON.parse(`${'['.repeat(32)}${']'.repeat(32)}`) },
      'nested deeper than 32 levels',
    ],
    ['2,001 nodes', { enum: Array.from({ length: 2000 }, () => []) }, 'has more than 2000 nodes'],
    ['64 KB', { description: 'x'.repeat(65_537) }, 'longer than 65536 characters'],
    ['$async at the root', { $async: true }, '"$async" is not allowed'],
    ['$async further down', { properties: { a: { items: { $async: true } } } }, '"$async" is not allowed'],
    ['$async behind a reference into data', { $ref: '#/x/y', x: { y: { $async: true } } }, '"$async" is not allowed'],
    ['$vocabulary', { $vocabulary: {} }, '"$vocabulary" is not allowed'],
    ['a remote $ref', { $ref: 'http://x/y' }, '$ref "http://x/y" is remote: only references inside the schema work'],
    [
      'a file',
      { items: { $ref: 'file:///etc/passwd' } },
      '$ref "file:///etc/passwd" is remote: only references inside the schema work',
    ],
    [
      'a remote $dynamicRef',
      { $dynamicRef: 'http://x/y#a' },
      '$ref "http://x/y#a" is remote: only references inside the schema work',
    ],
    [
      'an address that only begins as a draft does',
      { $ref: 'https://json-schema.org/draft/2020-12/schemas' },
      '$ref "https://json-schema.org/draft/2020-12/schemas" is remote: only references inside the schema work',
    ],
    ['a reference to nothing', { $ref: '#/$defs/a' }, '$ref "#/$defs/a" has no target'],
    ['a reference to itself', { $ref: '#' }, 'a $ref is circular: it leads back to itself on the same value'],
    [
      'a circle of references',
      { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } },
      'a $ref is circular: it leads back to itself on the same value',
    ],
    ['functions', { default: () => 1 }, 'contains a function, which is not valid JSON'],
    ['bigints', { const: 1n }, 'contains a bigint, which is not valid JSON'],
  ])('%s', (_, schema, reason) => {
    expect(() => guardSchema(schema)).toThrow(new RefusedSchemaError(reason))
  })

  it("objects that can't be read, without passing on their errors", () => {
    const getter = {
      get type() {
        throw 'secret'
      },
    }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const cyclic: Record<string, unknown> = {}
    cyclic.not = cyclic
    const endless: object = new Proxy(
      {},
      {
        ownKeys: () => ['not'],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
        get: () => endless,
      },
    )
    for (const schema of [getter, proxy])
      expect(() => guardSchema(schema)).toThrow(new RefusedSchemaError('cannot be read'))
    for (const schema of [cyclic, endless])
      expect(() => guardSchema(schema)).toThrow(new RefusedSchemaError('nested deeper than 32 levels'))
  })

  it('names the depth of a schema that is too deep to be serialized', () => {
    let deep: object = { type: 'string' }
    for (let level = 0; level < 20_000; level++) deep = { not: deep }
    expect(() => compileSchema({ ...deep })).toThrow(new RefusedSchemaError('nested deeper than 32 levels'))
  })
})

describe('guardParameters refuses', () => {
  const hidden = (name: string, value: unknown, schema: object) => Object.defineProperty(schema, name, { value })
  const changes = 'changes when it is serialized as JSON'
  it.each<[string, unknown, string]>([
    ['a hidden toJSON', hidden('toJSON', () => ({}), { type: 'object' }), changes],
    ['a hidden toJSON further down', { type: 'object', properties: hidden('toJSON', () => ({}), {}) }, changes],
    ['a hidden type', hidden('type', 'object', {}), changes],
    ['a type that is computed', Object.defineProperty({}, 'type', { get: () => 'object', enumerable: true }), changes],
    ['a boolean', true, changes],
    [
      'a circular reference',
      { type: 'object', $ref: '#' },
      'a $ref is circular: it leads back to itself on the same value',
    ],
  ])('%s', (_, schema, message) => {
    expect(() => guardParameters(schema)).toThrow(new RefusedSchemaError(message))
  })
})
