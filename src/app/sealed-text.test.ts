import { expect, test } from 'vitest'
import { TextSeal } from './sealed-text.ts'

const KEY = 'k'.repeat(32)
const TEXT = '{"secret":"π 🙂"}'

test('opens what it sealed, with a new nonce each time', () => {
  const seal = new TextSeal(KEY)
  const sealed = seal.seal(TEXT, 'run-1')
  expect(sealed).toMatch(/^sealed\.[0-9a-f]{8}\./)
  expect(sealed).not.toContain('secret')
  expect(sealed).not.toBe(seal.seal(TEXT, 'run-1'))
  expect(new TextSeal(KEY).open(sealed, 'run-1')).toBe(TEXT)
})

test('stores and reads plain texts without a key', () => {
  expect(new TextSeal(undefined).seal(TEXT, 'run-1')).toBe(TEXT)
  expect(new TextSeal(KEY).open(TEXT, 'run-1')).toBe(TEXT)
})

test('opens nothing of another key or place, and nothing that was changed', () => {
  const sealed = new TextSeal(KEY).seal(TEXT, 'run-1')
  for (const other of [undefined, 'o'.repeat(32)]) {
    expect(() => new TextSeal(other).open(sealed, 'run-1')).toThrow('set TOOLYARD_ENCRYPTION_KEY to that key')
  }
  expect(() => new TextSeal(KEY).open(sealed, 'run-2')).toThrow('was changed')
  const at = sealed.length - 30
  const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
  expect(() => new TextSeal(KEY).open(changed, 'run-1')).toThrow('was changed')
})

test('refuses a short key', () => {
  expect(() => new TextSeal('short')).toThrow('TOOLYARD_ENCRYPTION_KEY has 5 characters: use at least 32 random ones')
})
