import { describe, expect, test } from 'vitest'
import { SecretValues } from '../definition/secret-values.ts'
import type { HttpResponse } from '../exchange/outgoing-request.ts'
import { statusError } from './read-response.ts'

const NOW = Date.UTC(2026, 0, 1)
const ANSWERED = "The service behind tool 'weather' answered "

function meant(status: number, body = '', headers: Record<string, string> = {}, secrets: readonly string[] = []) {
  const response: HttpResponse = { status, headers, body: Buffer.from(body), origin: 'http://api.test', path: '/' }
  return statusError(response, 'weather', new SecretValues(secrets), NOW)
}

describe('a status', () => {
  test.each([500, 502, 503, 504, 599])(
    '%i means that the service is unavailable, and that trying again can help',
    (status) => {
      expect(meant(status, 'stack trace at 10.0.0.1')).toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: `The service behind tool 'weather' is unavailable. Try again later. It answered ${status}.`,
        extras: { outcome: 'unknown' },
        repeat: {},
      })
    },
  )

  test.each([
    [400, '400 Bad Request'],
    [401, '401 Unauthorized'],
    [404, '404 Not Found'],
    [422, '422 Unprocessable Entity'],
    [499, '499'],
    [304, '304 Not Modified'],
    [300, '300 Multiple Choices'],
  ])('reports %i with its name and without a retry', (status, words) => {
    const { code, message, extras, repeat } = meant(status)
    expect({ code, message, extras, repeat }).toEqual({
      code: 'EXECUTION_ERROR',
      message: ANSWERED + words,
      extras: {},
      repeat: undefined,
    })
  })

  test.each([408, 429])('%i means that trying again can help', (status) => {
    expect(meant(status)).toMatchObject({ code: 'EXECUTION_ERROR', extras: {} })
    expect(meant(status).repeat).toEqual({})
  })
})

describe('the excerpt of an error response', () => {
  test('is in the sentence, in one line', () => {
    expect(meant(400, '{\n  "error":\t"no \u0000such\u001b[31m city"\r\n}').message).toBe(
      `${ANSWERED}400 Bad Request: { "error": "no such [31m city" }`,
    )
  })

  test('is cut after 200 characters', () => {
    const { message } = meant(400, 'x'.repeat(1_000))
    expect(message).toBe(`${ANSWERED}400 Bad Request: ${'x'.repeat(200)}…`)
    expect(meant(400, 'x'.repeat(200)).message).toBe(`${ANSWERED}400 Bad Request: ${'x'.repeat(200)}`)
  })

  test('is not cut inside a character', () => {
    expect(meant(400, `${'x'.repeat(199)}😀…`).message.isWellFormed()).toBe(true)
  })

  test.each([
    ['as it is', 'bad key sk-12345/67890=='],
    ['escaped as some do', '{"error":"bad key sk-12345\\/67890=="}'],
    ['with signs as escapes', '{"error":"bad key \\u0073k-12345/67890\\u003D\\u003d"}'],
    ['encoded', 'bad key sk-12345%2F67890%3D%3D'],
    ['encoded in small letters', 'bad key sk-12345%2f67890%3d%3d'],
    ['across the cut', `${'x'.repeat(190)} sk-12345/67890==`],
    ['behind many blanks', `${' '.repeat(5_000)} sk-12345/67890==`],
  ])('never holds a secret: %s', (_, body) => {
    const { message } = meant(401, body, {}, ['sk-12345/67890=='])
    expect(message).not.toMatch(/12345/)
  })

  test('is read in its own character set', () => {
    const headers = { 'content-type': 'text/plain; charset=iso-8859-1' }
    const response = { status: 400, headers, body: Buffer.from('Köln', 'latin1'), origin: '', path: '/' }
    expect(statusError(response, 'weather', new SecretValues(), NOW).message).toMatch(/: Köln$/)
  })

  test('is left out if it is not text', () => {
    const body = Buffer.from([0x89, 0x50, 0xff, 0xfe])
    const response = { status: 400, headers: {}, body, origin: '', path: '/' }
    expect(statusError(response, 'weather', new SecretValues(), NOW).message).toBe(`${ANSWERED}400 Bad Request`)
  })
})

describe('Retry-After', () => {
  test.each([
    ['7', 7_000],
    [' 0 ', 0],
    ['3600', 3_600_000],
    ['3601', 3_600_000],
    ['9999999999', 3_600_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Thursday, 01-Jan-26 00:00:30 GMT', 30_000],
    ['Thu, 01 Jan 2099 00:00:00 GMT', 3_600_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['1.5', 1_500],
    ['2026', 2_026_000],
    ['2026-01-01', undefined],
    ['', undefined],
  ])('%j is %s ms', (header, afterMs) => {
    const repeat = afterMs === undefined ? {} : { afterMs }
    for (const status of [429, 503]) expect(meant(status, '', { 'retry-after': header }).repeat).toEqual(repeat)
    expect(meant(404, '', { 'retry-after': header }).repeat).toBeUndefined()
  })
})
