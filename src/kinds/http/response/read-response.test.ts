import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { silentLog } from '../../../core/log.ts'
import { snapshotResult } from '../../../core/snapshot.ts'
import type { HttpImplementation, HttpMethod } from '../definition/http-implementation.ts'
import { SecretValues } from '../definition/secret-values.ts'
import type { HttpResponse } from '../exchange/outgoing-request.ts'
import { readResponse } from './read-response.ts'
import { ResponseShape } from './response-shape.ts'

interface Given {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly method?: HttpMethod
  readonly shape?: Partial<HttpImplementation>
  readonly secrets?: readonly string[]
}

/** What a tool gives for a body of that type. */
function read(type: string | undefined, body: string | Buffer, given: Given = {}): unknown {
  const { status = 200, method = 'GET', secrets = [] } = given
  const headers = { ...given.headers, ...(type !== undefined && { 'content-type': type }) }
  const response: HttpResponse = { status, headers, body: Buffer.from(body), origin: 'http://api.test', path: '/' }
  const shape = new ResponseShape('weather', { type: 'http', url: 'http://api.test', ...given.shape }, silentLog)
  return readResponse(response, { tool: 'weather', method, shape, clock: systemClock }, new SecretValues(secrets))
}

function failure(...given: Parameters<typeof read>): unknown {
  try {
    return read(...given)
  } catch (error) {
    return error
  }
}

const broken = (message: string) => ({
  code: 'EXECUTION_ERROR',
  message: `The service behind tool 'weather' ${message}`,
  extras: { outcome: 'unknown' },
  repeat: undefined,
})

describe('JSON', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON ;charset="UTF-8"',
    'text/json',
    'application/problem+json',
    'application/vnd.api+json; version=1',
    'application/json, text/html',
  ])('is decoded as %s', (type) => {
    expect(read(type, '{"rain": [1, "ü"]}')).toEqual({ rain: [1, 'ü'] })
  })

  test('may begin with a byte order mark', () => {
    expect(read('application/json', '\ufeff{"a":1}')).toEqual({ a: 1 })
  })

  test.each([
    ['utf-16le', Buffer.from('\ufeff{"a":"ü"}', 'utf16le')],
    ['iso-8859-1', Buffer.from('{"a":"ü"}', 'latin1')],
    ['windows-1252', Buffer.from('{"a":"ü"}', 'latin1')],
  ])('may be in %s', (charset, body) => {
    expect(read(`application/json; charset=${charset}`, body)).toEqual({ a: 'ü' })
  })

  test.each(['', ' \r\n\t'])('of nothing (%j) is null', (body) => {
    expect(read('application/json', body)).toBeNull()
  })

  test.each([['null'], ['0'], ['"text"'], ['false'], ['[]']])('may be just %s', (body) => {
    expect(read('application/json', body)).toEqual(JSON.parse(body))
  })

  test('rejects invalid JSON with an excerpt', () => {
    expect(failure('application/json', '<html>\n  Oops</html>')).toMatchObject(
      broken('declares JSON, but its body is not valid JSON: <html> Oops</html>'),
    )
    expect(failure('application/json', Buffer.from([0xff, 0xfe, 1]))).toMatchObject(
      broken('declares JSON, but its body is not valid JSON'),
    )
    expect(failure('application/json', '{"a": 1')).toMatchObject({ code: 'EXECUTION_ERROR' })
  })

  test('rejects an unknown character set', () => {
    expect(failure('application/json; charset=klingon', '{}')).toMatchObject(
      broken('answered with application/json in an unknown character set'),
    )
  })

  test('with the same key twice has the last one', () => {
    expect(read('application/json', '{"a":1,"a":2}')).toEqual({ a: 2 })
  })

  test('with keys of prototypes changes no prototype', () => {
    const body = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const value = read('application/json', body, { secrets: ['notinthere'] })
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(JSON.stringify(snapshotResult(value, 1_000_000))).toBe(body)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  describe('that is a million levels deep', () => {
    const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000)
    const less = '['.repeat(20_000) + ']'.repeat(20_000)
    const tooDeep = broken('answered with JSON that is nested deeper than 512 levels')

    test('is an error', () => {
      expect(failure('application/json', deep)).toMatchObject(tooDeep)
      expect(failure(undefined, deep)).toMatchObject(tooDeep)
    })

    test.each([
      ['a path', { shape: { response_path: '$..x' } }],
      ['a filter', { shape: { response_path: '$[?@ == $]' } }],
      ['keys to pick', { shape: { pick: ['x'] } }],
      ['secrets', { secrets: ['[[[[[[[['] }],
    ])('or less, with %s, is an error too', (_, given) => {
      expect(failure('application/json', less, given)).toMatchObject(tooDeep)
    })

    test('leaves the depth check of small bodies to the executor', () => {
      const value = read('application/json', less)
      expect(() => snapshotResult(value, 1_000_000)).toThrow('nested deeper than 512 levels')
    })
  })

  test('in which there is too much to look through is an error', () => {
    const body = `[${'0,'.repeat(2_000_000)}0]`
    expect(failure('application/json', body, { shape: { response_path: '$..*' } })).toMatchObject(
      broken("answered with more than a JSONPath can search: request less, or write the path without '..' and filters"),
    )
  })
})

