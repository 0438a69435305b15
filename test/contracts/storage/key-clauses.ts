import assert from 'node:assert/strict'
import type { StoredKey } from '../../../src/core/storage/key-store.ts'
import { type Clauses, NUL, refuses, UNICODE } from './contract-store.ts'

const key = (id: string, more: Partial<StoredKey> = {}): StoredKey => ({
  id,
  hash: `hash of ${id}`,
  tenant: 'acme',
  name: 'a key',
  role: 'user',
  scopes: null,
  calls_per_minute: null,
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: null,
  revoked_at: null,
  ...more,
})

const full = key('full', {
  name: UNICODE,
  role: 'admin',
  scopes: ['tools:execute', UNICODE],
  calls_per_minute: 90,
  expires_at: '2027-01-01T00:00:00.000Z',
  revoked_at: '2026-06-01T00:00:00.000Z',
})

export const keyClauses: Clauses = {
  'keys: every field is stored, for all tenants': async (store) => {
    const [one, other] = await store.openTwo()
    assert.deepEqual(await one.keys.list(), [])
    const keys = [key('bare'), full, key('third', { tenant: 'other', scopes: [] })]
    for (const each of keys) await one.keys.create(each)
    assert.deepEqual(await one.keys.list(), keys)
    assert.deepEqual(await other.keys.list(), keys)
  },

  'keys: they are listed as they were created': async (store) => {
    const { keys } = await store.open()
    for (const [id, day] of [
      ['b', 3],
      ['a', 3],
      ['c', 1],
      ['d', 2],
    ] as const) {
      await keys.create(key(id, { created_at: `2026-01-0${day}T00:00:00.000Z` }))
    }
    assert.deepEqual(
      (await keys.list()).map(({ id }) => id),
      ['c', 'd', 'a', 'b'],
    )
  },

  'keys: a second one with the same id or hash is refused, and the first stays': async (store) => {
    const { keys } = await store.open()
    await keys.create(key('one'))
    await refuses(keys.create(key('one', { hash: 'another', name: 'thief' })))
    await refuses(keys.create(key('two', { hash: 'hash of one' })))
    assert.deepEqual(await keys.list(), [key('one')])
  },

  'keys: one is revoked once, and stays on record': async (store) => {
    const { keys } = await store.open()
    await keys.create(key('one'))
    await keys.create(key('two'))
    assert.equal(await keys.revoke('nobody', '2026-02-01T00:00:00.000Z'), false)
    assert.equal(await keys.revoke('one', '2026-02-01T00:00:00.000Z'), true)
    assert.equal(await keys.revoke('one', '2026-03-01T00:00:00.000Z'), true)
    assert.deepEqual(await keys.list(), [key('one', { revoked_at: '2026-02-01T00:00:00.000Z' }), key('two')])
  },

  'keys: NUL is rejected, and nothing is stored': async (store) => {
    const { keys } = await store.open()
    await refuses(keys.create(key(NUL)))
    await refuses(keys.create(key('one', { name: NUL })))
    await refuses(keys.revoke(NUL, '2026-02-01T00:00:00.000Z'))
    assert.deepEqual(await keys.list(), [])
  },
}
