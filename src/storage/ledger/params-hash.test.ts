import { createHmac } from 'node:crypto'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paramsHash } from './params-hash.ts'

test('is the HMAC-SHA-256 of the canonical JSON of RFC 8785', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      fc.pre(text.isWellFormed() && !/\\ud[89a-f]/.test(text))
      const right = createHmac('sha256', 'key').update(canonicalize(JSON.parse(text)) as string)
      expect(paramsHash('key', text)).toBe(right.digest('hex'))
    }),
  )
})

test('half a surrogate pair in a value has a hash, too', () => {
  expect(paramsHash('key', '{"a":"\\ud800"}')).toMatch(/^[0-9a-f]{64}$/)
})

test('another key gives another hash', () => {
  expect(paramsHash('key', '{}')).not.toBe(paramsHash('other', '{}'))
})
