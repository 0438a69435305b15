import { expect, test } from 'vitest'
import type { CallRecord } from '../core/records/recorder.ts'
import { PREVIEW_SOURCE, parametersPreview, payloadText } from './payloads.ts'

const textOf = (params: unknown, result: unknown) => payloadText('all', { params } as CallRecord, { result }) ?? ''

test('a payload has at most 64 KB, whatever it contains', () => {
  const long = [
    'x'.repeat(1_000_000),
    '€'.repeat(50_000),
    '\u0001'.repeat(50_000),
    Array.from({ length: 50_000 }, (_, index) => ({ index, text: `entry ${index}` })),
    Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key ${index}`, index])),
    Array.from({ length: 300 }).reduce<unknown>((inner) => [inner], 1),
  ]
  for (const value of long) {
    const text = textOf({ a: 1 }, value)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536)
    expect(JSON.parse(text)).toMatchObject({ params: { a: 1 }, shortened: true })
  }
})

test('small values are stored whole, without secrets and media', () => {
  const rows = Array.from({ length: 500 }, (_, index) => ({ index, note: 'n'.repeat(20) }))
  expect(JSON.parse(textOf({ text: 't'.repeat(5_000) }, rows))).toEqual({
    params: { text: 't'.repeat(5_000) },
    result: rows,
  })
  const image = { type: 'image', media_type: 'image/png', data: 'A'.repeat(100_000) }
  const text = textOf({ password: 'x', json: '{"api_key":"abcd1234"}' }, [image, 'ty_abcdefgh1234'])
  expect(text).not.toMatch(/AAAA|abcd1234|ty_a|"x"/)
  expect(JSON.parse(text)).not.toHaveProperty('shortened')
})

test('the payload of a call whose parameters could not be read has none', () => {
  expect(payloadText('errors', { params: undefined } as CallRecord, { error: 'No' })).toBe('{"error":"No"}')
  expect(payloadText('errors', { params: {} } as CallRecord, { result: 1 })).toBeUndefined()
})

/** The preview of these parameters, as the store cuts their payload. */
const previewOf = (params: unknown) =>
  parametersPreview(Array.from(textOf(params, 'done')).slice(0, PREVIEW_SOURCE).join(''))

test.each([
  [{ location: 'Berlin', units: 'celsius' }, 'location: "Berlin", units: "celsius"'],
  [{ 'a b': 1, 'content-type': null, '': true }, '"a b": 1, content-type: null, "": true'],
  [{ at: { lat: 1.5, tags: ['a', '}'] } }, 'at: {lat: 1.5, tags: ["a", "}"]}'],
  [{ text: 'one\n"two": {3}, \\' }, 'text: "one\\n\\"two\\": {3}, \\\\"'],
  [{ password: 'hunter2', text: 'ty_abcdefgh1234' }, 'password: "[redacted]", text: "[redacted]"'],
  [['a', 1], '["a", 1]'],
  ['text', '"text"'],
  [7, '7'],
  [null, 'null'],
  [{}, undefined],
  [undefined, undefined],
])('the preview of %j is %s', (params, preview) => {
  expect(previewOf(params)).toBe(preview)
})

test('a preview has at most 120 characters, and no half of one', () => {
  expect(previewOf({ text: 'x'.repeat(112) })).toBe(`text: "${'x'.repeat(112)}"`)
  expect(previewOf({ text: 'x'.repeat(113) })).toBe(`text: "${'x'.repeat(112)}…`)
  expect(previewOf({ text: '😀'.repeat(500) })).toBe(`text: "${'😀'.repeat(112)}…`)
  const nested = Array.from({ length: 60 }).reduce<unknown>((inner) => ({ a: inner }), 1)
  for (const params of [nested, { text: '\\'.repeat(500) }, Array.from({ length: 500 }, (_, index) => index)]) {
    const preview = previewOf(params) ?? ''
    expect([Array.from(preview).length, preview.at(-1)]).toEqual([120, '…'])
  }
})

test('a text that is not a payload has no preview', () => {
  for (const text of ['', '{"error":"No"}', '"params"', '{"params":']) expect(parametersPreview(text)).toBeUndefined()
})
