import assert from 'node:assert/strict'
import type { ItemKey, ItemStore, NewItem } from '../../../src/core/storage/item-store.ts'
import { DEFAULT_QUOTA } from '../../../src/core/storage/quota.ts'
import { type Clauses, exceeds, NUL, UNICODE } from './contract-store.ts'

const key = (id: string, more: Partial<ItemKey> = {}): ItemKey => ({
  tenant: 'acme',
  kind: 'thread',
  owner: 'key-1',
  id,
  ...more,
})
const item = (id: string, more: Partial<NewItem> = {}): NewItem => ({
  ...key(id),
  owner_name: 'Ada',
  subject: null,
  label: null,
  name: id,
  content: '{}',
  updated_at: 1,
  ...more,
})
const MANY = { most: 100 }
const ids = async (items: ItemStore, more: object = {}) =>
  (await items.list({ tenant: 'acme', kind: 'thread', limit: 100, ...more })).map(({ id }) => id)

export const itemClauses: Clauses = {
  'items: they are stored unchanged, for their owner, kind and tenant': async (store) => {
    const [one, other] = await store.openTwo()
    const content = JSON.stringify({ text: UNICODE + NUL })
    const stored = item('a', { content, name: UNICODE, subject: 'run:1', label: 'good' })
    assert.equal(await one.items.put(stored, MANY), true)
    assert.deepEqual(await other.items.get(key('a')), { ...stored, created_at: 1 })
    for (const more of [{ tenant: 'other' }, { owner: 'key-2' }, { kind: 'view' }, { id: 'b' }] as const) {
      assert.equal(await other.items.get(key('a', more)), undefined)
      assert.equal(await other.items.remove(key('a', more)), false)
    }
    await one.items.put({ ...stored, name: 'renamed', updated_at: 2 }, MANY)
    assert.deepEqual(await other.items.get(key('a')), { ...stored, name: 'renamed', created_at: 1, updated_at: 2 })
    assert.equal(await one.items.remove(key('a')), true)
    assert.equal(await other.items.get(key('a')), undefined)
  },

  'items: lists are filtered, newest first, and leave out the content of threads': async (store) => {
    const { items } = await store.open()
    await items.put(item('a', { content: '{"large":1}' }), MANY)
    await items.put(item('b', { updated_at: 3, owner: 'key-2', label: 'shared' }), MANY)
    await items.put(item('c', { updated_at: 2, subject: 'run:1' }), MANY)
    await items.put(item('d', { tenant: 'other' }), MANY)
    await items.put(item('e', { kind: 'view', content: '{"address":"/"}' }), MANY)
    assert.deepEqual(await ids(items), ['b', 'c', 'a'])
    assert.deepEqual(await ids(items, { limit: 1 }), ['b'])
    assert.deepEqual(await ids(items, { owner: 'key-1' }), ['c', 'a'])
    assert.deepEqual(await ids(items, { owner: 'key-1', orLabel: 'shared' }), ['b', 'c', 'a'])
    assert.deepEqual(await ids(items, { subject: 'run:1' }), ['c'])
    assert.deepEqual(await ids(items, { label: 'shared' }), ['b'])
    const [thread] = await items.list({ tenant: 'acme', kind: 'thread', owner: 'key-1', subject: 'run:1', limit: 1 })
    assert.equal(thread?.content, 'null')
    const [view] = await items.list({ tenant: 'acme', kind: 'view', limit: 1 })
    assert.equal(view?.content, '{"address":"/"}')
  },

  'items: an item that was changed since it was read is not replaced': async (store) => {
    const [one, other] = await store.openTwo()
    assert.equal(await one.items.put(item('a'), { ...MANY, before: 7 }), false)
    assert.equal(await one.items.put(item('a'), { ...MANY, before: null }), true)
    assert.equal(await other.items.put(item('a', { name: 'x' }), { ...MANY, before: null }), false)
    assert.equal(await other.items.put(item('a', { name: 'x', updated_at: 2 }), { ...MANY, before: 1 }), true)
    assert.equal(await one.items.put(item('a', { name: 'y', updated_at: 3 }), { ...MANY, before: 1 }), false)
    assert.equal((await one.items.get(key('a')))?.name, 'x')
  },

  'items: with too many, the oldest ones go or the new one is refused': async (store) => {
    const { items } = await store.open()
    for (const [index, id] of ['a', 'b', 'c'].entries()) {
      await items.put(item(id, { updated_at: index }), { most: 2 })
    }
    assert.deepEqual(await ids(items), ['c', 'b'])
    assert.equal(await items.put(item('d'), { most: 2, refuse: true }), false)
    assert.equal(await items.put(item('c', { name: 'changed', updated_at: 9 }), { most: 2, refuse: true }), true)
    assert.equal(await items.put(item('d', { owner: 'key-2' }), { most: 2, refuse: true }), true)
  },

  'items: they count against the quota of their tenant until they are removed': async (store) => {
    const { items } = await store.open()
    const quota = { ...DEFAULT_QUOTA, storage_bytes: 12 }
    const of = (id: string, content: string) => items.put(item(id, { content, name: '' }), { ...MANY, quota })
    await of('a', '"12345678"')
    await exceeds('storage_bytes', of('b', '"1"'))
    await of('a', '"12"')
    await of('b', '"12345"')
    await exceeds('storage_bytes', of('a', '"123456789"'))
    await items.remove(key('b'))
    await of('a', '"1234567"')
  },
}
