import { expect, test } from 'vitest'
import { LeasedLimit, SharedContact } from './leased-rates.ts'

const limit = (held: number): LeasedLimit => {
  const made = new LeasedLimit('k', { calls: 100, perMs: 10_000 })
  made.held = held
  return made
}

const withFour = (): SharedContact => {
  const contact = new SharedContact()
  contact.meet({ servers: 4, aloneMs: 0 }, 0)
  return contact
}

test('with the store, a server uses what it holds', () => {
  expect(withFour().capacity(limit(70), 5)).toBe(70)
})

test('without the store, a server with more than its share uses its share, and one with less waits before it does', () => {
  const contact = withFour()
  expect([contact.lose(1_000), contact.lose(2_000)]).toEqual([true, false])
  expect(contact.capacity(limit(70), 1_000)).toBe(25)
  expect(contact.capacity(limit(10), 15_999)).toBe(10)
  expect(contact.capacity(limit(10), 16_000)).toBe(25)
})

test('after a long outage no server exceeds its share until the calls of the others have expired', () => {
  const contact = withFour()
  contact.lose(1_000)
  expect([contact.find(20_000), contact.find(20_000)]).toEqual([true, false])
  expect(contact.capacity(limit(70), 34_999)).toBe(25)
  expect(contact.capacity(limit(70), 35_000)).toBe(70)
})

test('after a short time without it all goes on as before', () => {
  const contact = withFour()
  contact.lose(1_000)
  contact.find(3_000)
  expect(contact.capacity(limit(70), 3_001)).toBe(70)
})

test('a short outage soon after a long one does not shorten it', () => {
  const contact = withFour()
  contact.lose(1_000)
  contact.find(20_000)
  contact.lose(21_000)
  contact.find(22_000)
  expect(contact.capacity(limit(70), 36_999)).toBe(25)
})

test('an outage that another server reports counts, too', () => {
  const contact = withFour()
  contact.meet({ servers: 4, aloneMs: 0, gap: { lastedMs: 12_000, agoMs: 1_000 } }, 20_000)
  expect(contact.capacity(limit(70), 33_999)).toBe(25)
  expect(contact.capacity(limit(70), 34_000)).toBe(70)
})

test('a server that has been alone for long has no others to wait for', () => {
  const contact = new SharedContact()
  contact.meet({ servers: 1, aloneMs: 15_000 }, 0)
  contact.lose(0)
  expect(contact.capacity(limit(10), 0)).toBe(100)
  contact.meet({ servers: 1, aloneMs: 14_999 }, 0)
  expect(contact.capacity(limit(10), 0)).toBe(10)
})
