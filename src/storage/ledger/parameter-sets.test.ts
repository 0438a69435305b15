import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { call, openLedger } from './fixtures/open-ledger.ts'
import { ParameterSets } from './parameter-sets.ts'

const named = (name: string | number): string => hash('sha256', String(name))

test('finds the common sets among any number of others, and overstates none', () => {
  const sets = new ParameterSets()
  const common = [named('a'), named('b'), named('c')] as const
  for (let n = 0; n < 10_000; n++) {
    sets.record(named(n))
    if (n % 4 === 0) sets.record(common[0])
    if (n % 8 === 0) sets.record(common[1])
    if (n % 16 === 0) sets.record(common[2])
  }
  const top = sets.top()
  expect(top).toHaveLength(20)
  expect(top.slice(0, 3).map(({ params_hash }) => params_hash)).toEqual(common)
  expect(top.map(({ calls }) => calls).slice(0, 2)).toEqual([2_500, 1_250])
  for (const { calls } of top.slice(3)) expect(calls).toBe(1)
})

test('reports what was counted, and every set with at least a fiftieth of the calls', () => {
  const few = fc.nat(30)
  const many = fc.nat(1_000)
  fc.assert(
    fc.property(fc.array(fc.oneof(few, many), { minLength: 200, maxLength: 2_000 }), (names) => {
      const sets = new ParameterSets()
      const exact = new Map<string, number>()
      for (const name of names) {
        sets.record(String(name))
        exact.set(String(name), (exact.get(String(name)) ?? 0) + 1)
      }
      const told = new Map(sets.top(50).map(({ params_hash, calls }) => [params_hash, calls]))
      for (const [name, calls] of told) expect(calls).toBeLessThanOrEqual(exact.get(name) ?? 0)
      for (const [name, calls] of exact) if (calls > names.length / 50) expect(told.has(name)).toBe(true)
    }),
    { numRuns: 30 },
  )
})

test('merges lists', () => {
  const [one, two, all] = [new ParameterSets(), new ParameterSets(), new ParameterSets()]
  for (let n = 0; n < 5; n++) one.record(named('a'))
  for (let n = 0; n < 3; n++) two.record(named('a'))
  for (let n = 0; n < 7; n++) two.record(named('b'))
  all.merge(one.encode())
  all.merge(two.encode())
  expect(all.top()).toEqual([
    { params_hash: named('a'), calls: 8 },
    { params_hash: named('b'), calls: 7 },
  ])
})

test('a ledger tells those of one tool and one tenant, by hash', async () => {
  const { ledger, stored, clock } = openLedger()
  const at = clock.wall()
  await ledger.append([call({ at }), call({ at }), call({ at, params: '{"city":"Rome"}' })], [])
  await ledger.append([call({ at, tool: 'other' }), call({ at, tenant: 'b' }), call({ at, params: null })], [])
  const [hamburg, , rome] = stored.rows.map(({ params_hash }) => params_hash)
  const sets = (tenant: string | undefined) => ledger.parameterSets({ tenant, window: '24h', tool: 'weather' })
  expect(await sets('acme')).toEqual([
    { params_hash: hamburg, calls: 2 },
    { params_hash: rome, calls: 1 },
  ])
  expect((await sets(undefined))[0]).toEqual({ params_hash: hamburg, calls: 3 })
})

test('windows count whole days', async () => {
  const { ledger, clock } = openLedger()
  const [hour, day] = [3_600_000, 86_400_000]
  clock.advance(2 * hour)
  const now = clock.wall()
  const midnight = now - 2 * hour
  const ages = [midnight, midnight - 1, midnight - day, midnight - day - 1, midnight - 7 * day, midnight - 7 * day - 1]
  for (const at of ages) await ledger.append([call({ at })], [])
  const calls = async (window: '1h' | '24h' | '7d') =>
    (await ledger.parameterSets({ tenant: 'acme', window, tool: 'weather' }))[0]?.calls
  expect([await calls('1h'), await calls('24h'), await calls('7d')]).toEqual([1, 3, 5])
})
