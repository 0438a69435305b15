import { expect, test } from 'vitest'
import { redact, redactText } from './redact.ts'

test('values under secret names are taken out, at any depth', () => {
  expect(redact({ user: { Password: 'x', api_key: 'y', nested: [{ authorization: 'z' }] }, city: 'Paris' })).toEqual({
    user: { Password: '[redacted]', api_key: '[redacted]', nested: [{ authorization: '[redacted]' }] },
    city: 'Paris',
  })
})

test.each([
  ['sk-abcdefghijklmnopqrstuvwx'],
  ['Bearer abcdefgh12345678'],
  ['eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl'],
  ['AKIAABCDEFGHIJKLMNOP'],
  ['ghp_abcdefghijklmnopqrst12'],
])('%s is recognised inside a text', (secret) => {
  expect(redactText(`before ${secret} after`)).toBe('before [redacted] after')
})

test('the copy is bounded in length, width, depth and number', () => {
  expect(String(redact('x'.repeat(10_000))).length).toBeLessThan(600)
  expect(redact(new Array(100).fill(1))).toHaveLength(21)
  const wide = (depth: number): unknown => (depth === 0 ? 1 : Array.from({ length: 15 }, () => wide(depth - 1)))
  expect(JSON.stringify(redact(wide(5))).length).toBeLessThan(10_000)
  expect(redact({ a: { b: { c: { d: { e: { f: 1 } } } } } })).toEqual({ a: { b: { c: { d: { e: '{…}' } } } } })
})
