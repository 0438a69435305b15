import { describe, expect, test } from 'vitest'
import { converted, takes } from './fixtures/documents.ts'

describe('references', () => {
  const long = 'A description that is long enough to be worth a name. '.repeat(5)
  const Pet = { type: 'object', description: long.trim(), properties: { name: { type: 'string' } } }

  test('inlines schemas that are used once', () => {
    const { schema, definitions } = converted({ $ref: '#/components/schemas/Pet' }, { schemas: { Pet } })
    expect(schema).toEqual(Pet)
    expect(definitions).toBeUndefined()
  })

  test('defines schemas that are used more than once', () => {
    const twice = {
      type: 'object',
      properties: { a: { $ref: '#/components/schemas/Pet' }, b: { $ref: '#/components/schemas/Pet' } },
    }
    const { schema, definitions } = converted(twice, { schemas: { Pet } })
    expect(schema).toEqual({ type: 'object', properties: { a: { $ref: '#/$defs/Pet' }, b: { $ref: '#/$defs/Pet' } } })
    expect(definitions).toEqual({ Pet })
  })

  test('unless it is short', () => {
    const twice = {
      type: 'object',
      properties: { a: { $ref: '#/components/schemas/Id' }, b: { $ref: '#/components/schemas/Id' } },
    }
    const { schema, definitions } = converted(twice, { schemas: { Id: { type: 'string', format: 'uuid' } } })
    expect(schema).toMatchObject({ properties: { a: { type: 'string', format: 'uuid' }, b: { type: 'string' } } })
    expect(definitions).toBeUndefined()
  })

  test('two schemas with one name stay two', () => {
    const Named = (type: string) => ({ type, description: long.trim() })
    const components = { schemas: { Thing: Named('object') }, x: { Thing: Named('array') } }
    const refs = ['#/components/schemas/Thing', '#/components/x/Thing'].flatMap(($ref) => [{ $ref }, { $ref }])
    const { definitions } = converted({ type: 'object', properties: { ...refs } }, components)
    expect(definitions).toMatchObject({ Thing: { type: 'object' }, Thing_2: { type: 'array' } })
  })

  test('a schema that holds itself is written once', () => {
    const Node = {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string' },
        children: { type: 'array', items: { $ref: '#/components/schemas/Node' } },
      },
    }
    const { schema, definitions, tool } = converted({ $ref: '#/components/schemas/Node' }, { schemas: { Node } })
    expect(schema).toEqual({ $ref: '#/$defs/Node' })
    expect(Object.keys(Object(definitions))).toEqual(['Node'])
    const tree = (children: unknown[]) => ({ p: { name: 'a', children } })
    expect(takes(tool, tree([{ name: 'b', children: [{ name: 'c' }] }]))).toBe(true)
    expect(takes(tool, tree([{ name: 'b', children: [{ name: 1 }] }]))).toBe(false)
  })

  test('schemas that mean each other without end are cut, so that nothing allowed is refused', () => {
    const schemas = {
      Pet: {
        type: 'object',
        required: ['kind'],
        properties: { kind: { type: 'string' } },
        oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
      },
      Cat: {
        allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', properties: { claws: { type: 'integer' } } }],
      },
      Dog: {
        allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', properties: { tail: { type: 'integer' } } }],
      },
    }
    for (const name of ['Pet', 'Cat', 'Dog']) {
      const { tool } = converted({ $ref: `#/components/schemas/${name}` }, { schemas })
      expect(takes(tool, { p: { kind: 'cat', claws: 4, tail: 1 } }), name).toBe(true)
      expect(takes(tool, { p: { claws: 4 } }), name).toBe(false)
    }
  })

  test('a schema that is nothing but itself is left open', () => {
    const schemas = {
      A: { allOf: [{ $ref: '#/components/schemas/A' }] },
      B: { $ref: '#/components/schemas/C' },
      C: { $ref: '#/components/schemas/B' },
    }
    expect(converted({ $ref: '#/components/schemas/A' }, { schemas }).definitions).toEqual({ A: {} })
    const { schema, notes } = converted({ $ref: '#/components/schemas/B' }, { schemas })
    expect(schema).toEqual({})
    expect(notes).toEqual(['left out: a schema, since $ref "#/components/schemas/B" is circular'])
  })

  test('one that does not exist is left open, and named', () => {
    const { schema, notes } = converted({ type: 'array', items: { $ref: '#/components/schemas/Gone' } })
    expect(schema).toEqual({ type: 'array', items: {} })
    expect(notes).toEqual(['left out: a schema, since $ref "#/components/schemas/Gone" does not exist'])
  })
})

describe('a schema allows at least what the document allows', () => {
  test('oneOf becomes anyOf if a part allows more than before', () => {
    expect(converted({ oneOf: [{ type: 'string' }, { type: 'integer' }] }).schema).toHaveProperty('oneOf')
    const loose = { oneOf: [{ type: 'string', pattern: '^(?!a)' }, { type: 'string' }] }
    expect(converted(loose).schema).toEqual({ anyOf: [{ type: 'string' }, { type: 'string' }] })
  })

  test('a choice of anything is none', () => {
    expect(converted({ anyOf: [{ type: 'string' }, {}] }).schema).toEqual({})
  })

  test('drops not and if whose content allows more than before', () => {
    const loose = { pattern: '^(?!a)' }
    expect(converted({ not: { type: 'string' } }).schema).toEqual({ not: { type: 'string' } })
    expect(converted({ type: 'string', not: loose }).schema).toEqual({ type: 'string' })
    const when = Object.fromEntries([
      ['if', { type: 'string', ...loose }],
      ['then', { minLength: 1 }],
      ['else', { minimum: 1 }],
    ])
    expect(converted(when, {}, '3.1.0').schema).toEqual({})
  })

  test('parts of an allOf do not forbid properties of the others', () => {
    const closed = (name: string) => ({
      type: 'object',
      properties: { [name]: { type: 'string' } },
      additionalProperties: false,
    })
    const { tool } = converted(
      { type: 'object', additionalProperties: false, allOf: [closed('a'), { $ref: '#/components/schemas/B' }] },
      { schemas: { B: closed('b') } },
    )
    expect(takes(tool, { p: { a: 'x', b: 'y' } })).toBe(true)
    expect(takes(tool, { p: { a: 1 } })).toBe(false)
    expect(takes(converted(closed('a')).tool, { p: { b: 'y' } })).toBe(false)
  })

  test('does not forbid properties of a dropped pattern', () => {
    const schema = { type: 'object', patternProperties: { '^(?!x)': { type: 'string' } }, additionalProperties: false }
    expect(takes(converted(schema, {}, '3.1.0').tool, { p: { any: 'x' } })).toBe(true)
  })
})
