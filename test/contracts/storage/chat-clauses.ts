import assert from 'node:assert/strict'
import type { ChatPage, ChatStore } from '../../../src/core/storage/chat-store.ts'
import { DEFAULT_QUOTA } from '../../../src/core/storage/quota.ts'
import { type Clauses, exceeds, NUL, refuses, UNICODE } from './contract-store.ts'

const key = (more: object = {}) => ({ tenant: 'acme', caller: 'key-1', chat: 'chat', ...more })
const turn = (messageId: string, text = messageId) => ({ messageId, messages: JSON.stringify([text]) })
const ids = async (chats: ChatStore, chat = key()) => (await chats.turns(chat)).map(({ messageId }) => messageId)

export const chatClauses: Clauses = {
  'chats: turns are stored unchanged and in order, for their caller': async (store) => {
    const [one, other] = await store.openTwo()
    const said = [turn('a', UNICODE + NUL), { ...turn('ü'), runId: 'run' }, turn('0')]
    for (const each of said) await one.chats.add(key(), each)
    await one.chats.add(key({ caller: 'key-2' }), turn('x'))
    await one.chats.add(key({ tenant: 'other' }), turn('y'))
    assert.deepEqual(await other.chats.turns(key()), said)
    assert.deepEqual(await ids(other.chats, key({ caller: 'key-2' })), ['x'])
    assert.deepEqual(await ids(other.chats, key({ tenant: 'other' })), ['y'])
    assert.deepEqual(await ids(other.chats, key({ chat: 'none' })), [])
    assert.deepEqual(await ids(other.chats, key({ tenant: 'other', caller: 'key-2' })), [])
  },

  'chats: they are listed page by page, the one with the newest turn first': async (store) => {
    const { chats } = await store.open()
    const named = (chat: string, caller = 'key-1') => key({ chat, caller })
    for (const [chat, id] of [
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
      ['a', '4'],
    ] as const) {
      await chats.add(named(chat), turn(id))
    }
    await chats.add(named('a', 'key-2'), turn('5'))
    await chats.add(key({ tenant: 'other' }), turn('6'))
    await chats.addResponse(named('resp_1'), turn('7'), { bytes: 1_000, count: 10 })
    const first = await chats.list({ tenant: 'acme', limit: 3 })
    const names = ({ chats: listed }: ChatPage) => listed.map(({ caller, chat }) => [caller, chat])
    assert.deepEqual(names(first), [
      ['key-2', 'a'],
      ['key-1', 'a'],
      ['key-1', 'c'],
    ])
    const { turns, bytes, latest, first_at, last_at } = first.chats[1] ?? assert.fail()
    assert.deepEqual([turns, bytes, latest, first_at <= last_at], [2, 10, '["4"]', true])
    const second = await chats.list({ tenant: 'acme', limit: 3, cursor: first.next })
    assert.deepEqual([names(second), second.next], [[['key-1', 'b']], undefined])
    assert.deepEqual(names(await chats.list({ tenant: 'acme', caller: 'key-2', limit: 3 })), [['key-2', 'a']])
    await refuses(chats.list({ tenant: 'acme', limit: 3, cursor: 'x' }))
  },

  'chats: a turn replaces the one with its message id and those after it, in its chat only': async (store) => {
    const { chats } = await store.open()
    for (const id of ['a', 'b', 'c']) {
      for (const chat of [key(), key({ caller: 'key-2' }), key({ chat: 'second' })]) await chats.add(chat, turn(id))
    }
    await chats.add(key(), turn('b', 'again'))
    assert.deepEqual(await chats.turns(key()), [turn('a'), turn('b', 'again')])
    for (const chat of [key({ caller: 'key-2' }), key({ chat: 'second' })]) {
      assert.deepEqual(await ids(chats, chat), ['a', 'b', 'c'])
    }
  },

  'chats: turns that are added at once are all stored': async (store) => {
    const [one, other] = await store.openTwo()
    await Promise.all(['a', 'b', 'c', 'd'].map((id, n) => (n % 2 === 0 ? one : other).chats.add(key(), turn(id))))
    assert.deepEqual((await ids(one.chats)).toSorted(), ['a', 'b', 'c', 'd'])
  },

  'chats: their messages count as storage, those that were replaced no more': async (store) => {
    const { chats, jobs } = await store.open()
    const quota = { ...DEFAULT_QUOTA, storage_bytes: 200 }
    await chats.add(key(), turn('a', 'x'.repeat(96)), quota)
    await chats.add(key(), turn('a', 'y'.repeat(96)), quota)
    await chats.add(key(), turn('b', 'x'.repeat(96)), quota)
    await exceeds('storage_bytes', chats.turns(key(), quota))
    await exceeds('storage_bytes', chats.add(key(), turn('c'), quota))
    const made = { id: 'j', caller: null, tool: 'x', params: {}, timeout_ms: 1, created_at: new Date().toISOString() }
    await exceeds('storage_bytes', jobs.create({ ...made, tenant: 'acme' }, quota))
    assert.deepEqual(await ids(chats), ['a', 'b'])
    await chats.add(key({ tenant: 'other' }), turn('c'), quota)
    await chats.add(key(), turn('a', 'short'), quota)
    assert.deepEqual(await ids(chats), ['a'])
    assert.deepEqual(await chats.turns(key(), quota), [turn('a', 'short')])
  },

  'chats: an updated turn has new messages and size, and later turns stay': async (store) => {
    const { chats } = await store.open()
    const quota = { ...DEFAULT_QUOTA, storage_bytes: 200 }
    for (const id of ['a', 'b']) await chats.add(key(), turn(id))
    await chats.add(key({ caller: 'key-2' }), turn('a'))
    await chats.update(key(), turn('a', 'x'.repeat(200)))
    await chats.update(key(), turn('gone'))
    assert.deepEqual(await chats.turns(key()), [turn('a', 'x'.repeat(200)), turn('b')])
    assert.deepEqual(await chats.turns(key({ caller: 'key-2' })), [turn('a')])
    await exceeds('storage_bytes', chats.add(key(), turn('c'), quota))
    await chats.update(key(), turn('a'))
    await chats.add(key(), turn('c'), quota)
    assert.deepEqual(await ids(chats), ['a', 'b', 'c'])
  },

  'chats: a removed chat has no turns and no size, others stay': async (store) => {
    const { chats } = await store.open()
    const quota = { ...DEFAULT_QUOTA, storage_bytes: 90 }
    for (const id of ['a', 'b']) await chats.add(key(), turn(id, 'x'.repeat(40)), quota)
    await chats.add(key({ caller: 'key-2' }), turn('a'))
    await exceeds('storage_bytes', chats.add(key(), turn('c'), quota))
    await chats.remove(key({ tenant: 'other' }))
    await chats.remove(key({ chat: 'none' }))
    assert.deepEqual(await ids(chats), ['a', 'b'])
    await chats.remove(key())
    assert.deepEqual(await ids(chats), [])
    assert.deepEqual(await ids(chats, key({ caller: 'key-2' })), ['a'])
    await chats.add(key(), turn('c', 'x'.repeat(80)), quota)
  },

  'responses: they have a share of their own, and the oldest of the tenant go first': async (store) => {
    const [one, other] = await store.openTwo()
    const quota = { ...DEFAULT_QUOTA, storage_bytes: 104 }
    const share = { bytes: 100, count: 3 }
    const response = (n: number, more: object = {}) => key({ chat: `resp_${n}`, ...more })
    const put = (n: number, size: number, more: object = {}) =>
      one.chats.addResponse(response(n, more), turn(`${n}`, 'x'.repeat(size)), share)
    const left = async (...all: number[]) =>
      (await Promise.all(all.map((n) => other.chats.turns(response(n))))).flatMap((turns) =>
        turns.map((t) => t.messageId),
      )
    await put(9, 40, { tenant: 'other' })
    for (const n of [1, 2]) await put(n, 40)
    // They don't take the place of others, nor others theirs.
    await one.chats.add(key(), turn('a', 'x'.repeat(100)), quota)
    await exceeds('storage_bytes', other.chats.add(key({ chat: 'b' }), turn('b'), quota))
    await put(3, 40, { caller: 'key-2' })
    assert.deepEqual(await left(1, 2), ['2'])
    assert.deepEqual(await ids(other.chats, response(3, { caller: 'key-2' })), ['3'])
    assert.equal(await put(4, 101), false)
    for (const n of [5, 6, 7]) await put(n, 10)
    assert.deepEqual(await left(2, 5, 6, 7), ['5', '6', '7'])
    assert.deepEqual(await ids(other.chats, response(9, { tenant: 'other' })), ['9'])
    await one.chats.remove(response(5))
    await exceeds('storage_bytes', other.chats.add(key({ chat: 'b' }), turn('b'), quota))
    await Promise.all(
      [10, 11, 12, 13, 14, 15].map((n) => (n % 2 ? other : one).chats.addResponse(response(n), turn('n'), share)),
    )
    assert.deepEqual((await left(10, 11, 12, 13, 14, 15)).length, 3)
  },

  'chats: NUL in a name is refused': async (store) => {
    const { chats } = await store.open()
    await refuses(chats.turns(key({ chat: NUL })))
    await refuses(chats.add(key({ chat: NUL }), turn('a')))
    await refuses(chats.add(key(), { ...turn('a'), messageId: NUL }))
    assert.deepEqual(await ids(chats), [])
  },
}
