import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TextSeal } from './sealed-text.ts'

const KEY = 'k'.repeat(43)
const OTHER = 'ab'.repeat(32)
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
  for (const other of [undefined, OTHER]) {
    expect(() => new TextSeal(other).open(sealed, 'run-1')).toThrow('add that key to TOOLYARD_ENCRYPTION_KEY')
  }
  expect(() => new TextSeal(KEY).open(sealed, 'run-2')).toThrow('was changed')
  const at = sealed.length - 30
  const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
  expect(() => new TextSeal(KEY).open(changed, 'run-1')).toThrow('was changed')
})

test('encrypts with the first key and decrypts with all of them', () => {
  const old = new TextSeal(KEY).seal(TEXT, 'run-1')
  const seal = new TextSeal(`${OTHER},${KEY}`)
  expect(seal.open(old, 'run-1')).toBe(TEXT)
  expect(new TextSeal(OTHER).open(seal.seal(TEXT, 'run-1'), 'run-1')).toBe(TEXT)
  expect(seal.seal(TEXT, 'run-1')).toContain(`.${seal.keyId}.`)
})

test.each(['short', 'k'.repeat(32), 'ab'.repeat(24), `${'k'.repeat(42)}!`])('refuses the key %s', (key) => {
  const problem = 'characters that are not 32 or more bytes in base64 or hex. Create one with "openssl rand -base64 32"'
  expect(() => new TextSeal(key)).toThrow(`TOOLYARD_ENCRYPTION_KEY has ${key.length} ${problem}`)
  expect(() => new TextSeal(`${KEY} ${key}`)).toThrow(`Key 2 in TOOLYARD_ENCRYPTION_KEY has ${key.length} ${problem}`)
})

test('refuses a list without a key, and more than 16', () => {
  expect(() => new TextSeal(' ,')).toThrow('TOOLYARD_ENCRYPTION_KEY has 0 keys: use 1 to 16')
  expect(() => new TextSeal(`${KEY},`.repeat(17))).toThrow('has 17 keys')
})

test('reads the keys from a file, one per line', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'toolyard-key-')), 'key')
  const env = { TOOLYARD_ENCRYPTION_KEY_FILE: file }
  expect(() => TextSeal.from(env)).toThrow(`The file ${file} (TOOLYARD_ENCRYPTION_KEY_FILE) cannot be read: ENOENT`)
  writeFileSync(file, '\n')
  expect(() => TextSeal.from(env)).toThrow('has 0 keys')
  writeFileSync(file, `${OTHER}\n${KEY}\n`)
  expect(TextSeal.from(env).open(new TextSeal(KEY).seal(TEXT, 'run-1'), 'run-1')).toBe(TEXT)
  expect(TextSeal.from(env).keyId).toBe(new TextSeal(OTHER).keyId)
  expect(() => TextSeal.from({ ...env, TOOLYARD_ENCRYPTION_KEY: KEY })).toThrow('are both set')
  expect(TextSeal.from({}).keyId).toBeUndefined()
})
