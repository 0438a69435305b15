import { expect, test } from 'vitest'
import type { CacheEntry, CacheFeed } from '../core/storage/lease-store.ts'
import { captureLog, ManualClock } from '../testing/stand-ins.ts'
import { SharedCache } from './shared-cache.ts'

const settle = () => new Promise((resolve) => setImmediate(resolve))

function setUp() {
  const clock = new ManualClock()
  const log = captureLog()
  const puts: CacheEntry[][] = []
  const news: CacheEntry[][] = []
  const state = { down: false, asked: 0, hold: Promise.resolve() }
  const feed: CacheFeed = {
    async put(entries) {
      await state.hold
      if (state.down) throw new Error('The store is down')
      puts.push([...entries])
    },
    async news() {
      state.asked++
      if (state.down) throw new Error('The store is down')
      return news.shift() ?? []
    },
  }
  const delivered: [string, string, number][] = []
  const cache = new SharedCache(feed, { clock, log, deliver: (...entry) => delivered.push(entry) })
  return { clock, log, puts, news, state, delivered, cache }
}

test('results are collected and handed on in batches', async () => {
  const { clock, puts, cache } = setUp()
  for (let n = 0; n < 150; n++) cache.put(`k${n}`, `${n}`, 1_000)
  expect(puts).toEqual([])
  clock.advance(50)
  await settle()
  expect(puts.map((entries) => entries.length)).toEqual([100, 50])
  expect(puts[0]?.[0]).toEqual({ key: 'k0', text: '0', expiresAt: clock.wall() - 50 + 1_000 })
  cache.put('later', '1', 1_000)
  clock.advance(50)
  await settle()
  expect(puts[2]).toMatchObject([{ key: 'later' }])
})

test('sends results that arrive while a batch is being sent', async () => {
  const { clock, puts, state, cache } = setUp()
  let go = (): void => {}
  state.hold = new Promise<void>((resolve) => {
    go = resolve
  })
  cache.put('first', '1', 1_000)
  clock.advance(50)
  cache.put('second', '1', 1_000)
  clock.advance(50)
  go()
  await settle()
  cache.put('third', '1', 1_000)
  clock.advance(50)
  await settle()
  expect(puts.flat().map(({ key }) => key)).toEqual(['first', 'second', 'third'])
})

test('does not share large results and those that PostgreSQL cannot store', async () => {
  const { clock, puts, cache } = setUp()
  cache.put('k', 'x'.repeat(64 * 1024), 1_000)
  cache.put('a\0b', '1', 1_000)
  cache.put('k', 'x'.repeat(64 * 1024 - 1), 1_000)
  clock.advance(50)
  await settle()
  expect(puts.flat().map(({ text }) => text.length)).toEqual([64 * 1024 - 1])
})

test('limits the waiting results', async () => {
  const { clock, puts, cache } = setUp()
  for (let n = 0; n < 3_000; n++) cache.put(`k${n}`, '1', 1_000)
  clock.advance(50)
  await settle()
  expect(puts.flat()).toHaveLength(1_000)
  for (let n = 0; n < 900; n++) cache.put(`k${n}`, 'x'.repeat(64_000), 1_000)
  clock.advance(50)
  await settle()
  expect(puts.flat()).toHaveLength(1_000 + Math.floor((16 * 1024 * 1024) / 64_004))
})

test('delivers the results of others with their remaining lifetime', async () => {
  const { clock, news, delivered, cache } = setUp()
  const now = clock.wall()
  news.push([{ key: 'a', text: '1', expiresAt: now + 500 }], [{ key: 'b', text: '2', expiresAt: now }])
  news.push([{ key: 'c', text: '3', expiresAt: now + 1 }])
  cache.changed()
  await settle()
  expect(delivered).toEqual([
    ['a', '1', 500],
    ['c', '3', 1],
  ])
})

test('many words of news are few questions', async () => {
  const { state, cache } = setUp()
  for (let n = 0; n < 100; n++) cache.changed()
  await settle()
  // One that was under way when the others came, and one for all of them.
  expect(state.asked).toBe(2)
  cache.changed()
  await settle()
  expect(state.asked).toBe(3)
})

test('logs an unavailable store once, and uses it again when it is back', async () => {
  const { clock, log, puts, state, cache } = setUp()
  state.down = true
  for (const key of ['a', 'b']) {
    cache.put(key, '1', 1_000)
    cache.changed()
    clock.advance(50)
    await settle()
  }
  expect(log.lines.map(({ message }) => message)).toEqual(['Cached results cannot be shared with other servers'])
  state.down = false
  cache.put('c', '1', 1_000)
  clock.advance(50)
  await settle()
  expect(puts).toMatchObject([[{ key: 'c' }]])
})

test('sends collected results before it closes', async () => {
  const { clock, puts, cache } = setUp()
  cache.put('a', '1', 1_000)
  await cache.close()
  expect(puts).toMatchObject([[{ key: 'a' }]])
  expect(clock.pending).toBe(0)
})
