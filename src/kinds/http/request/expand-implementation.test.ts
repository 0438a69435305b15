import { describe, expect, test } from 'vitest'
import type { HttpImplementation } from '../definition/http-implementation.ts'
import { expandImplementation } from './expand-implementation.ts'
import { httpTool } from './fixtures/http-tool.ts'
import { compileRequest } from './request-plan.ts'

const expand = (implementation: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string>> = {}) =>
  expandImplementation({ type: 'http', url: 'https://a.test/', ...implementation } as HttpImplementation, env)

const urlOf = (url: string, env: Readonly<Record<string, string>>): string => expand({ url }, env).implementation.url

describe('variables of an implementation', () => {
  test('are replaced in url, headers, query and auth, and nowhere else', () => {
    const written = {
      url: 'https://${HOST}/${PATH}?a=${QUERY}',
      headers: { a: 'x ${HEADER} y' },
      query: { b: '${QUERY}' },
      auth: {
        type: 'oauth2',
        token_url: 'https://${HOST}/t',
        client_id: '${ID}',
        client_secret: '${SECRET}',
        extra: 7,
      },
      response_path: '$.${PATH}',
    }
    const env = {
      HOST: 'a.test',
      PATH: 'p-value',
      QUERY: 'q-value',
      HEADER: 'h-value',
      ID: 'id-value',
      SECRET: 's-value',
    }
    const { implementation, secrets } = expand(written, env)
    expect(implementation).toEqual({
      type: 'http',
      url: 'https://a.test/p-value?a=q-value',
      headers: { a: 'x h-value y' },
      query: { b: 'q-value' },
      auth: {
        type: 'oauth2',
        token_url: 'https://a.test/t',
        client_id: 'id-value',
        client_secret: 's-value',
        extra: 7,
      },
      response_path: '$.${PATH}',
    })
    expect([...secrets].sort()).toEqual(['h-value', 'id-value', 'p-value', 'q-value', 's-value'])
    expect(written.headers.a).toBe('x ${HEADER} y')
  })

  test('keeps definitions without variables', () => {
    const written: HttpImplementation = { type: 'http', url: 'https://a.test/{id}', headers: { a: 'b' } }
    expect(expandImplementation(written, {})).toEqual({ implementation: written, secrets: new Set() })
  })

  test('before the path a value may be a whole address', () => {
    expect(urlOf('${BASE}/users/{id}', { BASE: 'https://a.test/v1' })).toBe('https://a.test/v1/users/{id}')
    expect(urlOf('${BASE}/users', { BASE: 'https://a.test/v1/' })).toBe('https://a.test/v1/users')
    expect(urlOf('${HOOK}', { HOOK: 'https://a.test/v1/' })).toBe('https://a.test/v1/')
    expect(urlOf('${S}://${H}:${P}/x', { S: 'http', H: 'a.test', P: '81' })).toBe('http://a.test:81/x')
    expect([...expand({ url: '${BASE}/x' }, { BASE: 'https://api.example.com/v1-long-name' }).secrets]).toEqual([])
  })

  test('the key in a whole address is a secret', () => {
    const HOOK = 'https://hooks.a.test/services/T0/abcdefghijklmnopqrstuvwx?sig=signed-by-us'
    expect([...expand({ url: '${HOOK}' }, { HOOK }).secrets]).toEqual(['abcdefghijklmnopqrstuvwx', 'signed-by-us'])
  })

  test('in the path and the query a value is data', () => {
    const value = 'a/b?c#d&e=f {id} %2e+'
    expect(urlOf('https://a.test/${V}', { V: value })).toBe('https://a.test/a/b%3Fc%23d&e=f%20%7Bid%7D%20%252e+')
    expect(urlOf('https://a.test/?k=${V}', { V: value })).toBe(
      'https://a.test/?k=a%2Fb%3Fc%23d%26e%3Df%20%7Bid%7D%20%252e%2B',
    )
  })

  test('none brings in a parameter', () => {
    const tool = httpTool({ url: '${BASE}/x/${PART}?q=${PART}' }, ['id'])
    const plan = compileRequest(tool, { BASE: 'https://a.test/{id}', PART: '{id}' })
    expect(plan.build({ id: 'value' }).path).toBe('/%7Bid%7D/x/%7Bid%7D?q=%7Bid%7D&id=value')
  })
})

describe('a variable that cannot be used', () => {
  const BAD = 'secret-value'
  const message = (implementation: Readonly<Record<string, unknown>>, value?: string): string => {
    try {
      expand(implementation, value === undefined ? {} : { KEY: value })
      return 'nothing'
    } catch (error) {
      expect(error).toMatchObject({ code: 'EXECUTION_ERROR' })
      return (error as Error).message
    }
  }
  const PLACES: readonly (readonly [place: string, implementation: Readonly<Record<string, unknown>>])[] = [
    ['implementation.url', { url: 'https://a.test/${KEY}' }],
    ['implementation.url', { url: 'https://${KEY}/' }],
    ['implementation.headers.x', { headers: { x: '${KEY}' } }],
    ['implementation.query.x', { query: { x: '${KEY}' } }],
    ['implementation.auth.token', { auth: { type: 'bearer', token: '${KEY}' } }],
    ['implementation.auth.password', { auth: { type: 'basic', username: 'a', password: '${KEY}' } }],
  ]

  test.each(PLACES)('reports a variable that is not set: %s', (_, implementation) => {
    const sentence = 'The environment variable KEY is not set: set it, or take ${KEY} out of the definition'
    expect(message(implementation)).toBe(sentence)
    expect(message(implementation, ' \n')).toBe(sentence)
  })

  test.each(PLACES)('reports a variable with a control character, without its value: %s', (place, implementation) => {
    for (const character of ['\r\n', '\n', '\u0000', '\u0007', '\u007f', '\u0085']) {
      expect(message(implementation, `${BAD}${character}x: y`)).toBe(
        `The environment variable KEY contains a line break or another control character, which is not allowed in ${place}: set it to one line of text`,
      )
    }
  })

  test('reports a variable that a header cannot contain, without its value', () => {
    const sentence = (place: string): string =>
      `The environment variable KEY contains a character that is not allowed in a header, and implementation.${place} is sent in one: set it to plain ASCII text`
    const key = { type: 'api_key', name: 'k', value: '${KEY}' }
    expect(message({ headers: { x: '${KEY}' } }, `${BAD}é`)).toBe(sentence('headers.x'))
    expect(message({ auth: { type: 'bearer', token: '${KEY}' } }, `${BAD}€`)).toBe(sentence('auth.token'))
    expect(message({ auth: { ...key, in: 'header' } }, `${BAD}é`)).toBe(sentence('auth.value'))
    expect(message({ auth: { ...key, in: 'query' } }, `${BAD}é`)).toBe('nothing')
    expect(message({ auth: { type: 'basic', username: 'a', password: '${KEY}' } }, `${BAD}é`)).toBe('nothing')
  })

  test.each(['ftp://a.test', 'https://me:secret-value@a.test', 'https://a.test/#secret-value', 'secret-value'])(
    'is not quoted where it makes no address: %s',
    (BASE) => {
      const compile = () => compileRequest(httpTool({ url: '${BASE}/x' }), { BASE })
      expect(compile).toThrow(/^implementation\.url/)
      expect(compile).not.toThrow(/secret-value|a\.test/)
    },
  )
})
