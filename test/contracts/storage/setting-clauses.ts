import assert from 'node:assert/strict'
import { type Clauses, NUL, refuses, UNICODE } from './contract-store.ts'

const VALUES: readonly unknown[] = [
  null,
  false,
  0,
  -1.5e300,
  '',
  UNICODE,
  NUL,
  '\uD800',
  [],
  {},
  { deep: [{ a: [null, { __proto__x: UNICODE }] }] },
]

export const settingClauses: Clauses = {
  'settings: any JSON value is stored unchanged': async (store) => {
    const [one, other] = await store.openTwo()
    for (const [index, value] of VALUES.entries()) {
      await one.settings.put({ kind: 'pin', name: `${100 + index}`, value })
    }
    const expected = VALUES.map((value, index) => ({ kind: 'pin', name: `${100 + index}`, value }))
    assert.deepEqual(await one.settings.list('pin'), expected)
    assert.deepEqual(await other.settings.list('pin'), expected)
  },

  'settings: they are listed by kind, in the order of their names': async (store) => {
    const { settings } = await store.open()
    assert.deepEqual(await settings.list('tenant'), [])
    for (const name of ['b', 'ä', 'B', 'a', UNICODE]) await settings.put({ kind: 'tenant', name, value: name })
    await settings.put({ kind: 'limits', name: 'a', value: 'a limit' })
    await settings.put({ kind: 'secret', name: 'a', value: 'a secret' })
    assert.deepEqual(
      (await settings.list('tenant')).map(({ name }) => name),
      ['B', 'a', 'b', UNICODE, 'ä'],
    )
    assert.deepEqual(await settings.list('limits'), [{ kind: 'limits', name: 'a', value: 'a limit' }])
    assert.deepEqual(await settings.list('pin'), [])
  },

  'settings: a second value takes the place of the first': async (store) => {
    const { settings } = await store.open()
    await settings.put({ kind: 'tenant', name: 'acme', value: { flags: { a: true } } })
    await settings.put({ kind: 'tenant', name: 'acme', value: { flags: {} } })
    assert.deepEqual(await settings.list('tenant'), [{ kind: 'tenant', name: 'acme', value: { flags: {} } }])
  },

  'settings: the first value of putFirst stays': async (store) => {
    const { settings } = await store.open()
    assert.equal(await settings.putFirst({ kind: 'secret', name: 'key', value: 'first' }), 'first')
    assert.equal(await settings.putFirst({ kind: 'secret', name: 'key', value: 'second' }), 'first')
    assert.deepEqual(await settings.list('secret'), [{ kind: 'secret', name: 'key', value: 'first' }])
  },

  'settings: a value is replaced only if it is still the one before': async (store) => {
    const both = await store.openTwo()
    const setting = (value: unknown) => ({ kind: 'rollout', name: 'greet', value }) as const
    const replace = (side: 0 | 1, value: unknown, before?: unknown) =>
      both[side].settings.replace(setting(value), before)
    assert.equal(await replace(0, { a: 1 }, { a: 0 }), false)
    assert.equal(await replace(0, { a: 1 }), true)
    assert.equal(await replace(1, { a: 2 }), false)
    const before = { a: 1 }
    const tried = await Promise.all([0, 1, 0, 1].map((side, index) => replace(side as 0 | 1, { by: index }, before)))
    assert.equal(tried.filter(Boolean).length, 1)
    assert.deepEqual(await both[1].settings.list('rollout'), [setting({ by: tried.indexOf(true) })])
  },

  'settings: of changes of the state of alerts at once one counts': async (store) => {
    const both = await store.openTwo()
    const setting = (value: unknown) => ({ kind: 'alerts', name: 'objectives', value }) as const
    assert.equal(await both[0].settings.replace(setting({ at: 1 })), true)
    assert.equal(await both[1].settings.replace(setting({ at: 2 })), false)
    const sides = [0, 1, 0, 1] as const
    const tried = await Promise.all(
      sides.map((side, index) => both[side].settings.replace(setting({ by: index }), { at: 1 })),
    )
    assert.equal(tried.filter(Boolean).length, 1)
    assert.deepEqual(await both[1].settings.list('alerts'), [setting({ by: tried.indexOf(true) })])
  },

  'settings: instances that put first at once agree': async (store) => {
    const both = await store.openTwo()
    const put = Array.from({ length: 20 }, (_, index) =>
      (both[index % 2] as (typeof both)[0]).settings.putFirst({ kind: 'secret', name: 'key', value: index }),
    )
    const given = new Set(await Promise.all(put))
    assert.equal(given.size, 1)
    assert.deepEqual(await both[0].settings.list('secret'), [{ kind: 'secret', name: 'key', value: [...given][0] }])
  },

  'settings: one is removed, and no other': async (store) => {
    const { settings } = await store.open()
    await settings.put({ kind: 'tenant', name: 'acme', value: 1 })
    await settings.put({ kind: 'limits', name: 'acme', value: 2 })
    assert.equal(await settings.remove('tenant', 'nobody'), false)
    assert.equal(await settings.remove('tenant', 'acme'), true)
    assert.equal(await settings.remove('tenant', 'acme'), false)
    assert.deepEqual(await settings.list('tenant'), [])
    assert.deepEqual(await settings.list('limits'), [{ kind: 'limits', name: 'acme', value: 2 }])
  },

  'settings: NUL in a name is rejected, and nothing is stored': async (store) => {
    const { settings } = await store.open()
    await refuses(settings.put({ kind: 'tenant', name: NUL, value: 1 }))
    await refuses(settings.putFirst({ kind: 'tenant', name: NUL, value: 1 }))
    await refuses(settings.remove('tenant', NUL))
    assert.deepEqual(await settings.list('tenant'), [])
  },
}
