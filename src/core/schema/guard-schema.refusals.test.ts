import { describe, expect, it } from 'vitest'
import { compileSchema } from './compiled-schema.ts'
import { guardParameters, guardSchema } from './guard-schema.ts'
import { RefusedSchemaError } from './schema-references.ts'

const CIRCULAR = 'a $ref is circular: it leads back to itself on the same value'
const EXPENSIVE = 'is too expensive to check: its references make more than 100000000 checks of one value'

/** Each definition applies the next one twice. */
function doubling(levels: number, twice: (next: string) => object): Record<string, object> {
  const definitions: Record<string, object> = { [`d${levels}`]: { type: 'object' } }
  for (let level = 0; level < levels; level++) definitions[`d${level}`] = twice(`d${level + 1}`)
  return definitions
}

const allOfTwice = (next: string) => ({ allOf: [{ $ref: `#/$defs/${next}` }, { $ref: `#/$defs/${next}` }] })

const dynamicTwice = (next: string) => ({
  $dynamicAnchor: next.replace(/\d+/, (level) => String(Number(level) - 1)),
  anyOf: [{ $dynamicRef: `#${next}` }, { $dynamicRef: `#${next}` }],
})

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
    ['a reference to itself', { $ref: '#' }, CIRCULAR],
    [
      'a circle of references',
      { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } },
      CIRCULAR,
    ],
    ['a dynamic reference to itself', { $dynamicRef: '#x', $dynamicAnchor: 'x' }, CIRCULAR],
    ['one through allOf', { allOf: [{ $dynamicRef: '#x' }], $dynamicAnchor: 'x' }, CIRCULAR],
    [
      'one through $ref and anyOf',
      { $ref: '#/$defs/a', $defs: { a: { $dynamicAnchor: 'y', anyOf: [{ $dynamicRef: '#y' }] } } },
      CIRCULAR,
    ],
    ['one at a property', { properties: { a: { $dynamicRef: '#x', $dynamicAnchor: 'x' } } }, CIRCULAR],
    [
      'one through the anchor of another schema',
      {
        $id: 'https://example.com/root',
        $dynamicAnchor: 'x',
        $ref: 'list',
        $defs: { list: { $id: 'list', $dynamicRef: '#x', $defs: { x: { $dynamicAnchor: 'x' } } } },
      },
      CIRCULAR,
    ],
    [
      'references that double 30 times',
      { allOf: [{ $ref: '#/$defs/d0' }], $defs: doubling(30, allOfTwice) },
      EXPENSIVE,
    ],
    ['such references at an item', { items: { $ref: '#/$defs/d0' }, $defs: doubling(30, allOfTwice) }, EXPENSIVE],
    [
      'dynamic references that double 30 times',
      {
        $dynamicRef: '#d0',
        $defs: { ...doubling(30, dynamicTwice), d30: { $dynamicAnchor: 'd30' } },
      },
      EXPENSIVE,
    ],
    ['functions', { default: () => 1 }, 'contains a function, which is not valid JSON'],
    ['bigints', { const: 1n }, 'contains a bigint, which is not valid JSON'],
  ])('%s', (_, schema, reason) => {
    expect(() => guardSchema(schema)).toThrow(new RefusedSchemaError(reason))
  })

  it('no references that double so often that a child process can check them', () => {
    expect(guardSchema({ $ref: '#/$defs/d0', $defs: doubling(20, allOfTwice) }).ordinary).toBe(false)
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
    ['a circular reference', { type: 'object', $ref: '#' }, CIRCULAR],
  ])('%s', (_, schema, message) => {
    expect(() => guardParameters(schema)).toThrow(new RefusedSchemaError(message))
  })
})
