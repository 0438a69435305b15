import { describe, expect, test } from 'vitest'
import { retryInfoMs, waitMs } from './to-model-error.ts'

const now = Date.UTC(2026, 0, 1, 12, 0, 0)

describe('how long to wait', () => {
  test.each([
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after': '0.25' }, 250],
    [{ 'retry-after-ms': '120.4', 'retry-after': '9' }, 121],
    [{ 'retry-after': 'Thu, 01 Jan 2026 12:01:00 GMT' }, 60_000],
    [{ 'retry-after': 'Thu, 01 Jan 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{}, undefined],
  ])('%o says %s ms', (headers, ms) => {
    expect(waitMs(headers as Record<string, string>, now)).toBe(ms)
  })

  test.each([
    [undefined],
    ['text'],
    [{ error: 'text' }],
    [{ error: { details: [null, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: 'soon' }] } }],
  ])('a body that does not say so says nothing: %o', (body) => {
    expect(retryInfoMs(body)).toBeUndefined()
  })
})
