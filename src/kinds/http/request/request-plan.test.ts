import { describe, expect, test } from 'vitest'
import type { JsonSchema, Params, ToolDefinition } from '../../../core/tool.ts'
import type { OutgoingRequest } from '../exchange/outgoing-request.ts'
import { httpTool } from './fixtures/http-tool.ts'
import { compileRequest } from './request-plan.ts'

const USUAL = { accept: 'application/json, */*;q=0.5', 'user-agent': 'toolyard' }

const build = (tool: ToolDefinition, params: Params = {}, env = {}): OutgoingRequest =>
  compileRequest(tool, env).build(params)

/** The path and the query of the request that an implementation gives. */
const pathOf = (
  implementation: Readonly<Record<string, unknown>>,
  params: Params,
  parameters: readonly string[] | Readonly<Record<string, JsonSchema>> = Object.keys(params),
): string => build(httpTool(implementation, parameters), params).path

const bodyOf = (implementation: Readonly<Record<string, unknown>>, params: Params, parameters = Object.keys(params)) =>
  build(httpTool({ method: 'POST', ...implementation }, parameters), params).body

describe('placing parameters', () => {
  test('a request has the method, the origin, the path and the usual headers', () => {
    expect(build(httpTool({ url: 'https://API.example.com:8443/v1/' }))).toEqual({
      method: 'GET',
      origin: 'https://api.example.com:8443',
      path: '/v1/',
      headers: USUAL,
      credentials: [],
    })
    expect(build(httpTool({ url: 'https://api.example.com:443' }))).toMatchObject({
      origin: 'https://api.example.com',
      path: '/',
    })
  })

  test('the plan has the URL of the tool', () => {
    const plan = compileRequest(httpTool({ url: 'https://${HOST}/users/{id}', method: 'PUT' }, ['id']), {
      HOST: 'a.test',
    })
    expect([plan.url.origin, plan.method, plan.url.pathname]).toEqual(['https://a.test', 'PUT', '/users/%7Bid%7D'])
  })

  test.each(['GET', 'HEAD', 'DELETE'])('%s sends them in the query, in the order of the schema', (method) => {
    const request = build(httpTool({ method }, ['one', 'two']), { two: 2, one: 'a b&c' })
    expect(request).toMatchObject({ method, path: '/things?one=a%20b%26c&two=2' })
    expect('body' in request).toBe(false)
  })

  test.each(['POST', 'PUT', 'PATCH'])('%s sends them in a JSON body', (method) => {
    expect(build(httpTool({ method }, ['one', 'two']), { one: 'a', two: { deep: [1] } })).toMatchObject({
      method,
      path: '/things',
      headers: { ...USUAL, 'content-type': 'application/json' },
      body: '{"one":"a","two":{"deep":[1]}}',
    })
  })

  test('a path parameter is sent in the path only', () => {
    expect(pathOf({ url: 'https://a.test/users/{id}/posts' }, { id: 7, q: 'x' })).toBe('/users/7/posts?q=x')
    expect(bodyOf({ url: 'https://a.test/users/{id}' }, { id: 7, q: 'x' })).toBe('{"q":"x"}')
  })

  test('one may stand in the path twice, beside text, and beside another', () => {
    const url = 'https://a.test/{id}/x-{id}.{kind}/{id}{kind}'
    expect(pathOf({ url }, { id: 'a', kind: 'b' })).toBe('/a/x-a.b/ab')
  })

  test('does not send parameters that the schema does not declare', () => {
    expect(pathOf({}, { q: 1, extra: 2 }, ['q'])).toBe('/things?q=1')
    expect(bodyOf({}, { q: 1, extra: 2 }, ['q'])).toBe('{"q":1}')
    expect(bodyOf({}, { extra: 2 }, [])).toBe(undefined)
    const open = httpTool({ method: 'POST' }, [], { parameters: { type: 'object', additionalProperties: true } })
    expect(build(open, { extra: 2 })).toMatchObject({ path: '/things', headers: USUAL })
    expect(build(open, { extra: 2 }).body).toBe(undefined)
  })

  test('finds properties in all parts of a schema', () => {
    const parameters = {
      type: 'object',
      properties: { own: {} },
      allOf: [{ $ref: '#/$defs/page' }],
      oneOf: [{ properties: { left: {} } }, { properties: { right: {} } }],
      not: { properties: { never: {} } },
      $defs: { page: { properties: { page: {} }, allOf: [{ $ref: '#' }] } },
    }
    const params = { never: 0, right: 1, left: 2, page: 3, own: 4 }
    expect(build(httpTool({}, [], { parameters }), params).path).toBe('/things?own=4&left=2&right=1&page=3')
  })

  test('does not send inherited properties', () => {
    expect(pathOf({}, {}, ['toString', 'valueOf'])).toBe('/things')
    expect(bodyOf({}, {}, ['toString'])).toBe('{}')
  })

  test('does not expand variables in parameter values', () => {
    const tool = httpTool({ params_in: { h: 'header' } }, ['q', 'h'])
    const { path, headers } = build(tool, { q: '${SECRET}', h: '${SECRET}' }, { SECRET: 'hidden-value' })
    expect([path, headers.h]).toEqual(['/things?q=%24%7BSECRET%7D', '${SECRET}'])
  })
})

