import { expect, test } from 'vitest'
import type { Kind } from '../handler.ts'
import type { ToolDefinition } from '../tool.ts'
import { codeIdentity } from './core-kinds.ts'
import { definitionHash } from './definition-hash.ts'

const kind: Kind = { effect: () => 'write', bind: () => () => () => 1 }
const calling: Kind = { ...kind, callees: ({ implementation }) => implementation.calls as readonly string[] }

const define = (name: string, implementation: object, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  ...{ name, description: name, parameters: { type: 'object' }, ...more },
  implementation: { type: 'x', ...implementation },
})

function hashOf(tool: ToolDefinition, others: readonly ToolDefinition[] = []): Promise<string> {
  const all = [tool, ...others]
  return definitionHash(tool, {
    kindOf: ({ implementation }) => ('calls' in implementation ? calling : kind),
    reachable: (name) => all.filter((one) => one.name === name),
    settled: async () => {},
  })
}

test('tools that call each other have a hash, which changes with each of them', async () => {
  const [a, b] = [define('a', { calls: ['b'] }), define('b', { calls: ['a', 'c'] })]
  const before = await hashOf(a, [b, define('c', { url: 1 })])
  expect(await hashOf(a, [define('c', { url: 1 }), b])).toBe(before)
  expect(await hashOf(a, [b, define('c', { url: 2 })])).not.toBe(before)
  expect(await hashOf(a, [b])).not.toBe(before)
})

test('a long chain of tools has a hash', async () => {
  const chain = Array.from({ length: 10_000 }, (_, at) => define(`t${at}`, { calls: [`t${at + 1}`] }))
  const byName = new Map(chain.map((one) => [one.name, one]))
  const parts = {
    kindOf: () => calling,
    reachable: (name: string) => [byName.get(name)].filter((one) => one !== undefined),
    settled: async () => {},
  }
  expect(await definitionHash(chain[0] as ToolDefinition, parts)).toMatch(/^[0-9a-f]{64}$/)
})

test('the order of keys and the description do not count', async () => {
  const parameters = { type: 'object', properties: { a: {}, b: {} } }
  const one = define('t', { x: 1, y: 2 }, { parameters })
  const other = define('t', { y: 2, x: 1 }, { parameters: { properties: { b: {}, a: {} }, type: 'object' } })
  expect(await hashOf({ ...other, description: 'Another' })).toBe(await hashOf(one))
})

const migrate = (...steps: NonNullable<ToolDefinition['migrate']>): Promise<string> =>
  hashOf(define('t', {}, { parameters: { type: 'object', properties: { to: {} } }, migrate: steps }))

test.each([
  ['a default', { defaults: { to: 'bob' } }, { defaults: { to: 'eve' } }],
  ['a new name', { rename: { a: 'to', b: 'from' } }, { rename: { a: 'from', b: 'to' } }],
  ['a dropped parameter', { drop: ['a'] }, { drop: ['a', 'b'] }],
])('%s of a migration counts', async (_what, before, after) => {
  expect(await migrate({ from: '1.0.0', ...before })).not.toBe(await migrate({ from: '1.0.0', ...after }))
})

test('migrations that can not change parameters do not count, and the order of the others does', async () => {
  const none = await migrate()
  expect(await migrate({ from: '1.0.0' })).toBe(none)
  expect(await migrate({ from: '1.0.0', rename: { to: 'x' }, defaults: { y: 1 } })).toBe(none)
  const [a, b] = [{ defaults: { x: 1 } }, { defaults: { x: 2 } }]
  const inOrder = await migrate({ from: '1.0.0', ...a }, { from: '2.0.0', ...b })
  expect(await migrate({ from: '2.0.0', ...b }, { from: '1.0.0', ...a })).toBe(inOrder)
  expect(await migrate({ from: '1.0.0', ...b }, { from: '2.0.0', ...a })).not.toBe(inOrder)
})

test('functions in an implementation count with their text', async () => {
  const of = (run: () => number) => hashOf(define('t', { run }))
  expect(await of(() => 1)).toBe(await of(() => 1))
  expect(await of(() => 1)).not.toBe(await of(() => 2))
})

test('what the code of a tool may call counts, also where the tool is called by another one', async () => {
  const coded: Kind = { ...calling, identity: () => ({ implementation: 'limits' }) }
  const kinds: Record<string, Kind> = { run_code: coded, flow: calling, pay: kind }
  const hashed = (tool: ToolDefinition, url: string) => {
    const all = [tool, define('run_code', { calls: ['pay'] }), define('pay', { url })]
    return definitionHash(tool, {
      kindOf: ({ name }) => kinds[name],
      reachable: (name) => all.filter((one) => one.name === name),
      settled: async () => {},
    })
  }
  const flow = define('flow', { calls: ['run_code'] })
  expect(await hashed(flow, 'a')).not.toBe(await hashed(flow, 'b'))
  const code = define('run_code', { calls: ['pay'] })
  expect(await hashed(code, 'a')).toBe(await hashed(code, 'a'))
  expect(await hashed(code, 'a')).not.toBe(await hashed(code, 'b'))
})

test('code counts with its version, else with its text, and bound functions each as another one', () => {
  function pay() {}
  function refund() {}
  expect(codeIdentity({ version: '1.0.0' }, pay)).toBe('1.0.0')
  expect(codeIdentity({}, pay)).not.toEqual(codeIdentity({}, refund))
  const bound = pay.bind(null)
  expect(codeIdentity({}, bound)).toEqual(codeIdentity({}, bound))
  expect(codeIdentity({}, bound)).not.toEqual(codeIdentity({}, pay.bind(null)))
  expect(codeIdentity({ version: '1.0.0' }, bound)).toBe('1.0.0')
  expect(codeIdentity({}, undefined)).toEqual([null])
})
