import { describe, expect, test } from 'vitest'
import { one, refusal, request, swagger } from './fixtures/documents.ts'
import { importOpenapi } from './import-openapi.ts'

const tool = (method: string, operation: object, more: object = {}, path = '/a') =>
  one(swagger({ [path]: { [method]: operation } }, { ...more }))

describe('Swagger 2', () => {
  test('parameters are their own schemas', () => {
    const parameters = [
      { name: 'id', in: 'path', required: true, type: 'string', pattern: '^[a-z]+$', description: 'Which' },
      { name: 'n', in: 'query', type: 'integer', minimum: 1, exclusiveMinimum: true, default: 3, 'x-nullable': true },
      { name: 'X-Kind', in: 'header', type: 'string', enum: ['a', 'b'] },
    ]
    const { tool: get } = tool('get', { parameters }, {}, '/things/{id}')
    expect(get.parameters).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string', description: 'Which', pattern: '^[a-z]+$' },
        n: { type: ['integer', 'null'], description: 'Default: 3', exclusiveMinimum: 1 },
        'X-Kind': { type: 'string', enum: ['a', 'b'] },
      },
      required: ['id'],
    })
  })

  test.each([
    ['csv', 'query', '/v1/a?v=x,y'],
    ['multi', 'query', '/v1/a?v=x&v=y'],
    ['ssv', 'query', '/v1/a?v=x%20y'],
    ['pipes', 'query', '/v1/a?v=x%7Cy'],
    [undefined, 'query', '/v1/a?v=x,y'],
  ])('a list written as %s in the %s', (collectionFormat, place, path) => {
    const parameters = [
      { name: 'v', in: place, type: 'array', items: { type: 'string' }, ...(collectionFormat && { collectionFormat }) },
    ]
    expect(request(tool('get', { parameters }).tool, { v: ['x', 'y'] }).path).toBe(path)
  })

  test('lists that cannot be written so are refused', () => {
    const list = (place: string, collectionFormat: string) =>
      refusal(
        swagger({
          '/a/{v}': { get: { parameters: [{ name: 'v', in: place, type: 'array', items: {}, collectionFormat }] } },
        }),
      )
    expect(list('query', 'tsv')).toBe('its parameter "v" is a list written as "tsv", which a query cannot have')
    expect(list('path', 'pipes')).toBe('its parameter "v" is a list written as "pipes", which a path cannot have')
  })

  test('a body, also one that is referred to', () => {
    const definitions = {
      Pet: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, friend: { $ref: '#/definitions/Pet' } },
      },
    }
    const parameters = { PetBody: { name: 'pet', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } } }
    const { tool: add } = tool(
      'post',
      { parameters: [{ $ref: '#/parameters/PetBody' }, { name: 'q', in: 'query', type: 'string' }] },
      { definitions, parameters },
    )
    expect(add.parameters).toMatchObject({
      properties: { name: { type: 'string' }, friend: { $ref: '#/$defs/Pet' } },
      required: ['name'],
    })
    expect(request(add, { name: 'n', friend: { name: 'f' }, q: 'x' })).toMatchObject({
      path: '/v1/a?q=x',
      body: '{"name":"n","friend":{"name":"f"}}',
    })
  })

  test('form fields, also those that are referred to or stand beside the path', () => {
    const parameters = { F: { name: 'f', in: 'formData', type: 'string', required: true } }
    const item = {
      parameters: [{ name: 'g', in: 'formData', type: 'array', items: { type: 'string' } }],
      post: { consumes: ['application/x-www-form-urlencoded'], parameters: [{ $ref: '#/parameters/F' }] },
    }
    const { tool: send } = one(swagger({ '/a': item }, { parameters }))
    expect(send.parameters).toMatchObject({ required: ['f'] })
    expect(request(send, { f: 'x', g: ['1', '2'] })).toMatchObject({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'g=1,2&f=x',
    })
  })

  test('fields without a type of form are one of text; files are not', () => {
    const field = (type: string) => [{ name: 'f', in: 'formData', type }]
    expect(tool('post', { parameters: field('string') }).http.body).toBe('form')
    expect(refusal(swagger({ '/a': { post: { parameters: field('file') } } }))).toBe(
      'its body is "multipart/form-data": tools send JSON, forms and text',
    )
    expect(
      refusal(swagger({ '/a': { post: { consumes: ['multipart/form-data'], parameters: field('string') } } })),
    ).toContain('multipart/form-data')
  })

  test('a body and fields cannot both be', () => {
    const parameters = [
      { name: 'b', in: 'body', schema: { type: 'object', properties: { a: {} } } },
      { name: 'f', in: 'formData', type: 'string' },
    ]
    const { properties, notes } = tool('post', { parameters })
    expect(Object.keys(properties)).toEqual(['a'])
    expect(notes).toEqual(['its form fields are left out: it has a body as well'])
  })

  test('types that bodies and answers have are said for all or for one', () => {
    const parameters = [{ name: 'b', in: 'body', schema: { type: 'object', properties: { a: {} } } }]
    const operation = { parameters, produces: ['text/csv'], responses: { 200: { schema: { type: 'string' } } } }
    const { http } = tool('post', operation, {
      consumes: ['application/vnd.shop+json'],
      produces: ['application/json'],
    })
    expect(http.headers).toEqual({ accept: 'text/csv', 'content-type': 'application/vnd.shop+json' })
    expect(tool('get', { responses: { 204: {} } }, { produces: ['image/png'] }).notes).toEqual([])
  })

  test.each([
    [{}, 'https://shop.example/v1/a'],
    [{ schemes: ['http'] }, 'http://shop.example/v1/a'],
    [{ schemes: [] }, 'https://shop.example/v1/a'],
    [{ basePath: undefined }, 'https://shop.example/a'],
  ])('has the server: %j', (more, url) => {
    expect(tool('get', {}, more).http.url).toBe(url)
  })

  test('an operation may have schemes of its own', () => {
    expect(tool('get', { schemes: ['https'] }, { schemes: ['http'] }).http.url).toBe('https://shop.example/v1/a')
  })

  test('without a host, uses the URL of the document', () => {
    const document = { ...swagger({ '/a': { get: {} } }), host: undefined }
    expect(one(document, { documentUrl: 'https://docs.example/x/swagger.json' }).http.url).toBe(
      'https://docs.example/v1/a',
    )
    expect(refusal(document)).toBe('the server "/v1" is not a complete URL: set the URL of the API with --base-url')
  })

  test('one bad parameter spoils one operation', () => {
    const paths = {
      '/a': { get: { parameters: [null] } },
      '/b': { get: { parameters: [{ name: 'x', type: 'string' }] } },
      '/c': { get: { parameters: [{ name: 'x', in: 'nowhere' }] } },
      '/d': { get: {} },
      '/e': { get: { parameters: [{ in: 'query' }] } },
    }
    const { refused, mapped } = importOpenapi(swagger(paths))
    expect(mapped).toBe(1)
    expect(refused.map(({ reason }) => reason)).toEqual([
      'one of its parameters is not an object',
      'its parameter "x" does not say where it is sent ("in")',
      'its parameter "x" is sent in "nowhere", which is unknown',
      'one of its parameters has no name',
    ])
  })

  test('does not treat data as a schema', () => {
    const schema = {
      type: 'object',
      properties: { kind: { type: 'string', enum: ['file'] }, $ref: { type: 'string' } },
    }
    const { properties } = tool('post', { parameters: [{ name: 'b', in: 'body', schema }] })
    expect(properties).toMatchObject({ kind: { enum: ['file'] }, ref: { type: 'string' } })
  })
})
