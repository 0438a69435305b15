import { describe, expect, test } from 'vitest'
import { Documents, type ReferencedFile, referencedFile, referencedFiles } from './documents.ts'
import { api, one, refusal } from './fixtures/documents.ts'
import { importOpenapi } from './import-openapi.ts'

describe('references inside the document', () => {
  test('lead to parameters, bodies, answers and path items', () => {
    const components = {
      parameters: {
        Id: { name: 'id', in: 'path', required: true, schema: { $ref: '#/components/schemas/Id' } },
        Alias: { $ref: '#/components/parameters/Id' },
      },
      schemas: { Id: { type: 'integer' } },
      requestBodies: {
        B: { content: { 'application/json': { schema: { type: 'object', properties: { a: { type: 'string' } } } } } },
      },
      responses: { R: { content: { 'image/png': {} } } },
      pathItems: {
        P: {
          parameters: [{ $ref: '#/components/parameters/Alias' }],
          post: {
            requestBody: { $ref: '#/components/requestBodies/B' },
            responses: { 200: { $ref: '#/components/responses/R' } },
          },
        },
      },
    }
    const { tool, notes } = one(api({ '/a/{id}': { $ref: '#/components/pathItems/P' } }, { components }))
    expect(tool.parameters).toMatchObject({
      properties: { id: { type: 'integer' }, a: { type: 'string' } },
      required: ['id'],
    })
    expect(notes).toEqual(['its response is "image/png", which a model cannot read'])
  })

  test('lead to whole operations, and what stands beside one of a path item counts', () => {
    const more = { 'x-parts': { list: { operationId: 'list' }, item: { get: { operationId: 'get' }, put: {} } } }
    const paths = {
      '/a': { get: { $ref: '#/x-parts/list' } },
      '/b': { $ref: '#/x-parts/item', get: { operationId: 'mine' } },
    }
    expect(importOpenapi(api(paths, more)).definitions.map(({ name }) => name)).toEqual(['list', 'mine', 'put_b'])
    expect(refusal(api({ '/a': { get: { $ref: '#/gone' } } }))).toBe('$ref "#/gone" does not exist')
  })

  test('may be escaped', () => {
    const more = { 'a/b': { 'c~d': { 'e f': { '%': { name: 'x', in: 'query', schema: { type: 'boolean' } } } } } }
    const get = { parameters: [{ $ref: '#/x-parts/a~1b/c~0d/e%20f/%25' }] }
    expect(one(api({ '/a': { get } }, { 'x-parts': more })).properties).toEqual({ x: { type: 'boolean' } })
  })

  test.each([
    ['#/components/parameters/Gone', 'does not exist'],
    ['#Gone', 'does not exist'],
    ['#/constructor', 'does not exist'],
    ['#/components/parameters/A', 'is circular'],
    ['https://evil.example/p.json#/A', 'is remote: only files next to the document are read'],
    ['//evil.example/p.json', 'is remote: only files next to the document are read'],
    ['/etc/passwd', 'is remote: only files next to the document are read'],
    ['file:///etc/passwd', 'is remote: only files next to the document are read'],
    ['../secret.yaml#/A', 'is remote: only files next to the document are read'],
    ['a/../../secret.yaml', 'is remote: only files next to the document are read'],
    ['gone.yaml#/A', 'is in a file that was not read'],
  ])('%s %s', ($ref, problem) => {
    const parameters = { A: { $ref: '#/components/parameters/B' }, B: { $ref: '#/components/parameters/A' } }
    expect(refusal(api({ '/a': { get: { parameters: [{ $ref }] } } }, { components: { parameters } }))).toContain(
      problem,
    )
  })

  test('of a response that do not exist are noted', () => {
    const get = { responses: { 200: { $ref: '#/components/responses/Gone' } } }
    expect(one(api({ '/a': { get } })).notes).toEqual([
      'its answer "200" is not described: $ref "#/components/responses/Gone" does not exist',
    ])
  })

  test('a chain of a thousand ends', () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 1000 }, (_, at) => [`S${at}`, { $ref: `#/components/schemas/S${at + 1}` }]),
    )
    const get = { parameters: [{ name: 'x', in: 'query', schema: { $ref: '#/components/schemas/S0' } }] }
    expect(one(api({ '/a': { get } }, { components: { schemas } })).notes).toEqual([
      expect.stringContaining('is circular'),
    ])
  })
})

describe('files beside the document', () => {
  const files = new Map<string, ReferencedFile>([
    [
      'paths/pets.yaml',
      {
        document: {
          list: {
            get: {
              operationId: 'pets',
              parameters: [
                { $ref: '../common.yaml#/parameters/Limit' },
                { name: 'kind', in: 'query', schema: { $ref: 'kinds/kind.json' } },
              ],
            },
          },
        },
      },
    ],
    ['paths/kinds/kind.json', { document: { type: 'string', enum: ['cat', 'dog'] } }],
    [
      'common.yaml',
      {
        document: {
          parameters: { Limit: { name: 'limit', in: 'query', schema: { $ref: '#/schemas/Limit' } } },
          schemas: { Limit: { type: 'integer' } },
        },
      },
    ],
    ['bad.yaml', { problem: 'it is no file' }],
  ])
  const document = api({ '/pets': { $ref: 'paths/pets.yaml#/list' } })

  test('are followed, each from where it stands', () => {
    const { properties } = one(document, { files })
    expect(properties).toEqual({ limit: { type: 'integer' }, kind: { type: 'string', enum: ['cat', 'dog'] } })
  })

  test('that could not be read are named', () => {
    expect(refusal(api({ '/a': { get: { parameters: [{ $ref: 'bad.yaml#/A' }] } } }), { files })).toBe(
      '$ref "bad.yaml#/A": it is no file',
    )
    expect(importOpenapi(api({ '/a': { $ref: './bad.yaml' } }), { files }).refused).toEqual([
      { operation: '* /a', reason: '$ref "./bad.yaml": it is no file' },
    ])
  })

  test('are found before they are read', () => {
    expect(referencedFiles(document, '')).toEqual(new Set(['paths/pets.yaml']))
    const inside = {
      a: [
        { $ref: '../common.yaml#/x' },
        { $ref: '#/y' },
        { $ref: 'https://x.example/a' },
        { $ref: 'kinds/kind.json' },
        { $ref: '../../up.yaml' },
      ],
    }
    expect(referencedFiles(inside, 'paths/pets.yaml')).toEqual(new Set(['common.yaml', 'paths/kinds/kind.json']))
    expect(referencedFile('a%20b.yaml', '')).toBe('a b.yaml')
    expect(referencedFile('%2e%2e/a.yaml', '')).toBeUndefined()
  })
})

test('resolves a reference once', () => {
  const documents = new Documents({ a: { b: {} } })
  expect(documents.target('#/a/b', '')).toBe(documents.target('#/a/b', ''))
})