describe('params_mapping', () => {
  const params_mapping = { user_id: 'id', text: 'q' }

  test('sends only mapped parameters in the query, under their new names', () => {
    expect(pathOf({ params_mapping }, { user_id: 7, text: 'x', other: 1 })).toBe('/things?id=7&q=x')
    expect(pathOf({ params_mapping: {} }, { other: 1 })).toBe('/things?other=1')
  })

  test('renames in the body, which has all parameters', () => {
    expect(bodyOf({ params_mapping }, { user_id: 7, text: 'x', other: 1 })).toBe('{"id":7,"q":"x","other":1}')
  })

  test("a template has the API's name or the parameter's own", () => {
    expect(pathOf({ url: 'https://a.test/{id}', params_mapping }, { user_id: 7, text: 'x' })).toBe('/7?q=x')
    expect(pathOf({ url: 'https://a.test/{user_id}', params_mapping }, { user_id: 7, text: 'x' })).toBe('/7?q=x')
  })

  test("resolves swapped names by the API's names", () => {
    expect(pathOf({ url: 'https://a.test/{a}', params_mapping: { a: 'b', b: 'a' } }, { a: 1, b: 2 })).toBe('/2?b=1')
  })

  test('a parameter that is placed is sent although it is not mapped', () => {
    const places = { params_mapping, params_in: { other: 'query' } }
    expect(pathOf(places, { user_id: 7, text: 'x', other: 1, more: 2 })).toBe('/things?id=7&q=x&other=1')
  })

  test('a key of the body may be called as no property can be set', () => {
    expect(bodyOf({ params_mapping: { proto: '__proto__' } }, { proto: { a: 1 } })).toBe('{"__proto__":{"a":1}}')
  })
})

describe('params_in', () => {
  test('puts a parameter into the query of a POST', () => {
    const tool = httpTool({ method: 'POST', params_in: { dry_run: 'query' } }, ['dry_run', 'name'])
    expect(build(tool, { dry_run: true, name: 'x' })).toMatchObject({
      path: '/things?dry_run=true',
      body: '{"name":"x"}',
    })
  })

  test('puts a parameter into the body of a DELETE', () => {
    const tool = httpTool({ method: 'DELETE', params_in: { why: 'body' } }, ['why', 'id'])
    expect(build(tool, { why: 'x', id: 1 })).toMatchObject({ path: '/things?id=1', body: '{"why":"x"}' })
  })

  test('puts a parameter into a header, under its name in lower case', () => {
    const implementation = { params_in: { lang: 'header' }, params_mapping: { lang: 'Accept-Language' } }
    const plan = compileRequest(httpTool(implementation, ['lang']), {})
    expect(plan.build({ lang: 'en' }).headers).toEqual({ ...USUAL, 'accept-language': 'en' })
    expect(plan.build({}).headers).toEqual(USUAL)
    expect(plan.build({ lang: null }).headers).toEqual(USUAL)
  })

  test('puts parameters into cookies, behind those that are fixed', () => {
    const tool = httpTool({ headers: { Cookie: 'a=1' }, params_in: { b: 'cookie', c: 'cookie' } }, ['b', 'c'])
    expect(build(tool, { b: 'x;y', c: 2 }).headers.cookie).toBe('a=1; b=x%3By; c=2')
    expect(build(tool, {}).headers.cookie).toBe('a=1')
    expect('cookie' in build(httpTool({ params_in: { b: 'cookie' } }, ['b'])).headers).toBe(false)
  })
})

describe('the query', () => {
  test('has the pairs of the URL and the definition, then the parameters', () => {
    const implementation = { url: 'https://a.test/x?v=1&e=%20&&flag', query: { format: 'a b', k: '' } }
    expect(pathOf(implementation, { q: 'x' })).toBe('/x?v=1&e=%20&flag&format=a%20b&k=&q=x')
    expect(pathOf(implementation, {}, ['q'])).toBe('/x?v=1&e=%20&flag&format=a%20b&k=')
  })

  test('may have a parameter in the address, under a name of its own', () => {
    const implementation = { url: 'https://a.test/x?search[q]={text}&v=1', params_mapping: { page: 'p' } }
    expect(pathOf(implementation, { text: 'a&b', page: 2, rest: 3 })).toBe('/x?v=1&search%5Bq%5D=a%26b&p=2')
    expect(pathOf(implementation, {}, ['text', 'page'])).toBe('/x?v=1')
  })

  test('omits absent and null values', () => {
    expect(pathOf({}, { a: null, b: undefined, c: '', d: false, e: 0 })).toBe('/things?c=&d=false&e=0')
  })
})

