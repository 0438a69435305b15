import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../../core/tool.ts'
import { httpTool } from './fixtures/http-tool.ts'
import { warningOf } from './http-problem-of.ts'

const warning = (implementation: Readonly<Record<string, unknown>>, env = {}): string | undefined =>
  warningOf(httpTool(implementation), env)

const writtenOut = (place: string): string =>
  `implementation.${place} contains a literal secret: put it into an environment variable, and write \${NAME} there`

test.each([
  [{ headers: { 'x-a': '${NAME:-usual}' } }, 'headers.x-a'],
  [{ query: { q: 'a${}b' } }, 'query.q'],
  [{ auth: { type: 'basic', username: 'me', password: '${MY-KEY}' } }, 'auth.password'],
])('a variable that nothing replaces: %j', (implementation, place) => {
  expect(warning(implementation)).toContain(
    `implementation.${place} has a \${…} that is not a variable and is sent unchanged: use letters, digits and _ only`,
  )
})

describe('secrets that are written out', () => {
  const secret = 'abc-DEF-123-ghi'

  test.each([
    [{ headers: { Authorization: `Bearer ${secret}` } }, 'headers.Authorization'],
    [{ headers: { 'X-Api-Key': secret } }, 'headers.X-Api-Key'],
    [{ headers: { cookie: `session=${secret}` } }, 'headers.cookie'],
    [{ headers: { 'Ocp-Apim-Subscription-Key': secret } }, 'headers.Ocp-Apim-Subscription-Key'],
    [{ headers: { 'x-anything': 'ghp_abcdefghijklmnopqrstuvwxyz0123456789' } }, 'headers.x-anything'],
    [{ query: { key: secret } }, 'query.key'],
    [{ query: { access_token: secret } }, 'query.access_token'],
    [{ query: { client_secret: secret } }, 'query.client_secret'],
    [{ query: { q: 'AKIAABCDEFGHIJKLMNOP' } }, 'query.q'],
    [{ url: `https://a.test/?appid=${secret}` }, 'url'],
    [{ url: 'https://a.test/sk-abcdefghijklmnopqrstuvwx/x' }, 'url'],
    [{ auth: { type: 'bearer', token: secret } }, 'auth.token'],
    [{ auth: { type: 'api_key', in: 'header', name: 'x', value: secret } }, 'auth.value'],
    [{ auth: { type: 'basic', username: 'me', password: secret } }, 'auth.password'],
    [{ auth: { type: 'basic', username: 'sk-abcdefghijklmnopqrstuvwx', password: '' } }, 'auth.username'],
    [
      { auth: { type: 'oauth2', token_url: 'https://a.test', client_id: 'a', client_secret: secret } },
      'auth.client_secret',
    ],
  ])('%j', (implementation, place) => {
    expect(warning(implementation)).toBe(writtenOut(place))
  })

  test('each is named', () => {
    expect(warning({ headers: { authorization: secret }, query: { token: secret } })).toBe(
      `${writtenOut('headers.authorization')}; ${writtenOut('query.token')}`,
    )
  })

  test.each([
    { headers: { Authorization: 'Bearer ${TOKEN}', 'x-api-key': '${KEY}', cookie: 'a=${A}' } },
    {
      headers: { 'content-type': 'application/json', 'x-version': '2024-01-01-preview' },
      query: { sort: 'created-at' },
    },
    { query: { key: 'id', max_tokens: '100', keyword: 'something-long' } },
    { url: 'https://a.test/v1/tokens/list/something-that-is-quite-long?key=${KEY}&format=json-with-comments' },
    { url: 'https://a.test/?sort_key=published_at' },
    { auth: { type: 'bearer', token: '${TOKEN}' } },
    { auth: { type: 'basic', username: 'somebody', password: '' } },
    { auth: { type: 'oauth2', token_url: 'https://a.test/token', client_id: 'my-client-id', client_secret: '${S}' } },
  ])('there is none in %j', (implementation) => {
    expect(warning(implementation)).toBe(undefined)
  })
})

describe('other warnings', () => {
  test('a secret that is too short to be searched for', () => {
    const implementation = {
      url: 'https://a.test/${VERSION}',
      headers: { 'x-key': '${SHORT}' },
      query: { k: '${LONG}${SHORT}' },
      auth: { type: 'basic', username: '${USER}', password: '${PIN}' },
    }
    const env = { SHORT: ' ab12 ', LONG: 'abcdef', USER: 'me', PIN: '1234', VERSION: 'v1' }
    const about = (name: string) =>
      `The value of the environment variable ${name} is too short to be recognized: it is not removed from responses`
    expect(warning(implementation, env)).toBe(`${about('SHORT')}; ${about('PIN')}`)
    expect(warning(implementation)).toBe(undefined)
  })

  test('warns about an exploded object without declared keys', () => {
    const tool = (filter: JsonSchema, placement: object) =>
      httpTool({ params_in: { filter: { in: 'query', ...placement } } }, { filter })
    const open = { type: 'object', additionalProperties: true }
    expect(warningOf(tool(open, { style: 'form' }))).toBe(
      'implementation.params_in.filter sends each key that the schema declares separately, but the schema declares none, so nothing is sent',
    )
    expect(warningOf(tool(open, { style: 'form', explode: false }))).toBe(undefined)
    expect(warningOf(tool(open, { style: 'deepObject' }))).toBe(undefined)
    expect(warningOf(tool({ type: 'object', properties: { a: {} } }, { style: 'form' }))).toBe(undefined)
  })
})
