import assert from 'node:assert/strict'
import type { StoredKey, StoredSession } from '../../../src/core/storage/key-store.ts'
import { type Clauses, NUL, refuses, UNICODE } from './contract-store.ts'

const key = (id: string, more: Partial<StoredKey> = {}): StoredKey => ({
  id,
  hash: `hash of ${id}`,
  tenant: 'acme',
  name: 'a key',
  role: 'user',
  scopes: null,
  tools: null,
  models: null,
  calls_per_minute: null,
  budget: null,
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: null,
  revoked_at: null,
  created_by: null,
  ...more,
})

const session = (hash: string, more: Partial<StoredSession> = {}): StoredSession => ({
  hash,
  caller: 'one',
  expires_at: 1_700_000_000_000,
  ends_at: 1_800_000_000_000.5,
  ...more,
})

const full = key('full', {
  name: UNICODE,
  role: 'admin',
  scopes: ['tools:execute', UNICODE],
  tools: ['get_*', UNICODE],
  models: [],
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

  'keys: of many that are each to be the first, one is created': async (store) => {
    const all = await store.openTwo()
    const tries = Array.from({ length: 30 }, (_none, at) => all[(at % 2) as 0 | 1].keys.create(key(`k${at}`), 'first'))
    const created = (await Promise.all(tries)).flatMap((isCreated, at) => (isCreated ? [key(`k${at}`)] : []))
    assert.equal(created.length, 1)
    assert.deepEqual(await all[0].keys.list(), created)
    await all[0].keys.revoke(created[0]?.id as string, '2026-02-01T00:00:00.000Z')
    assert.equal(await all[1].keys.create(key('late'), 'first'), false)
  },

  'keys: a tenant gets no more than a maximum, with those that were revoked lately': async (store) => {
    const all = await store.openTwo()
    const rule = { max: 4, since: '2026-02-01T00:00:00.000Z' }
    await all[0].keys.create(key('old', { revoked_at: '2026-02-01T00:00:00.000Z' }), rule)
    await all[0].keys.create(key('late', { revoked_at: '2026-02-01T00:00:00.001Z' }), rule)
    const tries = Array.from({ length: 20 }, (_none, at) => all[(at % 2) as 0 | 1].keys.create(key(`k${at}`), rule))
    assert.equal((await Promise.all(tries)).filter((isCreated) => isCreated).length, 3)
    assert.equal((await all[1].keys.list()).length, 5)
    assert.equal(await all[1].keys.create(key('other', { tenant: 'other' }), rule), true)
    assert.equal(await all[1].keys.create(key('more')), true)
  },

  'keys: one is changed unless it was changed or revoked since it was read': async (store) => {
    const { keys } = await store.open()
    await keys.create(key('one'))
    await keys.create(key('two', { tools: ['a'], budget: { per: 'day', amount: 2 }, calls_per_minute: 5 }))
    const [one, two] = (await keys.list()) as [StoredKey, StoredKey]
    const rights = { scopes: ['read'], tools: ['get_*'], models: ['mini:*'], calls_per_minute: 9 }
    const changed = { ...one, ...rights, name: 'new', role: 'admin', expires_at: '2030-01-01T00:00:00.000Z' }
    assert.equal(await keys.change(one, changed), true)
    assert.equal(await keys.change(one, { ...one, name: 'late' }), false)
    const free = { ...two, tools: null, budget: null, calls_per_minute: null }
    assert.equal(await keys.change(two, free), true)
    assert.deepEqual(await keys.list(), [changed, free])
    await keys.revoke('two', '2026-02-01T00:00:00.000Z')
    assert.equal(await keys.change(free, { ...free, name: 'late' }), false)
    assert.equal(await keys.change({ ...free, id: 'nobody' }, free), false)
  },

  'keys: one that was revoked since then is restored, without its sessions': async (store) => {
    const { keys, sessions } = await store.open()
    await keys.create(key('one'))
    await sessions.start({ hash: 'h', caller: 'one', expires_at: 9e15, ends_at: 9e15 }, 5)
    assert.equal(await keys.restore('one', '2026-01-01T00:00:00.000Z'), false)
    await keys.revoke('one', '2026-02-01T00:00:00.000Z')
    assert.equal(await keys.restore('one', '2026-02-01T00:00:00.001Z'), false)
    assert.equal(await keys.restore('nobody', '2026-02-01T00:00:00.000Z'), false)
    assert.equal(await keys.restore('one', '2026-02-01T00:00:00.000Z'), true)
    assert.deepEqual(await keys.list(), [key('one')])
    assert.equal(await sessions.get('h'), undefined)
  },

  'keys: one is rotated unless it was rotated or revoked, and has one former secret': async (store) => {
    const [{ keys, sessions }, other] = await store.openTwo()
    await keys.create(key('one'))
    await keys.create(key('two'))
    await sessions.start({ hash: 'h', caller: 'one', expires_at: 9e15, ends_at: 9e15 }, 5)
    const [one] = (await keys.list()) as [StoredKey]
    assert.equal(await keys.rotate(one, 'second', '2026-02-01T00:00:00.000Z'), true)
    assert.equal(await keys.rotate(one, 'late', '2026-02-01T00:00:00.000Z'), false)
    assert.deepEqual(await other.keys.list(), [key('one', { hash: 'second' }), key('two')])
    assert.equal(await sessions.get('h'), undefined)
    const second = { id: 'one', hash: 'second' }
    assert.equal(await keys.rotate(second, 'third', '2026-03-01T00:00:00.000Z'), true)
    assert.deepEqual(await other.keys.formerSecrets(), [{ ...second, until: '2026-03-01T00:00:00.000Z' }])
    await refuses(keys.rotate({ id: 'two', hash: 'hash of two' }, 'third', '2026-03-01T00:00:00.000Z'))
    await keys.revoke('one', '2026-02-01T00:00:00.000Z')
    assert.equal(await keys.rotate({ id: 'one', hash: 'third' }, 'fourth', '2026-04-01T00:00:00.000Z'), false)
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

  'users: they are stored and replaced, for all instances': async (store) => {
    const [one, other] = await store.openTwo()
    const ada = {
      id: 'user:acme/ada',
      tenant: 'acme',
      subject: 'ada',
      name: 'Ada',
      role: 'user',
      basis: 'b',
      issued_at: 5,
      expires_at: 2e12,
    }
    await one.keys.putUser(ada)
    await one.keys.putUser({ ...ada, id: 'user:acme/bob', subject: 'bob' })
    assert.deepEqual((await other.keys.users())[0], { ...ada, revoked_at: null })
    await other.keys.putUser({ ...ada, name: 'Ada L', role: 'admin', expires_at: 3e12 })
    const [first, ...rest] = await one.keys.users()
    assert.deepEqual(first, { ...ada, name: 'Ada L', role: 'admin', expires_at: 3e12, revoked_at: null })
    await other.keys.putUser({ ...ada, role: 'operator', issued_at: 4 })
    assert.equal((await one.keys.users()).find(({ id }) => id === ada.id)?.role, 'admin')
    assert.equal(rest.length, 1)
    assert.deepEqual(await one.keys.list(), [])
  },

  'users: a revoked one loses its sessions, and stays revoked after signing in again': async (store) => {
    const [one, other] = await store.openTwo()
    const place = { id: 'user:acme/ada', tenant: 'acme' }
    const ada = { ...place, subject: 'ada', name: 'Ada', role: 'user', basis: 'b', issued_at: 5, expires_at: 2e12 }
    await one.keys.putUser(ada)
    await one.sessions.start(session('a', { caller: ada.id }), 10)
    await one.sessions.start(session('b', { caller: 'user:acme/bob' }), 10)
    await other.keys.revokeUser(place, 7)
    await other.keys.revokeUser(place, 6)
    await one.keys.putUser({ ...ada, issued_at: 8 })
    assert.deepEqual(await one.keys.users(), [{ ...ada, issued_at: 8, revoked_at: 7 }])
    assert.equal(await one.sessions.get('a'), undefined)
    assert.notEqual(await one.sessions.get('b'), undefined)
    // A user who isn't stored, or not any more, may have a token.
    await one.keys.revokeUser({ id: 'user:acme/zoe', tenant: 'acme' }, 9)
    const users = await other.keys.users()
    assert.deepEqual(
      users.map(({ id, revoked_at }) => [id, revoked_at]),
      [
        ['user:acme/ada', 7],
        ['user:acme/zoe', 9],
      ],
    )
  },

  'sessions: they are stored, extended and ended, for all instances': async (store) => {
    const [one, other] = await store.openTwo()
    await one.sessions.start(session('a'), 10)
    await one.sessions.start(session('b'), 10)
    assert.deepEqual(await other.sessions.get('a'), session('a'))
    await other.sessions.extend('a', 1_700_000_000_123)
    assert.deepEqual(await one.sessions.get('a'), session('a', { expires_at: 1_700_000_000_123 }))
    await other.sessions.end('a')
    assert.equal(await one.sessions.get('a'), undefined)
    assert.deepEqual(await one.sessions.get('b'), session('b'))
  },

  'sessions: if a key has too many, those that expire first end': async (store) => {
    const { sessions } = await store.open()
    for (const [hash, expires_at] of [
      ['late', 9],
      ['early', 7],
      ['between', 8],
    ] as const) {
      await sessions.start(session(hash, { expires_at }), 2)
    }
    await sessions.start(session('of another', { caller: 'two', expires_at: 1 }), 2)
    const left = await Promise.all(['late', 'early', 'between', 'of another'].map((hash) => sessions.get(hash)))
    assert.deepEqual(
      left.map((one) => one?.hash),
      ['late', undefined, 'between', 'of another'],
    )
  },

  'sessions: they end when their key is revoked': async (store) => {
    const { keys, sessions } = await store.open()
    await keys.create(key('one'))
    await sessions.start(session('a'), 10)
    await sessions.start(session('b', { caller: 'two' }), 10)
    await keys.revoke('one', '2026-02-01T00:00:00.000Z')
    assert.equal(await sessions.get('a'), undefined)
    assert.deepEqual(await sessions.get('b'), session('b', { caller: 'two' }))
  },

  'keys: NUL is rejected, and nothing is stored': async (store) => {
    const { keys } = await store.open()
    await refuses(keys.create(key(NUL)))
    await refuses(keys.create(key('one', { name: NUL })))
    await refuses(keys.revoke(NUL, '2026-02-01T00:00:00.000Z'))
    assert.deepEqual(await keys.list(), [])
  },
}
