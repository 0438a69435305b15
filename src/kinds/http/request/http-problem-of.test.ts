import { describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../../core/tool.ts'
import { httpTool } from './fixtures/http-tool.ts'
import { effectOf, problemOf } from './http-problem-of.ts'
import { compileRequest } from './request-plan.ts'

const PARAMETERS = ['id', 'user', 'text']

const problem = (implementation: Readonly<Record<string, unknown>>, more: Partial<ToolDefinition> = {}) =>
  problemOf(httpTool(implementation, PARAMETERS, more))

/** Implementations and the sentence that each gives. */
function holds(table: readonly (readonly [Readonly<Record<string, unknown>>, string])[]): void {
  for (const [implementation, sentence] of table) expect(problem(implementation)).toBe(sentence)
}

describe('problems of an implementation', () => {
  test('has none for a valid definition', () => {
    const good: readonly Readonly<Record<string, unknown>>[] = [
      { url: 'https://api.example.com' },
      { url: 'http://127.0.0.1:8080/users/{id}?v=1&q={text}' },
      { url: 'https://[::1]:8080/' },
      { url: '${BASE_URL}/users/{id}' },
      { url: '${SCHEME}://${HOST}:${PORT}/x' },
      { url: 'https://${SUB}.example.com/${TENANT}/x?k=${KEY}' },
      { url: 'https://api.${DOMAIN}:8443/' },
      { method: 'HEAD', retry: { max_attempts: 3, backoff_ms: 0 }, circuit_breaker: { failures: 5, open_ms: 1000 } },
      { method: 'POST', body: 'form', params_in: { id: { in: 'header' } } },
      { method: 'DELETE', body_param: 'text' },
      { response_path: "$..items[?@.a == 'b']", pick: ['a'], max_items: 5, max_response_bytes: 1000 },
      { pagination: { type: 'link', items_path: '$.items' } },
      { pagination: { type: 'cursor', cursor_path: '$.next', cursor_param: 'c', max_pages: 100 } },
      { pagination: { type: 'next_url', next_path: '$.next' } },
      { pagination: { type: 'page', page_param: 'p', first_page: 0 } },
      { pagination: { type: 'offset', offset_param: 'o', limit_param: 'l', limit: 50 } },
      { auth: { type: 'bearer', token: '${TOKEN}' } },
      { auth: { type: 'api_key', in: 'query', name: 'key', value: '${KEY}' } },
      { auth: { type: 'basic', username: 'me', password: '' } },
      { auth: { type: 'oauth2', token_url: '${ISSUER}/token', client_id: 'a', client_secret: '${S}', scope: 'a b' } },
      { timeout_ms: 1, first_byte_timeout_ms: 86_400_000, allowed_domains: ['api.example.com'] },
      { unknown_key: true },
    ]
    for (const implementation of good)
      expect([implementation, problem(implementation)]).toEqual([implementation, undefined])
  })

  test('the shape', () => {
    expect(problemOf({ ...httpTool({}), implementation: { type: 'http' } })).toBe("missing 'implementation.url'")
    holds([
      [{ url: 7 }, 'implementation.url must be a string'],
      [{ method: 'get' }, "implementation.method must be one of: GET, HEAD, POST, PUT, PATCH, DELETE, not 'get'"],
      [{ method: 'TRACE' }, "implementation.method must be one of: GET, HEAD, POST, PUT, PATCH, DELETE, not 'TRACE'"],
      [
        { method: 'CONNECT' },
        "implementation.method must be one of: GET, HEAD, POST, PUT, PATCH, DELETE, not 'CONNECT'",
      ],
      [{ headers: { a: 77 } }, 'implementation.headers.a must be a string'],
      [{ query: { a: 77 } }, 'implementation.query.a must be a string'],
      [
        { auth: { type: 'magic' } },
        'implementation.auth.type must be one of: bearer, api_key, basic, oauth2, user_oauth',
      ],
      [{ auth: { type: 'bearer', token: 12345678 } }, 'implementation.auth.token must be a string'],
      [
        { auth: { type: 'basic', username: 'a:b', password: 'x' } },
        'implementation.auth.username must match pattern "^[^:]*$"',
      ],
      [{ auth: {} }, "missing 'implementation.auth.type'"],
      [
        { params_in: { id: 'footer' } },
        "implementation.params_in.id must be one of: path, query, header, cookie, body, not 'footer'",
      ],
      [{ params_mapping: { id: 7 } }, "implementation.params_mapping.id must be a string, not '7'"],
      [{ body: 'xml' }, "implementation.body must be one of: json, form, text, not 'xml'"],
      [{ timeout_ms: 0 }, "implementation.timeout_ms must be at least 1, not '0'"],
      [{ timeout_ms: 1e9 }, "implementation.timeout_ms must be at most 86400000, not '1000000000'"],
      [{ max_items: 0 }, "implementation.max_items must be at least 1, not '0'"],
      [{ pick: [] }, "implementation.pick must have at least 1 item, not '[]'"],
      [{ retry: { max_attempts: 21 } }, "implementation.retry.max_attempts must be at most 20, not '21'"],
      [{ retry: { max_attempts: 1, backoff_ms: -1 } }, "implementation.retry.backoff_ms must be at least 0, not '-1'"],
      [{ circuit_breaker: { failures: 1.5 } }, "implementation.circuit_breaker.failures must be an integer, not '1.5'"],
      [
        { pagination: { type: 'link', max_pages: 101 } },
        "implementation.pagination.max_pages must be at most 100, not '101'",
      ],
      [{ pagination: { type: 'offset', offset_param: 'o' } }, "missing 'implementation.pagination.limit'"],
      [
        { pagination: { type: 'endless' } },
        "implementation.pagination.type must be one of: link, cursor, next_url, page, offset, not 'endless'",
      ],
    ])
  })

  test('bodies and methods that do not go together', () => {
    holds([
      [
        { body: 'json' },
        "implementation.body 'json' is for a request with a body, and implementation.method is 'GET': remove it, or use POST, PUT or PATCH",
      ],
      [
        { method: 'HEAD', body_param: 'id' },
        "implementation.body_param 'id' is for a request with a body, and implementation.method is 'HEAD': remove it, or use POST, PUT or PATCH",
      ],
      [
        { method: 'HEAD', response_path: '$.a' },
        "implementation.response_path '$.a' is for an answer with a body, and implementation.method is 'HEAD': remove it, or use GET",
      ],
      [
        { method: 'HEAD', pagination: { type: 'link' } },
        "implementation.pagination is for an answer with a body, and implementation.method is 'HEAD': remove it, or use GET",
      ],
      [
        { method: 'POST', body: 'text' },
        "implementation.body is 'text', and parameters 'id' and 'user' would both be the body: name one in body_param",
      ],
      [
        { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' } },
        `implementation.headers.Content-Type 'application/x-www-form-urlencoded' does not match a json body: write "body": "form"`,
      ],
      [
        { method: 'POST', headers: { 'content-type': 'multipart/form-data' } },
        `implementation.headers.content-type 'multipart/form-data' does not match a json body: remove the header, or write "body": "text"`,
      ],
      [
        { method: 'POST', body: 'form', headers: { 'content-type': 'application/json' } },
        `implementation.headers.content-type 'application/json' does not match a form body: remove the header, or write "body": "text"`,
      ],
    ])
  })

  test('paths into answers, pages and tokens', () => {
    const example = 'is not a JSONPath: write it like $.data.items'
    holds([
      [{ response_path: 'data.items' }, `implementation.response_path 'data.items' ${example}`],
      [{ response_path: '$.[' }, `implementation.response_path '$.[' ${example}`],
      [{ pagination: { type: 'link', items_path: 'x' } }, `implementation.pagination.items_path 'x' ${example}`],
      [
        { pagination: { type: 'cursor', cursor_path: '$[', cursor_param: 'c' } },
        `implementation.pagination.cursor_path '$[' ${example}`,
      ],
      [{ pagination: { type: 'next_url', next_path: '$..' } }, `implementation.pagination.next_path '$..' ${example}`],
      [
        { method: 'POST', pagination: { type: 'link' } },
        `implementation.pagination is for tools that read, and 'find_things' is not one: remove it, or give the tool "effect": "read" if it is`,
      ],
      [
        { method: 'DELETE', pagination: { type: 'link' } },
        `implementation.pagination is for tools that read, and 'find_things' is not one: remove it, or give the tool "effect": "read" if it is`,
      ],
      [
        { auth: { type: 'oauth2', token_url: 'a.test', client_id: 'a', client_secret: 'b' } },
        "implementation.auth.token_url 'a.test' is not a complete URL: write it like https://api.example.com/users/{id}",
      ],
      [
        { auth: { type: 'oauth2', token_url: 'https://a.test/{id}', client_id: 'a', client_secret: 'b' } },
        'implementation.auth.token_url has a {parameter}, and no parameter goes there: write it out',
      ],
    ])
    expect(problem({ method: 'POST', pagination: { type: 'link' } }, { effect: 'read' })).toBe(undefined)
    expect(problem({ pagination: { type: 'link' } }, { effect: 'write' })).toContain('is for tools that read')
  })

  test('a tool that has one cannot be called', () => {
    expect(() => compileRequest(httpTool({ url: 'nowhere' }), {})).toThrow(
      expect.objectContaining({
        code: 'EXECUTION_ERROR',
        message: `Tool 'find_things' has an invalid implementation: ${problem({ url: 'nowhere' })}`,
      }),
    )
  })
})

test('derives the effect from the method', () => {
  expect(([undefined, 'GET', 'HEAD', 'PUT', 'DELETE', 'POST', 'PATCH'] as const).map((one) => effectOf(one))).toEqual([
    'read',
    'read',
    'read',
    'idempotent',
    'idempotent',
    'write',
    'write',
  ])
})
