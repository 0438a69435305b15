import { expect, test } from 'vitest'
import { connectionCode, connectionProblem, mayHaveLeft, networkCode } from './failure.ts'

const coded = (code: string, more: object = {}) => Object.assign(new Error('failed'), { code, ...more })

test.each([
  ['on the error itself', coded('ECONNREFUSED')],
  ['on what caused it', new TypeError('fetch failed', { cause: coded('ECONNREFUSED') })],
  ['on one of its parts', new AggregateError([new Error('first'), coded('ECONNREFUSED')])],
  ['behind a code that is not one', coded('AI_RetryError', { cause: coded('ECONNREFUSED') })],
  ['on something that is no error', { cause: { code: 'ECONNREFUSED' } }],
])('finds a code %s', (_, thrown) => {
  expect(networkCode(thrown)).toBe('ECONNREFUSED')
  expect(connectionCode(thrown)).toBe('ECONNREFUSED')
})

test.each([
  'ENOENT',
  'EPROTO',
  'CERT_HAS_EXPIRED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'ERR_STREAM_PREMATURE_CLOSE',
  'HPE_INVALID_CONSTANT',
])('%s is a connection code, but not proof of a network error', (code) => {
  expect(connectionCode(coded(code))).toBe(code)
  expect(networkCode(coded(code))).toBeUndefined()
})

test.each(['EXECUTION_ERROR', 'TIMEOUT', 'CONNECTION_CLOSED', 'ERR_ACCESS_DENIED', 'ERR_INVALID_ARG_VALUE', '', '500'])(
  '%j is not a connection code',
  (code) => {
    expect(connectionCode(coded(code))).toBeUndefined()
    expect(networkCode(coded(code))).toBeUndefined()
  },
)

test('nothing was sent if there was no connection', () => {
  expect([mayHaveLeft('ECONNREFUSED'), mayHaveLeft('UND_ERR_CONNECT_TIMEOUT')]).toEqual([false, false])
  expect([mayHaveLeft('ECONNRESET'), mayHaveLeft('EPROTO')]).toEqual([true, true])
})

test('limits the search in a deeply cyclic error', () => {
  const endless = coded('none')
  Object.assign(endless, { cause: endless, errors: new Array(8).fill(endless) })
  let looked = 0
  Object.defineProperty(endless, 'code', { get: () => `none-${++looked}` })
  expect(networkCode(endless)).toBeUndefined()
  expect(looked).toBe(50)
})

test("an error that can't be read has no code", () => {
  const refuses = () => {
    throw new Error('not telling')
  }
  expect(networkCode(Object.defineProperty({}, 'code', { get: refuses }))).toBeUndefined()
})

test.each([
  ['ECONNREFUSED', 'the connection was refused (ECONNREFUSED)'],
  ['ENOTFOUND', 'no such host (ENOTFOUND)'],
  ['UND_ERR_CONNECT_TIMEOUT', 'no answer (UND_ERR_CONNECT_TIMEOUT)'],
  ['ECONNRESET', 'the connection was closed (ECONNRESET)'],
  ['CERT_HAS_EXPIRED', 'the certificate is not trusted (CERT_HAS_EXPIRED)'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)'],
  ['EPROTO', 'the TLS handshake failed (EPROTO)'],
  ['HPE_INVALID_CONSTANT', 'the answer is not HTTP (HPE_INVALID_CONSTANT)'],
  ['EMFILE', 'the connection failed (EMFILE)'],
])('says in words why a connection failed: %s', (code, words) => {
  expect(connectionProblem(new TypeError('fetch failed', { cause: coded(code) }))).toBe(words)
})

test('has no words for other errors', () => {
  expect(connectionProblem(new Error('broken'))).toBeUndefined()
  expect(connectionProblem(undefined)).toBeUndefined()
})
