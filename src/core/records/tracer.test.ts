import { expect, test } from 'vitest'
import { isTraceparent, readTraceparent, writeTraceparent } from './tracer.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('reads a traceparent and writes it back', () => {
  const span = readTraceparent(`00-${TRACE}-${SPAN}-01`)
  expect(span).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags: 1 })
  expect(span && writeTraceparent(span)).toBe(`00-${TRACE}-${SPAN}-01`)
})

test('accepts more fields in a later version', () => {
  expect(isTraceparent(`01-${TRACE}-${SPAN}-01-more`)).toBe(true)
})

test.each([
  ['another type', 7],
  ['more fields in version 00', `00-${TRACE}-${SPAN}-01-more`],
  ['version ff', `ff-${TRACE}-${SPAN}-01`],
  ['an empty trace id', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['an empty span id', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capital letters', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['a text longer than 256 characters', `01-${TRACE}-${SPAN}-01-${'x'.repeat(256)}`],
])('rejects %s', (_, text) => {
  expect(isTraceparent(text)).toBe(false)
})
