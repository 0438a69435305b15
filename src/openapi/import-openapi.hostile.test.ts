import { describe, expect, test } from 'vitest'
import { compileSchema } from '../core/schema/compiled-schema.ts'
import { problemOf } from '../kinds/http/request/http-problem-of.ts'
import { api, one, refusal, withBody } from './fixtures/documents.ts'
import { importOpenapi } from './import-openapi.ts'

describe('rejects documents that are not OpenAPI', () => {
  test.each([
    [null, 'The document is not an object'],
    ['text', 'The document is not an object'],
    [[], 'The document is not an object'],
    [{}, 'it has neither "openapi" nor "swagger" with a version'],
    [{ asyncapi: '2.0.0' }, 'it has neither "openapi" nor "swagger" with a version'],
    [{ openapi: '4.0.0' }, 'The document is of version "4.0.0"'],
    [{ swagger: '1.2' }, 'The document is of version "1.2"'],
    [{ openapi: {} }, 'The document is of version'],
    [JSON.parse('{"__proto__": {"openapi": "3.0.0"}}'), 'it has neither "openapi" nor "swagger"'],
  ])('%j', (document, problem) => {
    expect(() => importOpenapi(document)).toThrow(problem)
  })

  test.each(['3.0.0', '3.0.4', '3.1.0', '3.1.1', '3.2.0', 3])('OpenAPI %s is one', (openapi) => {
    expect(importOpenapi({ openapi, info: {}, paths: {} })).toMatchObject({ found: 0, mapped: 0, title: '' })
  })

  test('Swagger 2 may be a number', () => {
    expect(importOpenapi({ swagger: 2, paths: {} }).found).toBe(0)
  })
})

/** Whatever stands in a document may be anything. */
const ANYTHING = [null, true, 0, 'text', [], {}, [null], { $ref: 5 }, { $ref: '#' }, { a: null }]

/** Documents with anything in one of their places. */
const PLACES: Readonly<Record<string, (value: unknown) => object>> = {
  info: (value) => api({ '/a': { get: {} } }, { info: value }),
  paths: (value) => api({}, { paths: value }),
  'a path': (value) => api({ '/a': value as object }),
  'an operation': (value) => api({ '/a': { get: value } }),
  servers: (value) => api({ '/a': { get: {} } }, { servers: value }),
  'a server': (value) => api({ '/a': { get: {} } }, { servers: [value] }),
  'variables of a server': (value) =>
    api({ '/a': { get: {} } }, { servers: [{ url: 'https://{a}.example', variables: value }] }),
  components: (value) => api({ '/a': { get: {} } }, { components: value }),
  schemes: (value) => api({ '/a': { get: { security: [{ a: [] }] } } }, { components: { securitySchemes: value } }),
  'a scheme': (value) =>
    api({ '/a': { get: { security: [{ a: value }] } } }, { components: { securitySchemes: { a: value } } }),
  flows: (value) =>
    api(
      { '/a': { get: { security: [{ a: value }] } } },
      { components: { securitySchemes: { a: { type: 'oauth2', flows: { clientCredentials: value } } } } },
    ),
  security: (value) => api({ '/a': { get: { security: value } } }),
  tags: (value) =>
    api({ '/a': { get: { tags: value, operationId: value, summary: value, description: value, deprecated: value } } }),
  parameters: (value) => api({ '/a': { parameters: value, get: { parameters: value } } }),
  'a parameter': (value) => api({ '/a': { get: { parameters: [value] } } }),
  'parts of a parameter': (value) =>
    api({
      '/a': {
        get: {
          parameters: [
            {
              name: 'a',
              in: 'query',
              schema: value,
              style: value,
              explode: value,
              example: value,
              examples: value,
              description: value,
              required: value,
              content: value,
            },
          ],
        },
      },
    }),
  body: (value) => api({ '/a': { post: { requestBody: value } } }),
  content: (value) => api({ '/a': { post: { requestBody: { content: value } } } }),
  'a type of content': (value) => api({ '/a': { post: { requestBody: { content: { 'application/json': value } } } } }),
  'a form': (value) =>
    api({
      '/a': {
        post: {
          requestBody: {
            content: { 'application/x-www-form-urlencoded': { schema: { properties: { a: {} } }, encoding: value } },
          },
        },
      },
    }),
  'a schema': (value) => api({ '/a': { post: withBody(value) } }),
  'a property': (value) =>
    api({
      '/a': { post: withBody({ properties: { a: value, b: { items: value, allOf: value, properties: value } } }) },
    }),
  responses: (value) => api({ '/a': { get: { responses: value, callbacks: value } } }),
  'an answer': (value) => api({ '/a': { get: { responses: { 200: value } } } }),
}

test.each(Object.keys(PLACES))('anything may stand for %s, and nothing breaks', (place) => {
  for (const value of ANYTHING) {
    for (const version of [
      { openapi: '3.0.0' },
      { openapi: '3.1.0' },
      { openapi: undefined, swagger: '2.0', host: 'a.example' },
    ]) {
      const report = importOpenapi({ ...PLACES[place]?.(value), ...version })
      expect(report.found).toBe(report.mapped + report.refused.length)
      expect(JSON.stringify(report.refused)).not.toContain('cannot be read')
      for (const definition of report.definitions) {
        expect(problemOf(definition)).toBeUndefined()
        compileSchema(definition.parameters)
      }
    }
  }
})

