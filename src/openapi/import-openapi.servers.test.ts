import { describe, expect, test } from 'vitest'
import { api, one, refusal } from './fixtures/documents.ts'
import { serverUrl } from './import-openapi.ts'

describe('the server of an API', () => {
  test.each([
    [['http://a.example', 'https://b.example/v1/'], {}, 'https://b.example/v1'],
    [['http://a.example/'], {}, 'http://a.example'],
    [['//a.example/x'], {}, 'https://a.example/x'],
    [['https://Müller.example:8443'], {}, 'https://xn--mller-kva.example:8443'],
    [['/v2'], { documentUrl: 'https://d.example/docs/openapi.json' }, 'https://d.example/v2'],
    [['v2'], { documentUrl: 'https://d.example/docs/openapi.json' }, 'https://d.example/docs/v2'],
    [[], { documentUrl: 'https://d.example/docs/openapi.json' }, 'https://d.example'],
    [['https://a.example/v1'], { baseUrl: 'http://localhost:8080/api/' }, 'http://localhost:8080/api'],
    [['/v2'], { baseUrl: 'https://b.example/api' }, 'https://b.example/v2'],
    [['v2'], { baseUrl: 'https://b.example/api' }, 'https://b.example/api/v2'],
    [['/'], { baseUrl: 'https://b.example/api' }, 'https://b.example/api'],
    [[], { baseUrl: 'https://b.example/api' }, 'https://b.example/api'],
  ])('%j with %j', (servers, bases, url) => {
    expect(serverUrl(servers, bases)).toBe(url)
  })

  test.each([
    [[], 'the document has no server: set the URL of the API with --base-url'],
    [['/v1'], 'the server "/v1" is not a complete URL: set the URL of the API with --base-url'],
    [['ftp://a.example'], 'is not an http or https URL: set the URL of the API with --base-url'],
    [['https://me:secret@a.example'], 'contains a user name or a password'],
    [['https://a.example?x=1'], 'has a query'],
    [['https://{region}.example'], 'has a variable without a default'],
    [['https://'], 'is not an http or https URL'],
  ])('%j is refused', (servers, problem) => {
    expect(() => serverUrl(servers, {})).toThrow(problem)
  })

  test('variables have their defaults', () => {
    const variables = { region: { default: 'eu', enum: ['eu', 'us'] }, port: { default: 8443 } }
    const servers = [{ url: 'https://{region}.example:{port}/v1', variables }]
    expect(one(api({ '/a': { get: {} } }, { servers })).http.url).toBe('https://eu.example:8443/v1/a')
    expect(refusal(api({ '/a': { get: {} } }, { servers: [{ url: 'https://{x}.example' }] }))).toContain(
      'has a variable without a default',
    )
  })

  test('the nearest servers hold: of the operation, of the path, of the document', () => {
    const on = (host: string) => [{ url: `https://${host}.example` }]
    const url = (path: object, operation: object) => one(api({ '/a': { ...path, get: operation } })).http.url
    expect(url({ servers: on('p') }, { servers: on('o') })).toBe('https://o.example/a')
    expect(url({ servers: on('p') }, {})).toBe('https://p.example/a')
    expect(url({ servers: [] }, {})).toBe('https://shop.example/v1/a')
  })

  test('notes servers without encryption', () => {
    expect(one(api({ '/a': { get: {} } }, { servers: [{ url: 'http://a.example' }] })).notes).toEqual([
      'it is called over http, without encryption',
    ])
  })
})

describe('paths', () => {
  const url = (path: string) => one(api({ [path]: { get: {} } })).http

  test.each([
    ['/a b/ü', 'https://shop.example/v1/a%20b/%C3%BC'],
    ['/a%20b/100%', 'https://shop.example/v1/a%20b/100%25'],
    ['/a/{id}.json', 'https://shop.example/v1/a/{id}.json'],
    ['/a#second', 'https://shop.example/v1/a'],
  ])('%s', (path, expected) => {
    expect(url(path).url).toBe(expected)
  })

  test('a query that is part of one is always sent', () => {
    expect(url('/?Action=List&v=2')).toMatchObject({
      url: 'https://shop.example/v1/',
      query: { Action: 'List', v: '2' },
    })
    const get = { parameters: [{ name: 'Action', in: 'query', required: true, schema: {} }] }
    expect(one(api({ '/?Action=List': { get } })).notes).toEqual([
      'the query parameter "Action" is left out: the definition sends it already',
    ])
  })

  test.each([
    ['/a/../b', 'its path has a . or .. segment'],
    ['/a/%2e%2E/b', 'its path has a . or .. segment'],
    ['/a/{b', 'its path has a brace that does not belong to a parameter'],
    ['/a/{}', 'its path has a parameter without a name'],
    ['/a?x={y}', 'it has parameters in a query that is part of its path'],
  ])('%s is refused', (path, problem) => {
    expect(refusal(api({ [path]: { get: {} } }))).toContain(problem)
  })

  test('a parameter that the path does not have is left out', () => {
    const get = { parameters: [{ name: 'gone', in: 'path', required: true, schema: {} }] }
    expect(one(api({ '/a': { get } })).notes).toEqual([
      'the path parameter "gone" is left out: the path does not have it',
    ])
  })
})
