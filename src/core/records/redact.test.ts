import { describe, expect, test } from 'vitest'
import { image } from '../fixtures/media.ts'
import { redact, redactedJson, redactedRecord, redactText, withoutCredentials } from './redact.ts'

test('redacts values under secret names at any depth', () => {
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
  ['AIzaSyA1234567890abcdefghijklmnopqrstuv'],
  ['github_pat_11ABCDEFG0abcdefghijklmnop'],
  ['glpat-abcdefghijklmnopqrst'],
  ['Basic dXNlcjpwYXNz'],
  ['ty_abcdefghijklmnop'],
  ['ya29.a0AfH6SMBabcdefghijkl'],
])('recognises %s inside a text', (secret) => {
  expect(redactText(`before ${secret} after`)).toBe('before [redacted] after')
})

const KEY = 'ty_x0Vt5n3QbW7yKf2RmZpL8cHdJ4sTgAeU1iOo6PqXwYz'

test.each([
  `tool_${KEY}`,
  `x${KEY}`,
  `https://example.com/${KEY}/a`,
  `path%2F${KEY}`,
  `KEY${KEY}KEY`,
  `_${KEY}${KEY}`,
  `x${'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF'}`,
  'xAKIAABCDEFGHIJKLMNOP',
  'my_ghp_abcdefghijklmnopqrst1234567890abcdef',
  KEY.toUpperCase(),
  `tool_${KEY.toUpperCase()}`,
  `Ty_${KEY.slice(3)}`,
  KEY.slice(1),
  `x${KEY.slice(1)}`,
  `.${KEY.slice(1).toUpperCase()}`,
  `x${KEY.slice(1)}.a`,
  `tool_${KEY.slice(1)}`,
  `tool${KEY.slice(1)}/a`,
  `no key xy${KEY.slice(2, -1)}, sorry`,
])('recognises a key that is glued to other characters: %s', (text) => {
  expect(redactText(text)).toContain('[redacted]')
  expect(redactText(text)).not.toMatch(/x0Vt5n3Qb|X0VT5N3QB|0123456789|ABCDEFGHIJ/)
  expect(withoutCredentials(text)).not.toMatch(/x0Vt5n3Qb/i)
  expect(Object.keys(redact({ [text]: 1 }) as object).join()).toContain('[redacted]')
})

test.each([
  'get_city_weather_forecast_for_the_next_seven_days_and_nights_in_the_whole_of_the_country',
  'property_information',
  'security_2fa_setup',
  'task_risk_assessment_of_the_disk_encryption_for_all_of_the_servers',
  'highs_and_lows_of_the_day_for_the_city',
  'my_2nd_forecast_of_the_weather_in_the_capital_city',
  'SECURITY_CONFIGURATION_OF_THE_DISK_ENCRYPTION_OF_ALL_SERVERS',
])('keeps a name that only contains the start of a key: %s', (name) => {
  expect(redactText(name)).toBe(name)
})

test('redacts keys anywhere in a record, which stays JSON', () => {
  const fields = { [`tool_${KEY}`]: { url: `http://a/${KEY}?b` }, err: { stack: `Error: no x${KEY}\n    at "a"` } }
  const tabs = redactedRecord(
    JSON.stringify({ a: '\ty_coordinate_value', b: `\\${KEY}`, c: `\\\ty_${'0'.repeat(43)}` }),
  )
  expect(JSON.parse(tabs)).toEqual({ a: '\t[redacted]', b: '\\[redacted]', c: '\\\t[redacted]' })
  expect(redactedRecord(JSON.stringify({ a: `\nx${KEY.slice(1)}`, b: `\n${KEY.slice(1)}` }))).toBe(
    '{"a":"\\n[redacted]","b":"\\n[redacted]"}',
  )
  const record = redactedRecord(JSON.stringify({ ...fields, msg: `Tool "tool_${KEY}" -----BEGIN PRIVATE KEY-----` }))
  expect(record).not.toContain('x0Vt5n3Qb')
  expect(Object.keys(JSON.parse(record))).toEqual(['tool_[redacted]', 'err', 'msg'])
})

