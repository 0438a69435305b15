import { type CallToolResult, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { callValue } from './mcp-connection.ts'
import { connectFailure, outputValidator } from './open-client.ts'

const text = (value: string) => ({ type: 'text', text: value }) as const
const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' } as const

describe('what a server answers', () => {
  test.each<[string, CallToolResult, unknown]>([
    ['text', { content: [text('hi')] }, 'hi'],
    ['several texts', { content: [text('a'), text('b')] }, 'a\nb'],
    ['structured content', { content: [text('{}')], structuredContent: { a: 1 } }, { a: 1 }],
    ['an image', { content: [image] }, { content: [image] }],
    ['text and an image', { content: [text('see'), image] }, { content: [text('see'), image] }],
    [
      'structured content and an image',
      { content: [text('{}'), image], structuredContent: { a: 1 } },
      { content: [text('{}'), image], structuredContent: { a: 1 } },
    ],
    ['nothing', { content: [] }, null],
  ])('%s', (_, answer, value) => {
    expect(callValue(answer)).toEqual(value)
  })

  test('an error is thrown in the words of the server', () => {
    expect(() => callValue({ content: [text('no such lamp'), image], isError: true })).toThrow('no such lamp')
    expect(() => callValue({ content: [], isError: true })).toThrow('without a message')
  })
})

describe('structured content', () => {
  const schema = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] } as const

  test('is held against the schema that the tool declares', () => {
    const validate = outputValidator.getValidator(schema)
    expect(validate({ sky: 'blue' })).toMatchObject({ valid: true, data: { sky: 'blue' } })
    expect(validate({ sky: 1 })).toMatchObject({ valid: false, errorMessage: 'sky must be a string' })
  })

  test('a schema that is refused holds nothing, and hangs nothing', () => {
    const hostile = { $ref: 'https://x.test/schema' }
    expect(outputValidator.getValidator(hostile)({ any: 'thing' })).toMatchObject({ valid: true })
  })

  test('is not checked if that would block the process', () => {
    const pattern = '^[ab]*(?:a[ab]{90}|b[ab]{80}|[ab])$'
    const rows = { type: 'array', items: { type: 'string', pattern } } as const
    const validate = outputValidator.getValidator({ type: 'object', properties: { rows } })
    expect(validate({ rows: ['ab', 'c'] })).toMatchObject({ valid: false })
    expect(validate({ rows: Array.from({ length: 100 }, () => 'c'.repeat(1_000)) })).toMatchObject({ valid: true })
  })
})

test.each([
  [
    new SdkError(SdkErrorCode.RequestTimeout, 'Version negotiation probe timed out', { timeout: 15_000 }),
    'no answer within 15 s',
  ],
  [new SdkError(SdkErrorCode.RequestTimeout, 'Error: 10.0.0.1 is late'), 'no answer'],
  [
    new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) }),
    'no such host (ENOTFOUND)',
  ],
])('a connection that failed says why: %s', (thrown, reason) => {
  const reach = { type: 'http', url: 'http://10.0.0.1/mcp', headers: {}, fetch } as const
  const failure = connectFailure({ name: 'far', reach }, thrown, '')
  expect(failure.reason).toBe(reason)
  expect(failure.message).toBe(`MCP server 'far' is unavailable: ${reason}.`)
})
