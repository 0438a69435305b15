import { createHmac } from 'node:crypto'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { auditColumns } from '../../core/records/audit-columns.ts'
import { chainRow } from '../fixtures/audit-rows.ts'
import { paramsHasher, rowHash } from './chain-row.ts'

const key = fc.oneof(fc.string({ minLength: 1 }), fc.string({ minLength: 60, maxLength: 70 }))
const value = fc.oneof(fc.jsonValue(), fc.string({ minLength: 1_000, maxLength: 3_000, unit: 'grapheme' }))

test('is the HMAC-SHA-256 of the canonical JSON of RFC 8785', () => {
  fc.assert(
    fc.property(key, fc.array(value), (key, values) => {
      const hasher = paramsHasher(key)
      for (const value of values) {
        const text = JSON.stringify(value)
        fc.pre(!/\\ud[89a-f]/.test(text))
        const right = createHmac('sha256', key).update(canonicalize(JSON.parse(text)) as string)
        expect(hasher(text)).toBe(right.digest('hex'))
      }
    }),
  )
})

test('a value with half a surrogate pair has a hash', () => {
  expect(paramsHasher('key')('{"a":"\\ud800"}')).toMatch(/^[0-9a-f]{64}$/)
})

test('text that is not JSON has no hash', () => {
  expect(paramsHasher('key')('{')).toBeNull()
})

test.each(auditColumns)('the hash of a row covers $name', ({ name }) => {
  const row = chainRow({ [name]: null })
  const hashes = [null, 1, '1'].map((value) => rowHash('before', { ...row, [name]: value }))
  expect(new Set(hashes).size).toBe(3)
})