describe('the body', () => {
  test('has null but not absent values', () => {
    expect(bodyOf({}, { a: null, b: undefined })).toBe('{"a":null}')
    expect(bodyOf({}, {}, ['a'])).toBe('{}')
  })

  test('may be a form', () => {
    const tool = httpTool({ method: 'POST', body: 'form' }, ['a', 'b', 'c', 'd'])
    expect(build(tool, { a: 'x y+z', b: [1, 2], c: { d: 'é' }, d: null })).toMatchObject({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'a=x%20y%2Bz&b=1&b=2&c=%7B%22d%22%3A%22%C3%A9%22%7D',
    })
    expect(build(tool, {}).body).toBe('')
    const style = { params_in: { c: { in: 'body', style: 'deepObject' } } }
    expect(bodyOf({ body: 'form', ...style }, { c: { d: { e: 1 }, f: [2] } })).toBe(
      'c%5Bd%5D%5Be%5D=1&c%5Bf%5D%5B0%5D=2',
    )
  })

  test('may be a text', () => {
    const tool = httpTool({ method: 'POST', body: 'text', params_in: { q: 'query' } }, ['text', 'q'])
    expect(build(tool, { text: 'Grüße\n', q: 1 })).toMatchObject({
      path: '/things?q=1',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: 'Grüße\n',
    })
    expect(build(tool, { text: { a: 1 } }).body).toBe('{"a":1}')
    expect(build(tool, { text: null })).not.toHaveProperty('body')
  })

  test('may be one parameter, and the others then go into the query', () => {
    const tool = httpTool({ method: 'POST', body_param: 'list' }, ['list', 'q'])
    expect(build(tool, { list: [1, { a: null }], q: 'x' })).toMatchObject({
      path: '/things?q=x',
      body: '[1,{"a":null}]',
    })
    expect(build(tool, { list: null }).body).toBe('null')
    expect(build(tool, {})).toEqual(expect.objectContaining({ headers: USUAL }))
    expect(build(tool, {})).not.toHaveProperty('body')
  })

  test('may be one parameter with the fields of a form', () => {
    const tool = httpTool({ method: 'POST', body: 'form', body_param: 'fields' }, ['fields'])
    expect(build(tool, { fields: { 'a&b': '=', list: [1, 2], no: null } }).body).toBe('a%26b=%3D&list=1&list=2')
    expect(build(tool, {})).not.toHaveProperty('body')
    expect(() => build(tool, { fields: [1] })).toThrow(
      'Invalid parameters: fields must be an object, as it is sent as a form: [1]',
    )
  })

  test('has the content type that the definition gives', () => {
    const headers = { 'Content-Type': 'application/vnd.api+json' }
    expect(build(httpTool({ method: 'POST', headers }, ['a']), {}).headers).toEqual({
      ...USUAL,
      'content-type': 'application/vnd.api+json',
    })
  })
})

describe('secrets', () => {
  test('are put in, and known', () => {
    const implementation = {
      url: 'https://${HOST}/bot${TOKEN}/x?k=${URL_KEY}',
      headers: { Authorization: 'Bearer ${BEARER}', 'X-Plain': 'plain' },
      query: { key: '${QUERY_KEY}' },
    }
    const env = {
      HOST: 'api.example.com',
      TOKEN: '123:abcdef',
      URL_KEY: 'url+key=&',
      BEARER: ' bearer-value\n',
      QUERY_KEY: 'query&key',
    }
    const plan = compileRequest(httpTool(implementation), env)
    const { path, headers, credentials } = plan.build({})
    expect(path).toBe('/bot123:abcdef/x?k=url%2Bkey%3D%26&key=query%26key')
    expect(headers).toMatchObject({ authorization: 'Bearer bearer-value', 'x-plain': 'plain' })
    expect(credentials).toEqual(['authorization'])
    const shown = 'api.example.com 123:abcdef url+key=& bearer-value query&key query%26key plain'
    expect(plan.secrets.scrub(shown)).toBe(
      'api.example.com [redacted] [redacted] [redacted] [redacted] [redacted] plain',
    )
  })

  test('that are written out are known as well', () => {
    const headers = { Authorization: 'Bearer written-out-1', 'x-api-key': 'written-out-2' }
    const auth = { type: 'api_key', in: 'query', name: 'k', value: 'written-out-3' }
    const plan = compileRequest(httpTool({ headers, auth, url: 'https://a.test/?appid=written-out-4' }), {})
    expect(plan.secrets.scrub('1 written-out-1 written-out-2 written-out-3 written-out-4')).toBe(
      '1 [redacted] [redacted] [redacted] [redacted]',
    )
    expect(plan.build({}).credentials).toEqual(['authorization', 'x-api-key'])
  })

  test('in headers of any name go to no other origin', () => {
    const headers = { 'X-Mine': '${MINE}', 'X-Plain': 'plain', 'X-Other': 'ghp_abcdefghijklmnopqrstuvwxyz0123456789' }
    expect(build(httpTool({ headers }), {}, { MINE: 'my-value' }).credentials).toEqual(['x-mine', 'x-other'])
  })

  test('given as parameters go to no other origin either', () => {
    const tool = httpTool({ params_in: { token: 'header', lang: 'header' }, params_mapping: { token: 'X-Token' } }, [
      'token',
      'lang',
    ])
    expect(build(tool, { token: 'x', lang: 'en' }).credentials).toEqual(['x-token'])
  })
})
