import assert from 'node:assert/strict'
import type { ConnectionKey } from '../../../src/core/storage/connection-store.ts'
import type { Clauses } from './contract-store.ts'

const AT = Date.UTC(2026, 6, 15, 12)
const KEY: ConnectionKey = { tenant: 'acme', user: 'user:acme/ann', provider: 'github' }
const TOKENS = { tokens: 'sealed.old.a', scopes: 'repo', expires_at: AT + 1_000 }
const FLOW = { ...KEY, id: 'link', state_hash: 'state', verifier: 'sealed.old.v', expires_at: AT + 1_000 }
const rateLimited = { code: 'RATE_LIMITED' }

export const connectionClauses: Clauses = {
  'connections: a connection belongs to one tenant, user and provider': async (store) => {
    const [one, other] = await store.openTwo()
    await one.connections.put(KEY, TOKENS, AT, 10)
    const stored = { ...KEY, ...TOKENS, version: 1, broken: false, created_at: AT, updated_at: AT }
    assert.deepEqual(await other.connections.get(KEY), stored)
    for (const more of [{ tenant: 'globex' }, { user: 'user:acme/bob' }, { provider: 'gitlab' }]) {
      assert.equal(await other.connections.get({ ...KEY, ...more }), undefined)
      assert.equal(await other.connections.remove({ ...KEY, ...more }), undefined)
    }
    await one.connections.put({ ...KEY, user: 'key-1' }, TOKENS, AT, 10)
    assert.deepEqual(await other.connections.list('acme', KEY.user, 10), [stored])
    assert.deepEqual(
      (await other.connections.list('acme', undefined, 10)).map(({ user }) => user),
      ['key-1', KEY.user],
    )
    assert.deepEqual(await other.connections.list('globex', undefined, 10), [])
    await one.connections.put(KEY, { ...TOKENS, expires_at: null }, AT + 5, 10)
    const again = { ...stored, version: 2, expires_at: null, created_at: AT + 5, updated_at: AT + 5 }
    assert.deepEqual(await other.connections.remove(KEY), again)
    assert.equal(await one.connections.get(KEY), undefined)
  },

  'connections: a tenant has at most so many': async (store) => {
    const [one] = await store.openTwo()
    await one.connections.put(KEY, TOKENS, AT, 1)
    await assert.rejects(one.connections.put({ ...KEY, user: 'key-1' }, TOKENS, AT, 1), rateLimited)
    await one.connections.put(KEY, TOKENS, AT, 1)
    await one.connections.put({ ...KEY, tenant: 'globex' }, TOKENS, AT, 1)
  },

  'connections: one server at a time renews a version': async (store) => {
    const [one, other] = await store.openTwo()
    await one.connections.put(KEY, TOKENS, AT, 10)
    const tries = [one, other, one, other].map((each) => each.connections.lease(KEY, 1, AT, AT + 100))
    assert.equal((await Promise.all(tries)).filter((leased) => leased).length, 1)
    assert.equal(await other.connections.lease(KEY, 1, AT + 99, AT + 200), false)
    assert.equal(await other.connections.lease(KEY, 1, AT + 100, AT + 200), true)
    await other.connections.release(KEY, 1)
    assert.equal(await one.connections.lease(KEY, 1, AT, AT + 100), true)
    assert.equal(await one.connections.renew(KEY, 1, { ...TOKENS, tokens: 'sealed.old.b' }, AT + 1), true)
    assert.equal(await other.connections.renew(KEY, 1, TOKENS, AT + 2), false)
    assert.equal(await other.connections.lease(KEY, 1, AT, AT + 100), false)
    assert.equal(await other.connections.renew(KEY, 2, 'broken', AT + 3), true)
    const { tokens, version, broken, updated_at } = (await one.connections.get(KEY)) ?? {}
    assert.deepEqual(
      { tokens, version, broken, updated_at },
      { tokens: 'sealed.old.b', version: 3, broken: true, updated_at: AT + 3 },
    )
    await one.connections.remove(KEY)
    assert.equal(await other.connections.renew(KEY, 3, TOKENS, AT), false)
  },

  'connections: an authorization works once, and until it expires': async (store) => {
    const [one, other] = await store.openTwo()
    assert.equal(await one.connections.begin(FLOW, AT, 2), true)
    assert.equal(await other.connections.begin({ ...FLOW, state_hash: 'again' }, AT, 2), false)
    assert.equal(await other.connections.finish('other', AT), undefined)
    assert.equal(await other.connections.finish('state', FLOW.expires_at), undefined)
    const taken = await Promise.all([one, other].map((each) => each.connections.finish('state', AT)))
    assert.deepEqual(
      taken.filter((flow) => flow !== undefined),
      [FLOW],
    )
    assert.equal(await other.connections.begin({ ...FLOW, state_hash: 'third' }, AT, 2), false)
    assert.equal(await other.connections.begin({ ...FLOW, id: 'next', state_hash: 'next' }, AT, 2), true)
    await assert.rejects(one.connections.begin({ ...FLOW, id: 'more', state_hash: 'more' }, AT, 2), rateLimited)
    assert.equal(await one.connections.begin({ ...FLOW, id: 'bob', state_hash: 'bob', user: 'b' }, AT, 2), true)
  },

  'connections: texts that are encrypted with an older key are found and replaced': async (store) => {
    const [one] = await store.openTwo()
    await one.connections.put(KEY, TOKENS, AT, 10)
    await one.connections.put({ ...KEY, user: 'key-1' }, { ...TOKENS, tokens: 'sealed.new.a' }, AT, 10)
    const run = { id: 'run-1', tenant: 'acme', caller: 'k', model: 'a:b', fingerprint: '', created_at: AT }
    await one.durableRuns.create({ ...run, request: 'sealed.old.r' })
    await one.durableRuns.create({ ...run, id: 'run-2', request: '{}' })
    await one.settings.put({ kind: 'stored_secret', name: 'TOKEN', value: 'sealed.old.s' })
    await one.settings.put({ kind: 'stored_secret', name: 'NEWER', value: 'sealed.new.s' })
    const found = await one.connections.sealed('new', 10)
    assert.deepEqual(found.map(({ table, place, text }) => [table, place, text]).sort(), [
      ['connections', JSON.stringify(['connection', 'acme', KEY.user, 'github']), 'sealed.old.a'],
      ['durable_runs', 'run-1', 'sealed.old.r'],
      ['settings', 'secret TOKEN', 'sealed.old.s'],
    ])
    assert.equal((await one.connections.sealed('new', 1)).length, 1)
    for (const text of found) assert.equal(await one.connections.reseal(text, 'sealed.new.b'), true)
    for (const text of found) assert.equal(await one.connections.reseal(text, 'sealed.new.c'), false)
    assert.deepEqual(await one.connections.sealed('new', 10), [])
    assert.equal((await one.connections.get(KEY))?.tokens, 'sealed.new.b')
    assert.equal((await one.durableRuns.get('acme', 'run-1'))?.request, 'sealed.new.b')
    const secrets = await one.settings.list('stored_secret')
    assert.deepEqual(
      secrets.map(({ value }) => value),
      ['sealed.new.s', 'sealed.new.b'],
    )
  },
}
