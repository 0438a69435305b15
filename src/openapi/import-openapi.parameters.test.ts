import { describe, expect, test } from 'vitest'
import { api, one, refusal, request, withBody } from './fixtures/documents.ts'

const query = (name: string, schema: object = { type: 'string' }, more: object = {}) => ({
  name,
  in: 'query',
  schema,
  ...more,
})
const text = { schema: { type: 'string' } }

/** The tool of one operation. */
const tool = (method: string, operation: object, path = '/a', more: object = {}) =>
  one(api({ [path]: { [method]: operation } }, { ...more }))

describe('parameters of all places become one object', () => {
  const operation = {
    operationId: 'update',
    summary: 'Updates a thing',
    parameters: [
      query('dry', { type: 'boolean' }),
      { name: 'X-Trace', in: 'header', ...text },
      { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
      { name: 'session', in: 'cookie', ...text },
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
          },
        },
      },
    },
  }

  test('with a schema with required parameters', () => {
    const { tool: update } = tool('put', operation, '/things/{id}')
    expect(update).toEqual({
      name: 'update',
      description: 'Updates a thing',
      parameters: {
        type: 'object',
        properties: {
          id: { type: 'integer' },
          dry: { type: 'boolean' },
          'X-Trace': { type: 'string' },
          session: { type: 'string' },
          name: { type: 'string' },
          tags: { type: 'array', items: { type: 'string' } },
        },
        required: ['id', 'name'],
      },
      implementation: {
        type: 'http',
        method: 'PUT',
        url: 'https://shop.example/v1/things/{id}',
        params_in: { dry: 'query', 'X-Trace': 'header', session: 'cookie' },
      },
    })
  })

  test('and are sent in the declared place', () => {
    const params = { id: 7, dry: true, 'X-Trace': 't', session: 's', name: 'n', tags: ['a'] }
    expect(request(tool('put', operation, '/things/{id}').tool, params)).toMatchObject({
      method: 'PUT',
      origin: 'https://shop.example',
      path: '/v1/things/7?dry=true',
      headers: { 'x-trace': 't', cookie: 'session=s', 'content-type': 'application/json' },
      body: '{"name":"n","tags":["a"]}',
    })
  })

  test('those of the path item among them; the operation goes before', () => {
    const parameters = [query('a', { type: 'integer' }), { name: 'X-B', in: 'header', ...text }]
    const item = {
      parameters,
      get: { parameters: [query('a', { type: 'boolean' }), { name: 'x-b', in: 'header', schema: { type: 'number' } }] },
    }
    expect(one(api({ '/a': item })).properties).toEqual({ a: { type: 'boolean' }, 'x-b': { type: 'number' } })
  })

  test('a body that may be missing asks for nothing', () => {
    const { tool: update } = tool(
      'put',
      { ...operation, requestBody: { ...operation.requestBody, required: false } },
      '/things/{id}',
    )
    expect(update.parameters.required).toEqual(['id'])
  })

  test('prefers the description of the parameter to that of its schema', () => {
    const schema = { type: 'integer', description: 'A number.', default: 30 }
    const { properties } = tool('get', {
      parameters: [query('n', schema, { description: 'How **many**', example: 5, deprecated: true })],
    })
    expect(properties.n).toEqual({
      type: 'integer',
      description: 'How many. Default: 30',
      examples: [5],
      deprecated: true,
    })
  })

  test('does not repeat a default in the description', () => {
    const said = { description: 'At most so many (defaults to 10)' }
    const { properties } = tool('get', { parameters: [query('n', { type: 'integer', default: 10 }, said)] })
    expect(properties.n).toEqual({ type: 'integer', ...said })
  })

  test('fills in defaults of required parameters only', () => {
    const parameters = [
      query('version', { type: 'string', default: '2' }, { required: true }),
      query('page', { type: 'integer', default: 1 }),
    ]
    const { tool: list, properties } = tool('get', { parameters })
    expect(properties.version).toMatchObject({ default: '2' })
    expect(properties.page).toEqual({ type: 'integer', description: 'Default: 1' })
    expect(list.parameters.required).toEqual(['version'])
  })
})

describe('one name in two places', () => {
  test('stays with the path; the other is called after its place', () => {
    const body = { type: 'object', properties: { id: { type: 'string' }, body_id: { type: 'string' } } }
    const operation = { ...withBody(body), parameters: [query('id')] }
    const { tool: update, http } = tool('post', operation, '/things/{id}')
    expect(Object.keys(Object(update.parameters.properties))).toEqual([
      'id',
      'query_id',
      expect.stringMatching(/^id_[0-9a-f]{8}$/),
      'body_id',
    ])
    const [, , inBody = ''] = Object.keys(Object(update.parameters.properties))
    expect(http.params_mapping).toMatchObject({ query_id: 'id', [inBody]: 'id' })
    expect(request(update, { id: 'p', query_id: 'q', [inBody]: 'b', body_id: 'o' })).toMatchObject({
      path: '/v1/things/p?id=q',
      body: '{"id":"b","body_id":"o"}',
    })
  })

  test('and query parameters are still sent', () => {
    const parameters = [query('id'), query('filter[status]'), query('plain'), { name: 'id', in: 'header', ...text }]
    const { tool: list } = tool('get', { parameters }, '/things/{id}')
    expect(request(list, { id: 1, query_id: 2, filter_status: 'x', plain: 'y', header_id: 'z' })).toMatchObject({
      path: '/v1/things/1?id=2&filter%5Bstatus%5D=x&plain=y',
      headers: { id: 'z' },
    })
  })
})

