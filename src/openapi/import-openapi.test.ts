import { describe, expect, test } from 'vitest'
import { api, one } from './fixtures/documents.ts'
import { importOpenapi } from './import-openapi.ts'

/** The tool of one operation. */
const tool = (method: string, operation: object, path = '/a', more: object = {}) =>
  one(api({ [path]: { [method]: operation } }, { ...more }))

describe('the description of an operation', () => {
  const described = (operation: object) => tool('get', operation, '/pets').tool.description

  test.each([
    [{ summary: 'List pets', description: 'All of them.' }, 'List pets. All of them.'],
    [{ summary: 'List pets.', description: 'List pets, all of them.' }, 'List pets, all of them.'],
    [{ description: 'All.' }, 'All.'],
    [{}, 'GET /pets'],
    [{ summary: '\u0000\u202e ', description: '<p></p>' }, 'GET /pets'],
    [{ summary: 'List pets', deprecated: true }, 'Deprecated. List pets'],
  ])('%j', (operation, description) => {
    expect(described(operation)).toBe(description)
  })

  test('in at most 1,024 characters', () => {
    const long = described({ summary: 'Lists', description: 'It does very much of this. '.repeat(200) })
    expect(long.length).toBeLessThanOrEqual(1024)
    expect(long).toMatch(/this\.$/)
  })

  test('its effect follows from its method and is not in the file', () => {
    for (const method of ['get', 'head', 'post', 'put', 'patch', 'delete'])
      expect(tool(method, {}).tool).not.toHaveProperty('effect')
  })
})

describe('the report', () => {
  const paths = {
    '/pets': {
      get: { operationId: 'list', tags: ['Pets'] },
      post: { operationId: 'upload', tags: ['Pets'], requestBody: { content: { 'image/png': {} } } },
      options: {},
      trace: {},
    },
    '/pets/{id}': { get: { operationId: 'show', tags: ['Pets', 'Details'] } },
    '/petshops': { get: { operationId: 'shops', tags: [7, null] } },
    '/subscribe': { post: { operationId: 'subscribe', callbacks: { onPet: {}, onGone: {} } } },
    nowhere: { get: {} },
    '/broken': 'text',
    'x-internal': { get: {} },
  }
  const document = api(paths, { webhooks: { newPet: { post: {} } }, 'x-webhooks': { old: {} } })

  test('accounts for every operation', () => {
    const { definitions, ...report } = importOpenapi(document)
    expect(definitions.map(({ name }) => name)).toEqual(['list', 'shops', 'show', 'subscribe'])
    expect(report).toEqual({
      title: 'Shop',
      found: 9,
      mapped: 4,
      excluded: 0,
      refused: [
        { operation: 'OPTIONS /pets', reason: 'tools cannot send OPTIONS requests' },
        { operation: 'TRACE /pets', reason: 'tools cannot send TRACE requests' },
        { operation: '* nowhere', reason: 'its path does not begin with /' },
        { operation: '* /broken', reason: 'it is not an object' },
        { operation: 'POST /pets', reason: 'its body is "image/png": tools send JSON, forms and text' },
      ],
      notes: [
        {
          operation: 'GET /pets/{id}',
          note: 'the path parameter "id" is treated as text: the document does not describe it',
        },
      ],
      secured: false,
      variables: [],
      webhooks: ['newPet', 'old'],
      callbacks: ['POST /subscribe: onPet', 'POST /subscribe: onGone'],
    })
  })

  test.each([
    [['pets'], ['list', 'show']],
    [['DETAILS'], ['show']],
    [['/pets'], ['list', 'show']],
    [['/pets/'], ['show']],
    [['GET /pets'], ['list']],
    [
      ['show', 'shops'],
      ['shops', 'show'],
    ],
  ])('--include %j', (include, names) => {
    const report = importOpenapi(document, { include })
    expect(report.definitions.map(({ name }) => name)).toEqual(names)
    expect(report.found).toBe(report.mapped + report.refused.length + report.excluded)
  })

  test('--include finds an operation by a path that is too long for a report', () => {
    const path = `/${'a'.repeat(400)}`
    expect(importOpenapi(api({ [path]: { get: {} } }), { include: [`GET ${path}`] }).mapped).toBe(1)
  })

  test('rejects an unknown word with suggestions', () => {
    expect(() => importOpenapi(document, { include: ['shosp'] })).toThrow(
      "No operation has the tag, path or id 'shosp': did you mean 'shops', 'show'?",
    )
    expect(() => importOpenapi(document, { include: ['constructor'] })).toThrow(
      'write a tag, a path or an operation id.',
    )
  })

  test('reports progress', () => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`/p${at}`, { get: {} }]))
    const steps: number[][] = []
    importOpenapi(api(many), { onProgress: (...step) => steps.push(step) })
    expect(steps).toEqual([
      [250, 600],
      [500, 600],
    ])
  })
})