test('the copy is bounded in length, width, depth and number', () => {
  expect(String(redact('x'.repeat(10_000))).length).toBeLessThan(600)
  expect(redact(new Array(100).fill(1))).toHaveLength(21)
  const wide = (depth: number): unknown => (depth === 0 ? 1 : Array.from({ length: 15 }, () => wide(depth - 1)))
  expect(JSON.stringify(redact(wide(5))).length).toBeLessThan(10_000)
  expect(redact({ a: { b: { c: { d: { e: { f: 1 } } } } } })).toEqual({ a: { b: { c: { d: { e: '{…}' } } } } })
})

test('writes media as a short text, without the credentials of its address', () => {
  const short = '[image image/png, 67 bytes]'
  const link = { type: 'image', media_type: 'image/png', url: 'https://user:hunter2@x.test/a.png' }
  const shown = { content: [short, '[image image/png, https://[redacted]@x.test/a.png]'] }
  expect(redact({ content: [image, link] })).toEqual(shown)
  expect(JSON.parse(redactedJson({ content: [image, link] }))).toEqual(shown)
  expect(redact(image)).toBe(short)
})

test.each([
  ['postgres://user:hunter2@db/x', 'postgres://[redacted]@db/x'],
  ['https://api.test/?api_key=hunter2&x=1', 'https://api.test/?api_key=[redacted]&x=1'],
  ['{"password": "hunter2", "a": 1}', '{"password": "[redacted]", "a": 1}'],
  ['client_secret=hunter2; next', 'client_secret=[redacted]; next'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE', '[redacted]'],
  ['a token: it is short', 'a token: it is short'],
  ['Basic understanding', 'Basic understanding'],
  ['PASSWORD=hunter2', 'PASSWORD=[redacted]'],
])('recognises a secret by the preceding word: %s', (text, clean) => {
  expect(redactText(text)).toBe(clean)
})

test('takes objects that look like media', () => {
  const odd = { type: 'resource_link', mimeType: { toString: 1 }, uri: 'a' }
  expect(redact([odd])).toEqual([odd])
})

test('redacts a secret that spans the cut', () => {
  const text = `${'x'.repeat(490)} sk-proj-abcdefghijklmnopqrstuvwxyz ${'y'.repeat(100)}`
  expect(redactText(text)).not.toContain('sk-')
})

describe('redactedJson', () => {
  test('preserves long and deep values, without secrets', () => {
    const value = {
      list: Array.from({ length: 100 }, (_, n) => n),
      text: 'x'.repeat(5_000),
      a: { b: { c: { d: { e: 1 } } } },
    }
    expect(JSON.parse(redactedJson(value))).toEqual(value)
    expect(redactedJson({ cookie: { a: 1 }, text: `Bearer ${'a'.repeat(20)}!` })).toBe(
      '{"cookie":"[redacted]","text":"[redacted]!"}',
    )
  })

  test('redacts inside JSON texts, and leaves those without secrets unchanged', () => {
    const written = '{ "a": 1 }'
    expect(JSON.parse(redactedJson({ written }))).toEqual({ written })
    const inner = JSON.stringify({ text: JSON.stringify({ credential: 'hunter2' }) })
    expect(redactedJson({ inner })).not.toContain('hunter2')
    expect(redactedJson({ inner: '{"password": "hunter2"' })).not.toContain('hunter2')
  })
})

test.each([
  [
    'connect to postgres://app:hunter2@db.internal:5432/x failed',
    'connect to postgres://[redacted]@db.internal:5432/x failed',
  ],
  ['the key ty_0123456789abcdef is unknown', 'the key [redacted] is unknown'],
  ['the provider refused sk-proj-0123456789abcdef', 'the provider refused [redacted]'],
  ['see https://a.test/@user and me@a.test', 'see https://a.test/@user and me@a.test'],
  ['token: expired', 'token: expired'],
])('removes credentials from an error message: %s', (text, clean) => {
  expect(withoutCredentials(text)).toBe(clean)
})
