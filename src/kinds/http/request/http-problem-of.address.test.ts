import { describe, expect, test } from 'vitest'
import { httpTool } from './fixtures/http-tool.ts'
import { problemOf } from './http-problem-of.ts'

const PARAMETERS = ['id', 'user', 'text']

const problem = (implementation: Readonly<Record<string, unknown>>) => problemOf(httpTool(implementation, PARAMETERS))

/** Implementations and the sentence that each gives. */
function holds(table: readonly (readonly [Readonly<Record<string, unknown>>, string])[]): void {
  for (const [implementation, sentence] of table) expect(problem(implementation)).toBe(sentence)
}

describe('problems of an address', () => {
  test('the address', () => {
    const whole = 'write it like https://api.example.com/users/{id}'
    const userInfo = 'implementation.url contains a user name or a password: write them into auth'
    const beforePath = 'has a {parameter} before its path: write scheme, host and port literally'
    const fixed = (url: string): string => `implementation.url '${url}' ${beforePath}`
    holds([
      [{ url: 'api.example.com/x' }, `implementation.url 'api.example.com/x' is not a complete URL: ${whole}`],
      [{ url: '/users' }, `implementation.url '/users' is not a complete URL: ${whole}`],
      [{ url: 'https:///x' }, `implementation.url 'https:///x' is not a complete URL: ${whole}`],
      [{ url: 'https:/a.test' }, `implementation.url 'https:/a.test' is not a complete URL: ${whole}`],
      [{ url: 'https://a.test:99999/' }, `implementation.url 'https://a.test:99999/' is not a complete URL: ${whole}`],
      [{ url: 'https://exa%00mple/' }, `implementation.url 'https://exa%00mple/' is not a complete URL: ${whole}`],
      [{ url: 'ftp://a.test/' }, "implementation.url 'ftp://a.test/' must begin with http:// or https://"],
      [{ url: 'file:///etc/passwd' }, `implementation.url 'file:///etc/passwd' is not a complete URL: ${whole}`],
      [{ url: 'https://me:secret-word@a.test/' }, userInfo],
      [{ url: 'https://${USER}@a.test/' }, userInfo],
      [{ url: 'https://{id}@a.test/' }, userInfo],
      [{ url: 'https://{id}.test/x' }, fixed('https://{id}.test/x')],
      [{ url: 'https://a.test:{id}/x' }, fixed('https://a.test:{id}/x')],
      [{ url: '{id}://a.test/x' }, fixed('{id}://a.test/x')],
      [{ url: '{id}/x' }, fixed('{id}/x')],
      [{ url: '${BASE_URL}{id}/x' }, fixed('${BASE_URL}{id}/x')],
      [
        { url: 'https://a.test/#{id}' },
        "implementation.url 'https://a.test/#{id}' has a fragment (#), which is never sent: remove it",
      ],
      [
        { url: 'https://a.test/a b' },
        "implementation.url 'https://a.test/a b' contains a space or a backslash: encode or remove it",
      ],
      [
        { url: 'https://a.test\\b/' },
        "implementation.url 'https://a.test\\b/' contains a space or a backslash: encode or remove it",
      ],
      [
        { url: 'https://a.test/${my-var}' },
        "implementation.url 'https://a.test/${my-var}' has a ${…} that is not a variable: use letters, digits and _ only",
      ],
      [
        { url: 'https://a.test/{id' },
        "implementation.url 'https://a.test/{id' has an unbalanced { or }: write {parameter}, or %7B and %7D",
      ],
      [
        { url: 'https://a.test/{id}/../x' },
        "implementation.url 'https://a.test/{id}/../x' has a {parameter} that a following /../ removes: write the path without it",
      ],
      [
        { url: 'https://a.test/?q=a{id}' },
        "implementation.url 'https://a.test/' has {id} in its query next to other text: write name={parameter} only",
      ],
      [
        { url: 'https://a.test/?{id}=1' },
        "implementation.url 'https://a.test/' has {id} in its query next to other text: write name={parameter} only",
      ],
      [
        { url: 'https://a.test/?a={id}&b={id}' },
        'implementation.url has one parameter twice in its query: write it once',
      ],
      [
        { url: 'https://a.test/{usr}' },
        '{usr} in implementation.url is not a parameter of the tool: did you mean {user}?',
      ],
      [{ url: 'https://a.test/{}' }, '{} in implementation.url is not a parameter of the tool: did you mean {id}?'],
      [
        { url: 'https://a.test/{+path}' },
        '{+path} in implementation.url is not a parameter of the tool: add it to parameters.properties',
      ],
    ])
  })

  test('a secret in the address is not quoted', () => {
    expect(problem({ url: 'https://a.test/sk-abcdefghijklmnopqrstuvwx/#x?key=other-secret' })).toBe(
      "implementation.url 'https://a.test/[redacted]/#x' has a fragment (#), which is never sent: remove it",
    )
  })

  test('the domains', () => {
    const sentence =
      'implementation.allowed_domains has "*", which is not a host name: write it like "api.example.com", or "*.example.com" for all its sub-domains, without scheme, port or path'
    holds([[{ url: 'https://a.test/', allowed_domains: ['a.test', '*'] }, sentence]])
  })
})
