import { describe, expect, test } from 'vitest'
import { api, one, refusal, request, takes, withBody } from './fixtures/documents.ts'

const query = (name: string, schema: object = { type: 'string' }, more: object = {}) => ({
  name,
  in: 'query',
  schema,
  ...more,
})

/** The tool of one operation. */
const tool = (method: string, operation: object, path = '/a', more: object = {}) =>
  one(api({ [path]: { [method]: operation } }, { ...more }))

describe('bodies', () => {
  const body = (content: object, more: object = {}) => ({ requestBody: { required: true, content, ...more } })

  test.each([
    ['a list', { type: 'array', items: { type: 'string' } }, ['a'], '["a"]'],
    ['a text', { type: 'string' }, 'a', '"a"'],
    ['an object of any keys', { type: 'object', additionalProperties: { type: 'integer' } }, { x: 1 }, '{"x":1}'],
    ['a choice', { oneOf: [{ type: 'object', properties: { a: {} } }, { type: 'array' }] }, [1], '[1]'],
    ['anything', undefined, 5, '5'],
  ])('%s is one parameter', (_, schema, value, written) => {
    const { tool: send, http } = tool('post', { ...withBody(schema), parameters: [query('q')] })
    expect(http.body_param).toBe('body')
    expect(send.parameters.required).toEqual(['body'])
    expect(request(send, { body: value, q: 1 })).toMatchObject({ path: '/v1/a?q=1', body: written })
  })

  test('an allOf of objects is one object', () => {
    const schemas = {
      Base: { type: 'object', required: ['a'], properties: { a: { type: 'string' }, b: { type: 'string' } } },
    }
    const schema = {
      allOf: [{ $ref: '#/components/schemas/Base' }, { properties: { b: { maxLength: 3 }, c: { type: 'integer' } } }],
    }
    const { tool: send, properties } = tool('post', withBody(schema), '/a', { components: { schemas } })
    expect(properties).toEqual({
      a: { type: 'string' },
      b: { allOf: [{ type: 'string' }, { maxLength: 3 }] },
      c: { type: 'integer' },
    })
    expect(send.parameters.required).toEqual(['a'])
  })

  test('one that holds itself in its allOf is what is left of it', () => {
    const schemas = { A: { allOf: [{ $ref: '#/components/schemas/A' }, { properties: { a: { type: 'string' } } }] } }
    const operation = withBody({ $ref: '#/components/schemas/A' })
    expect(tool('post', operation, '/a', { components: { schemas } }).properties).toEqual({ a: { type: 'string' } })
  })

  test('applies additionalProperties and required alternatives to the parameters', () => {
    const schema = {
      type: 'object',
      properties: { a: {}, b: {} },
      additionalProperties: false,
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    }
    const { tool: send } = tool('post', withBody(schema), '/x/{a}')
    expect(takes(send, { a: '1', body_a: 1 })).toBe(true)
    expect(takes(send, { a: '1', b: 1 })).toBe(true)
    expect(takes(send, { a: '1' })).toBe(false)
    expect(takes(send, { a: '1', b: 1, c: 1 })).toBe(false)
  })

  test('notes undeclared properties that cannot be sent', () => {
    const schema = { type: 'object', properties: { a: {} }, additionalProperties: true }
    expect(tool('post', withBody(schema)).notes).toEqual([
      'properties of its body that the document does not name cannot be sent',
    ])
  })

  test('rules about it as a whole are left out, and named', () => {
    const discriminator = { propertyName: 'kind', mapping: { cat: '#/x', dog: '#/y' } }
    const schema = { type: 'object', minProperties: 1, discriminator, properties: { kind: { type: 'string' } } }
    expect(tool('post', withBody(schema)).notes).toEqual([
      'left out: minProperties of its body',
      'left out: the kinds "cat, dog" of its body',
    ])
  })

  test('nothing is asked for that only answers have', () => {
    const properties = { id: { readOnly: true }, name: {} }
    const schema = {
      type: 'object',
      properties,
      required: ['id'],
      anyOf: [{ required: ['id'] }, { required: ['name'] }],
    }
    expect(tool('post', withBody(schema)).tool.parameters).toEqual({ type: 'object', properties: { name: {} } })
  })

  test('a body that has nothing else is not sent, and noted', () => {
    const schema = { type: 'object', properties: { id: { readOnly: true } } }
    const { tool: send, notes } = tool('post', withBody(schema))
    expect(request(send, {}).body).toBeUndefined()
    expect(notes).toEqual(['its body is not sent: all its properties are read-only'])
  })

  test('a form', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'string' },
        l: { type: 'array', items: { type: 'string' } },
        o: { type: 'object', properties: { k: { type: 'string' } } },
      },
    }
    const encoding = { l: { explode: false }, o: { style: 'deepObject', explode: true } }
    const { tool: send } = tool('post', body({ 'application/x-www-form-urlencoded': { schema, encoding } }))
    expect(request(send, { a: 'x y', l: ['1', '2'], o: { k: 'v' } })).toMatchObject({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'a=x+y&l=1,2&o%5Bk%5D=v'.replace('+', '%20'),
    })
  })

  test('text', () => {
    const { tool: send, properties } = tool(
      'post',
      body({ 'application/xml': { schema: { type: 'object', properties: { a: {} } } } }),
    )
    expect(properties).toEqual({ body: { type: 'string', description: 'The body, as application/xml.' } })
    expect(request(send, { body: '<a/>' })).toMatchObject({
      headers: { 'content-type': 'application/xml' },
      body: '<a/>',
    })
  })

  test.each([
    [
      'application/json',
      ['text/plain', 'application/x-www-form-urlencoded', 'application/hal+json', 'application/json'],
    ],
    ['application/hal+json', ['text/plain', 'application/hal+json', 'multipart/form-data']],
    ['application/x-www-form-urlencoded', ['multipart/form-data', 'text/plain', 'application/x-www-form-urlencoded']],
    ['application/json', ['application/octet-stream', '*/*']],
    ['text/csv', ['application/octet-stream', 'text/csv']],
  ])('%s is taken of %j', (type, types) => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    const { tool: send } = tool('post', body(Object.fromEntries(types.map((one) => [one, { schema }]))))
    expect(request(send, { a: 'x', body: 'x' }).headers['content-type']).toBe(type)
  })

  test.each(['multipart/form-data', 'application/octet-stream', 'image/png', 'application/zip'])(
    '%s is refused',
    (type) => {
      expect(refusal(api({ '/a': { post: body({ [type]: {} }, { required: false }) } }))).toBe(
        `its body is "${type}": tools send JSON, forms and text`,
      )
    },
  )

  test('GET has none', () => {
    const content = { 'application/json': { schema: { type: 'object', properties: { a: {} } } } }
    expect(tool('get', body(content, { required: false })).notes).toEqual(['its body is left out: GET has no body'])
    expect(refusal(api({ '/a': { get: body(content) } }))).toBe('it requires a body, which GET does not have')
  })

  test('DELETE may have one', () => {
    const { tool: remove } = tool('delete', {
      ...withBody({ type: 'object', properties: { ids: {} } }),
      parameters: [query('force')],
    })
    expect(request(remove, { ids: [1], force: 1 })).toMatchObject({
      method: 'DELETE',
      path: '/v1/a?force=1',
      body: '{"ids":[1]}',
    })
  })

  test('one without content is not sent', () => {
    expect(tool('post', { requestBody: { content: {} } }).notes).toEqual(['its body has no content, and is not sent'])
  })
})

describe('answers', () => {
  const answered = (...types: string[]) =>
    tool('get', {
      responses: {
        200: { content: Object.fromEntries(types.map((type) => [type, {}])) },
        404: { content: { 'image/png': {} } },
      },
    })

  test.each([
    [['application/json'], undefined],
    [['*/*'], undefined],
    [['text/html', 'application/vnd.shop+json'], { accept: 'application/vnd.shop+json' }],
    [['image/png', 'text/csv'], { accept: 'text/csv' }],
  ])('%j', (types, headers) => {
    const { http, notes } = answered(...types)
    expect(http.headers).toEqual(headers)
    expect(notes).toEqual([])
  })

  test('that no model can read are noted', () => {
    expect(answered('image/png', 'application/zip').notes).toEqual([
      'its response is "image/png, application/zip", which a model cannot read',
    ])
  })
})
