import { describe, expect, test } from 'vitest'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import { httpTool } from './fixtures/http-tool.ts'
import { compileRequest } from './request-plan.ts'

const refusal = (place: string, value: unknown): unknown => {
  const implementation = {
    path: { url: 'https://a.test/users/{p}/x' },
    query: {},
    header: { params_in: { p: 'header' } },
    cookie: { params_in: { p: 'cookie' } },
    form: { method: 'POST', body: 'form' },
    text: { method: 'POST', body: 'text' },
    json: { method: 'POST' },
  }[place] as Record<string, unknown>
  const plan = compileRequest(httpTool(implementation, ['p']), {})
  try {
    const { path, headers, body } = plan.build({ p: value })
    return body ?? headers.p ?? headers.cookie ?? path
  } catch (error) {
    return error instanceof ToolExecutionError && error.code === 'INVALID_PARAMETERS' ? error.message : error
  }
}

const LEADS_AWAY = 'Invalid parameters: p must not be . or .. or change the path: '

describe('a parameter of the path stays one part of it', () => {
  test.each([
    '.',
    '..',
    '../admin',
    'a/../../b',
    'a/..',
    './a',
    'a/./b',
    '..\\admin',
    'a\\..\\b',
    '%2e%2e',
    '%2E',
    '.%2e',
    '..%2fadmin',
    '%2e%2e%2fadmin',
    '..%5cadmin',
    '%252e%252e%252fadmin',
    '%25252e%25252e%25252f',
    '%%32%65%%32%65',
    '..;/admin',
    '..;a=b',
    '..%3b/admin',
    '%2e%2e;x/admin',
  ])('%j is refused', (value) => {
    expect(refusal('path', value)).toBe(LEADS_AWAY + JSON.stringify(value))
  })

  test.each([
    ['a/b', 'a%2Fb'],
    ['/etc/passwd', '%2Fetc%2Fpasswd'],
    ['//evil.test', '%2F%2Fevil.test'],
    ['a\\b', 'a%5Cb'],
    ['a;b=c', 'a%3Bb%3Dc'],
    ['a?b=c#d', 'a%3Fb%3Dc%23d'],
    ['a@evil.test:80', 'a%40evil.test%3A80'],
    ['%2f', '%252f'],
    ['100%', '100%25'],
    ['...', '...'],
    ['..a', '..a'],
    ['.well-known', '.well-known'],
    ['v1.2', 'v1.2'],
    ['{id}', '%7Bid%7D'],
    [' ', '%20'],
    ['日本', '%E6%97%A5%E6%9C%AC'],
    [1e21, '1e%2B21'],
    [-0.5, '-0.5'],
    [false, 'false'],
  ])('%j is sent as %s', (value, text) => {
    expect(refusal('path', value)).toBe(`/users/${text}/x`)
  })

  test.each([[''], [null], [undefined], [[]]])('%j is refused: there would be no such part', (value) => {
    expect(refusal('path', value)).toBe(
      `Invalid parameters: p must not be empty, as it is part of the path: ${JSON.stringify(value)}`,
    )
  })

  test('a long value is looked at in a moment', () => {
    const sentence = refusal('path', `%${'25'.repeat(400_000)}2e`)
    expect(sentence).toMatch(/^\/users\/%2525/)
    expect(refusal('path', `${'../'.repeat(300_000)}`)).toBe(`${LEADS_AWAY}"${'../'.repeat(26)}.…"`)
  })
})

describe('characters that end a line, or are none', () => {
  const CONTROL = ['a\r\nx-evil: 1', 'a\n', '\r', 'a\u0000b', '\u0007', '\u007f', '\u0085', 'a\tb']

  test.each(['path', 'header', 'cookie'])('are refused in a %s', (place) => {
    for (const value of CONTROL) {
      expect(refusal(place, value)).toMatch(
        /^Invalid parameters: p must not contain a line break or another control character: "[\x20-\x7e]+"$/,
      )
      expect(refusal(place, [value])).toMatch(/^Invalid parameters: p must not contain a line break/)
    }
  })

  test('are data in a query and in a body', () => {
    expect(refusal('query', 'a\r\nx: 1\u0000')).toBe('/things?p=a%0D%0Ax%3A%201%00')
    expect(refusal('form', 'a\r\n')).toBe('p=a%0D%0A')
    expect(refusal('text', 'a\r\n\u0000')).toBe('a\r\n\u0000')
    expect(refusal('json', 'a\r\n')).toBe('{"p":"a\\r\\n"}')
  })

  test('the value is quoted on one line, and cut', () => {
    expect(refusal('header', `\n${'x'.repeat(500)}`)).toBe(
      `Invalid parameters: p must not contain a line break or another control character: "\\n${'x'.repeat(78)}…"`,
    )
  })

  test.each(['path', 'query', 'cookie', 'form', 'text'])('half of a surrogate pair is refused in a %s', (place) => {
    const sentence = 'Invalid parameters: p must not contain half of a surrogate pair: "a\\ud800"'
    expect(refusal(place, 'a\ud800')).toBe(sentence)
    if (place !== 'text') expect(refusal(place, ['a\ud800'])).toBe(sentence)
    if (place === 'query') expect(refusal(place, { a: 'a\ud800' })).toBe('/things?p=%7B%22a%22%3A%22a%5Cud800%22%7D')
  })

  test('half of a surrogate pair is written in JSON as JSON has it', () => {
    expect(refusal('json', 'a\ud800')).toBe('{"p":"a\\ud800"}')
  })

  test.each(['é', '€', '日本', 'a\ud800'])('a header takes ASCII only, not %j', (value) => {
    expect(refusal('header', value)).toMatch(/^Invalid parameters: p must be ASCII, as it is sent in a header: "/)
  })
})
