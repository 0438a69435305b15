import { describe, expect, test } from 'vitest'
import { SCHEMA_BOUNDS } from '../core/schema/guard-schema.ts'
import { api, converted, one, refusal, withBody } from './fixtures/documents.ts'
import { importOpenapi } from './import-openapi.ts'

describe('a schema that is too large is cut', () => {
  const deep = (level: number, width: number): object =>
    level === 0
      ? { type: 'string', description: 'The end.' }
      : {
          type: 'object',
          description: `Level ${level}.`,
          properties: Object.fromEntries(Array.from({ length: width }, (_, at) => [`p${at}`, deep(level - 1, width)])),
        }

  test('as deep as it can be kept, the same way each time', () => {
    const document = api({ '/a': { post: withBody(deep(7, 4)) } })
    const { tool, notes } = one(document)
    expect(notes).toEqual(['its parameters are too large for one tool: everything deeper than 3 levels is left open'])
    expect(one(document).tool).toEqual(tool)
    expect(JSON.stringify(tool.parameters).length).toBeLessThan(SCHEMA_BOUNDS.characters)
    expect(tool.parameters).toHaveProperty('properties.p0.properties.p1.properties.p2.properties.p3', {
      type: 'object',
      description: 'Level 3.',
    })
  })

  test('descriptions go first', () => {
    const words = 'Words that go on and on. '.repeat(20)
    const properties = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [`p${at}`, { type: 'string', description: words }]),
    )
    const { properties: result, notes } = one(api({ '/a': { post: withBody({ type: 'object', properties }) } }))
    expect(notes).toEqual(['descriptions in its parameters are shortened: together they are too long'])
    expect(Object.keys(result)).toHaveLength(200)
    expect(String(result.p0?.description).length).toBeLessThanOrEqual(120)
  })

  test('one with too many properties is one parameter, of any object', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, at) => [`property_${at}`, { type: 'string' }]),
    )
    const { http, properties: result } = one(api({ '/a': { post: withBody({ type: 'object', properties }) } }))
    expect(http.body_param).toBe('body')
    expect(result).toEqual({ body: { type: 'object' } })
  })

  test('rejects parameters that are too large even without details', () => {
    const parameters = Array.from({ length: 900 }, (_, at) => ({
      name: `${at}_${'n'.repeat(59)}`,
      in: 'header',
      schema: {},
    }))
    const more = Array.from({ length: 900 }, (_, at) => [`${at}_${'b'.repeat(59)}`, {}])
    const post = { ...withBody({ type: 'object', properties: Object.fromEntries(more) }), parameters }
    expect(refusal(api({ '/a': { post } }))).toBe('its 1800 parameters are too large for one tool')
  })

  test('one that is nested without end in the document itself is cut too', () => {
    let schema: object = { type: 'string' }
    for (let level = 0; level < 3_000; level++) schema = { type: 'array', items: schema }
    let all: object = { type: 'string' }
    for (let level = 0; level < 1_400; level++) all = { allOf: [all, { minLength: 1 }] }
    expect(converted(schema).notes).toEqual([expect.stringContaining('is left open')])
    expect(converted(all).schema).toEqual({})
  })
})

test('operations after too many schemas are refused, and can be imported by name', () => {
  const branches = Array.from({ length: 1_900 }, (_, at) => ({ type: 'object', properties: { [`k${at}`]: {} } }))
  const schemas = { Large: { oneOf: branches }, Small: { type: 'object', properties: { a: { type: 'string' } } } }
  const body = (name: string) =>
    withBody({ type: 'object', properties: { x: { $ref: `#/components/schemas/${name}` } } })
  const large = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`/a${at}`, { post: body('Large') }]))
  const document = api({ ...large, '/z': { post: body('Small') } }, { components: { schemas } })
  const { mapped, refused } = importOpenapi(document)
  expect(mapped).toBeGreaterThan(10)
  expect(mapped).toBeLessThan(150)
  expect(refused.at(-1)).toEqual({
    operation: 'POST /z',
    reason: 'the operations before it have too many schemas: import it with include',
  })
  expect(importOpenapi(document, { include: ['POST /z'] }).mapped).toBe(1)
})
