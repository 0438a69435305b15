import { expect, test } from 'vitest'
import { SecretValues } from './secret-values.ts'

const SECRET = "k/1+2'3 4:5@6&é=="

test.each([
  ['as it is', SECRET],
  ['in JSON', JSON.stringify(SECRET)],
  ['in JSON with every slash escaped', JSON.stringify(SECRET).replaceAll('/', '\\/')],
  ['in JSON with signs as escapes', 'k/1\\u002B2\\u00273 4:5@6\\u0026\\u00E9=='],
  ['in JSON with signs as escapes, in small letters', 'k/1\\u002b2\\u00273 4:5@6\\u0026\\u00e9=='],
  ['in a query', encodeURIComponent(SECRET)],
  ['in a query, in small letters', 'k%2f1%2b2%273%204%3a5%406%26%c3%a9%3d%3d'],
  ['in the query of a parsed address', new URL(`http://a/?k=${encodeURIComponent(SECRET)}`).search],
  ['in the path of an address', new URL(`http://a/${encodeURI(SECRET)}/b`).pathname],
  ['in a form', String(new URLSearchParams({ key: SECRET }))],
  ['in base64', Buffer.from(SECRET).toString('base64')],
  ['in base64 for addresses', Buffer.from(SECRET).toString('base64url')],
])('a secret is found %s', (_, text) => {
  const secrets = new SecretValues([SECRET])
  expect(secrets.isIn(text)).toBe(true)
  const left = secrets.scrub(text).replace('[redacted]', '')
  expect(left).not.toMatch(/[1-6]/)
})

test('a secret that begins like another is taken out whole, whichever was there first', () => {
  const text = 'Bearer 12345678-supersecret of 12345678'
  for (const values of [
    ['12345678', '12345678-supersecret'],
    ['12345678-supersecret', '12345678'],
  ]) {
    expect(new SecretValues(values).scrub(text)).toBe('Bearer [redacted] of [redacted]')
  }
})

test('however many there are, all are taken out', () => {
  const values = Array.from({ length: 300 }, (_, index) => `secret-number-${index}-`)
  const secrets = new SecretValues(values)
  expect(values.filter((value) => secrets.scrub(value) !== '[redacted]')).toEqual([])
})