describe('text', () => {
  test.each([
    'text/plain',
    'text/html; charset=utf-8',
    'text/csv',
    'application/xml',
    'application/atom+xml',
    'image/svg+xml',
    'text/event-stream',
    'application/x-ndjson',
    'application/jsonl',
    'application/json-seq',
    'application/yaml',
    'application/vnd.made.up',
  ])('is decoded as %s', (type) => {
    expect(read(type, '{"a":1}\n{"a":2}\nü')).toBe('{"a":1}\n{"a":2}\nü')
  })

  test('is not read as JSON, even if it could be', () => {
    expect(read('text/plain', '{"a":1}')).toBe('{"a":1}')
  })

  test('is in its own character set', () => {
    expect(read('text/plain; charset=shift_jis', Buffer.from([0x93, 0xfa, 0x96, 0x7b]))).toBe('日本')
  })
})

describe('a body without a content type', () => {
  test.each([undefined, 'application/octet-stream', 'nonsense', ''])('(%j) is JSON if it parses, else text', (type) => {
    expect(read(type, '{"a":1}')).toEqual({ a: 1 })
    expect(read(type, 'hello: ü')).toBe('hello: ü')
  })

  test('is an error if it is neither', () => {
    expect(failure(undefined, Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]))).toMatchObject(
      broken('answered with an unnamed type, 5 bytes: the result of a tool must be JSON or text'),
    )
    expect(failure(undefined, 'a\0b')).toMatchObject({ code: 'EXECUTION_ERROR' })
  })
})

test.each([
  ['image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff])],
  ['application/pdf', Buffer.from('%PDF-1.7 \xe2\xe3', 'latin1')],
  ['application/zip', Buffer.from('PK\u0003\u0004\0\0')],
])('%s is an error that names type and size', (type, body) => {
  expect(failure(type, body)).toMatchObject(
    broken(`answered with ${type}, ${body.length} bytes: the result of a tool must be JSON or text`),
  )
})

describe('a tool with response_path or pick', () => {
  const shape = { response_path: '$.a' }

  test('gets it', () => {
    expect(read('application/json', '{"a":1}', { shape })).toBe(1)
    expect(read(undefined, '{"a":1}', { shape })).toBe(1)
    expect(read('application/json', '{"b":1}', { shape })).toBeNull()
  })

  test.each([[{ response_path: '$.a' }], [{ pick: ['a'] }]])('%j rejects a response that is not JSON', (wanted) => {
    expect(failure('text/html', '<html>', { shape: wanted })).toMatchObject(
      broken('answered with text/html: response_path, pick and pagination need JSON'),
    )
    expect(failure(undefined, 'plain', { shape: wanted })).toMatchObject({ code: 'EXECUTION_ERROR' })
  })

  test('returns null for an empty response', () => {
    expect(read('application/json', '', { shape, status: 204 })).toBeNull()
  })
})

describe('no content', () => {
  test.each([200, 201, 202, 204, 205])('with status %i is null', (status) => {
    expect(read(undefined, '', { status })).toBeNull()
    expect(read('application/json', '', { status })).toBeNull()
  })

  test('ignores the body of an empty response', () => {
    expect(read('application/json', '{"a":1}', { status: 204 })).toBeNull()
    expect(read('application/json', '{"a":1}', { status: 205 })).toBeNull()
  })
})

test('returns status and body headers for a HEAD request', () => {
  const headers = {
    'content-length': '12',
    etag: '"abcdefgh"',
    'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    'set-cookie': 'session=1',
    server: 'x',
  }
  expect(read('text/plain', '', { method: 'HEAD', headers, secrets: ['abcdefgh'] })).toEqual({
    status: 200,
    headers: {
      'content-type': 'text/plain',
      'content-length': '12',
      etag: '"[redacted]"',
      'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    },
  })
  expect(failure(undefined, '', { method: 'HEAD', status: 404 })).toMatchObject({ code: 'EXECUTION_ERROR' })
})

describe('a secret that comes back', () => {
  const secrets = ['sk-12345/67890', '4711471147114711']

  test.each([
    ['in a value', '{"a":["sk-12345/67890"]}', { a: ['[redacted]'] }],
    ['in a key', '{"sk-12345/67890":1}', { '[redacted]': 1 }],
    ['inside a text', '{"url":"https://x/?key=sk-12345%2F67890&b"}', { url: 'https://x/?key=[redacted]&b' }],
    ['behind an escape', '{"a":"\\u0073k-12345/67890"}', { a: '[redacted]' }],
    ['behind another', '{"a":"sk-12345\\/67890"}', { a: '[redacted]' }],
    ['as a number', '{"a":4711471147114711}', { a: '[redacted]' }],
    ['in base64', `{"a":"${Buffer.from('sk-12345/67890').toString('base64')}"}`, { a: '[redacted]' }],
  ])('%s is taken out', (_, body, expected) => {
    expect(read('application/json', body, { secrets })).toEqual(expected)
  })

  test('is taken out of text', () => {
    expect(read('text/plain', 'your key is sk-12345/67890.', { secrets })).toBe('your key is [redacted].')
  })

  test('is removed from the shaped result', () => {
    const given = { secrets, shape: { response_path: '$.a', pick: ['b'] } }
    expect(read('application/json', '{"a":{"b":"sk-12345/67890"}}', given)).toEqual({ b: '[redacted]' })
  })

  test('is taken out of errors', () => {
    expect(failure('application/json', 'sk-12345/67890 {', { secrets })).toMatchObject(
      broken('declares JSON, but its body is not valid JSON: [redacted] {'),
    )
  })
})