describe('names that no model accepts', () => {
  test('are replaced, and mapped back', () => {
    const parameters = [query('$filter'), query('a b'), query('名前'), query('x'.repeat(70)), query('constructor')]
    const { tool: list, properties } = tool('get', { parameters })
    const names = Object.keys(properties)
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/)
    expect(names.slice(0, 2)).toEqual(['filter', 'a_b'])
    const { path } = request(list, Object.fromEntries(names.map((name) => [name, '1'])))
    expect([...new URLSearchParams(path.split('?')[1]).keys()]).toEqual([
      '$filter',
      'a b',
      '名前',
      'x'.repeat(70),
      'constructor',
    ])
  })

  test('in the path too', () => {
    const { tool: get } = tool(
      'get',
      { parameters: [{ name: 'user id', in: 'path', ...text }] },
      '/u/{user id}/{+rest}',
    )
    expect(request(get, { user_id: 'a/b', rest: 'c' }).path).toBe('/v1/u/a%2Fb/c')
  })
})

describe('serializes lists and objects as declared', () => {
  const list = { type: 'array', items: { type: 'string' } }
  const object = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } } }

  test.each([
    ['a list as usual', query('v', list), ['x', 'y'], '?v=x&v=y'],
    ['a list with commas', query('v', list, { explode: false }), ['x', 'y'], '?v=x,y'],
    ['a list with pipes', query('v', list, { style: 'pipeDelimited', explode: false }), ['x', 'y'], '?v=x%7Cy'],
    ['a list with blanks', query('v', list, { style: 'spaceDelimited' }), ['x', 'y'], '?v=x%20y'],
    ['an object as usual', query('v', object), { a: 'x', b: 1 }, '?a=x&b=1'],
    ['an object in one', query('v', object, { explode: false }), { a: 'x', b: 1 }, '?v=a,x,b,1'],
    [
      'an object in brackets',
      query('v', object, { style: 'deepObject', explode: true }),
      { a: 'x', b: 1 },
      '?v%5Ba%5D=x&v%5Bb%5D=1',
    ],
    ['a referenced object', query('v', { $ref: '#/components/schemas/O' }), { a: 'x' }, '?a=x'],
  ])('%s', (_, parameter, value, expected) => {
    const { tool: get } = tool('get', { parameters: [parameter] }, '/a', { components: { schemas: { O: object } } })
    expect(request(get, { v: value }).path).toBe(`/v1/a${expected}`)
  })

  test('in a path', () => {
    const parameters = [{ name: 'v', in: 'path', style: 'label', explode: true, schema: list }]
    expect(request(tool('get', { parameters }, '/a/{v}').tool, { v: ['x', 'y'] }).path).toBe('/v1/a/.x.y')
  })

  test('an object of any keys cannot be told from other parameters', () => {
    const free = query('v', { type: 'object', additionalProperties: { type: 'string' } })
    expect(tool('get', { parameters: [free] }).notes).toEqual([
      'the query parameter "v" is left out: it is an object of any keys',
    ])
    expect(refusal(api({ '/a': { get: { parameters: [{ ...free, required: true }] } } }))).toBe(
      'its query parameter "v" is an object of any keys',
    )
  })

  test('a text is none of them, whatever properties its schema has', () => {
    const stray = { type: 'string', properties: { link: { type: 'string' } } }
    const { tool: get } = tool('get', { parameters: [query('terms', stray), query('page', stray)] })
    expect(request(get, { terms: 'x', page: '2' }).path).toBe('/v1/a?terms=x&page=2')
  })

  test('a parameter that is JSON is a text', () => {
    const parameter = { name: 'filter', in: 'query', content: { 'application/json': { schema: object } } }
    const { properties, notes } = tool('get', { parameters: [parameter] })
    expect(properties.filter).toEqual({ type: 'string', description: 'As application/json.' })
    expect(notes).toEqual(['the query parameter "filter" is a text: write "application/json" into it'])
  })

  test('a style of another place is left out, and noted', () => {
    expect(tool('get', { parameters: [query('v', list, { style: 'matrix' })] }).notes).toEqual([
      'the style "matrix" of the parameter "v" is not allowed for a query parameter and is ignored',
    ])
  })
})

describe('headers that are not for parameters', () => {
  test.each(['Accept', 'content-type', 'AUTHORIZATION'])('ignores the header %s', (name) => {
    const { properties, notes } = tool('get', { parameters: [{ name, in: 'header', required: true, ...text }] })
    expect(properties).toEqual({})
    expect(notes).toHaveLength(1)
  })

  test('those of the connection are left out, others are refused', () => {
    expect(tool('get', { parameters: [{ name: 'Host', in: 'header', required: true, ...text }] }).notes).toEqual([
      'the header parameter "Host" is left out: it belongs to the connection',
    ])
    expect(
      refusal(api({ '/a': { get: { parameters: [{ name: 'a b', in: 'header', required: true, ...text }] } } })),
    ).toBe('its parameter "a b" is a header that no parameter may set')
  })
})