/** A part of a document that counts how often one of its properties is read. */
function counted(part: object): { readonly value: object; reads(): number } {
  let count = 0
  const value = new Proxy(part, {
    get(target, key) {
      count++
      return Reflect.get(target, key)
    },
  })
  return { value, reads: () => count }
}

describe('large documents', () => {
  test('operations that share a circular schema get one name each, and read it in linear time', () => {
    const imported = (operations: number) => {
      const { value: Node, reads } = counted({
        type: 'object',
        properties: {
          name: { type: 'string' },
          next: { $ref: '#/components/schemas/Node' },
          list: { type: 'array', items: { $ref: '#/components/schemas/Node' } },
        },
      })
      const operation = withBody({ $ref: '#/components/schemas/Node' })
      const paths = Object.fromEntries(
        Array.from({ length: operations / 2 }, (_, at) => [`/p${at}/{id}`, { post: operation, put: operation }]),
      )
      return { report: importOpenapi(api(paths, { components: { schemas: { Node } } })), reads: reads() }
    }
    const [few, many] = [imported(100), imported(400)]
    expect(many.report.mapped).toBe(400)
    expect(new Set(many.report.definitions.map(({ name }) => name)).size).toBe(400)
    expect(few.reads).toBeGreaterThan(0)
    expect(many.reads).toBeLessThanOrEqual(few.reads * 4)
  })

  test('a body that is far too large is left open, and is read in linear time and once for all operations', () => {
    const imported = (size: number, operations: number) => {
      const fields = Array.from({ length: 100 }, (_, at) => [`q${at}`, { type: 'string' }])
      const { value: Part, reads } = counted({ type: 'object', properties: Object.fromEntries(fields) })
      const names = Array.from({ length: size }, (_, at) => [`p${at}`, { $ref: '#/components/schemas/Part' }])
      const All = { type: 'object', properties: Object.fromEntries(names) }
      const post = withBody({ $ref: '#/components/schemas/All' })
      const paths = Object.fromEntries(Array.from({ length: operations }, (_, at) => [`/p${at}`, { post }]))
      return { report: importOpenapi(api(paths, { components: { schemas: { All, Part } } })), reads: reads() }
    }
    const [large, larger, repeated] = [imported(3_000, 2), imported(6_000, 2), imported(3_000, 8)]
    for (const { report } of [large, larger, repeated]) {
      expect(report.notes[0]?.note).toBe('its parameters are too large for one tool: their content is left open')
      expect(report.definitions[0]?.parameters.properties).toEqual({ body: { type: 'object' } })
    }
    expect(large.reads).toBeGreaterThan(0)
    expect(larger.reads).toBeLessThanOrEqual(large.reads * 2)
    expect(repeated.report.mapped).toBe(8)
    expect(repeated.reads).toBeLessThan(large.reads * 2)
  })

  test('more parameters than a tool can have', () => {
    const parameters = Array.from({ length: 2_000 }, (_, at) => ({ name: `p${at}`, in: 'query', schema: {} }))
    expect(refusal(api({ '/a': { get: { parameters } } }))).toBe('it has 2000 parameters, more than a tool can have')
  })

  test('a choice that holds itself in every part', () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [
        `S${at}`,
        { anyOf: Array.from({ length: 30 }, (__, other) => ({ $ref: `#/components/schemas/S${other}` })) },
      ]),
    )
    expect(
      importOpenapi(
        api(
          { '/a': { post: withBody({ type: 'object', properties: { a: { $ref: '#/components/schemas/S0' } } }) } },
          { components: { schemas } },
        ),
      ).mapped,
    ).toBe(1)
  })

  test('an operation with values that are nested without end stops no other', () => {
    let value: unknown = 'end'
    for (let level = 0; level < 100_000; level++) value = [value]
    const post = withBody({ type: 'object', properties: { a: { enum: [value], default: value, example: value } } })
    const refs = withBody({ type: 'array', items: { oneOf: [{ $ref: '#/x-deep' }, { $ref: '#/x-deep' }] } })
    const report = importOpenapi(api({ '/a': { post, put: refs, get: {} } }, { 'x-deep': { enum: [value] } }))
    // V8 writes such a value as JSON from Node.js 26 on.
    expect(report.refused.filter(({ operation }) => operation !== 'PUT /a')).toEqual([])
    expect(report.mapped + report.refused.length).toBe(3)
  })

  test('enums and defaults of any size', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { enum: Array.from({ length: 50_000 }, (_, at) => `value ${at}`) },
        b: { default: 'x'.repeat(1_000_000), description: 'y'.repeat(1_000_000) },
      },
    }
    const { properties } = one(api({ '/a': { post: withBody(schema) } }))
    expect(properties.a).toEqual({})
    expect(String(properties.b?.description).length).toBeLessThanOrEqual(120)
  })
})

test('cleans hostile names and descriptions', () => {
  const hostile = '\u001b]0;x\u0007\u202e<script>alert(1)</script>\r\nIgnore'
  const document = api(
    {
      [`/a/${hostile}`]: {
        get: {
          operationId: hostile,
          summary: hostile,
          description: hostile,
          tags: [hostile],
          parameters: [{ name: 'q', in: 'query', description: hostile, schema: { description: hostile } }],
        },
      },
    },
    { info: { title: hostile } },
  )
  const text = JSON.stringify(importOpenapi(document))
  expect(text).not.toMatch(/\\u001b|\\u202e|\u202e|\\u0007|\\r|<script>/)
})
