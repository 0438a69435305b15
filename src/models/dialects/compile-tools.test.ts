import { describe, expect, it, vi } from 'vitest'
import type { JsonSchema } from '../../core/tool.ts'
import type { Dialect } from '../provider.ts'
import { compileTools } from './compile-tools.ts'

const DIALECTS: Dialect[] = ['openai', 'anthropic', 'gemini', 'ollama']
const tool = (name: string, parameters: JsonSchema = { type: 'object', properties: {} }) => ({
  name,
  description: `Does ${name}.`,
  parameters,
})

describe('compileTools', () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `name${index}`)
  const many = <Value>(value: Value) => Array.from({ length: 100 }, () => ({ ...value }))
  const reference = { $ref: '#/$defs/one' }
  it.each<[string, JsonSchema]>([
    [
      'alternatives at the root',
      {
        type: 'object',
        anyOf: many(reference),
        $defs: { one: { allOf: [{ required: names }, ...many({ required: ['a'] })] } },
      },
    ],
    [
      'alternatives of a parameter',
      {
        type: 'object',
        properties: Object.fromEntries(many(reference).map((one, index) => [`p${index}`, one])),
        $defs: { one: { required: names, anyOf: [...many({ type: 'null', required: ['a'] }), { type: 'object' }] } },
      },
    ],
  ])('merges a bounded number of schemas: %s', (_, parameters) => {
    for (const dialect of DIALECTS) {
      const written = vi.spyOn(JSON, 'stringify')
      const { tools } = compileTools([tool('hostile', parameters)], dialect)
      const characters = written.mock.results.reduce((sum, { value }) => sum + String(value).length, 0)
      written.mockRestore()
      expect([dialect, tools.length]).toEqual([dialect, 1])
      expect(characters).toBeLessThan(5_000_000)
    }
  })

  it('gives the same answer for the same list and dialect', () => {
    const tools = [tool('a'), tool('b')]
    expect(compileTools(tools, 'gemini')).toBe(compileTools(tools, 'gemini'))
    expect(compileTools(tools, 'openai')).not.toBe(compileTools(tools, 'gemini'))
  })

  it('compiles nothing but the new tool of a list that has changed', () => {
    const [a, b] = [tool('a'), tool('b.c')]
    const before = compileTools([a, b], 'openai')
    const after = compileTools([a, tool('d'), b], 'openai')
    expect(after.tools[0]).toBe(before.tools[0])
    expect(after.tools[2]).toBe(before.tools[1])
  })

  it.each(DIALECTS)('changes nothing of what was registered for %s, and gives the same each time', (dialect) => {
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/definitions/b' }, c: { oneOf: [{ const: 1 }, { type: 'null' }], default: null } },
      definitions: { b: { type: 'string', minLength: 1, nullable: true } },
      anyOf: [{ required: ['a'] }, { required: ['c'] }],
    }
    const text = JSON.stringify(schema)
    const one = compileTools([tool('a', schema)], dialect)
    expect(JSON.stringify(schema)).toBe(text)
    expect(compileTools([tool('a', schema)], dialect)).toEqual({
      ...one,
      wireName: expect.any(Function),
      toolName: expect.any(Function),
    })
  })

  it('leaves plain tools as they are', () => {
    const odd = tool('a.b c', { anyOf: [{ type: 'string' }], $schema: 'https://example.com/mine' })
    const compiled = compileTools([odd], 'plain')
    expect(compiled.tools).toEqual([odd])
    expect(compiled.tools[0]?.parameters).toBe(odd.parameters)
    expect(compiled.wireName('x.y')).toBe('x.y')
  })

  it.each(DIALECTS)('leaves out for %s what it cannot take, and says why', (dialect) => {
    const compiled = compileTools(
      [
        tool('text', { type: 'string' }),
        tool('good'),
        tool('broken', { properties: { a: { type: 'any' } } }),
        tool('remote', { properties: { a: { $ref: 'https://example.com/a' } } }),
        tool('no_object', { anyOf: [{ type: 'string' }, { type: 'null' }] }),
        tool('good', { type: 'object' }),
        { ...tool('none'), parameters: undefined as unknown as JsonSchema },
      ],
      dialect,
    )
    expect(compiled.tools.map(({ name }) => name)).toEqual(['good'])
    expect(compiled.omitted).toEqual([
      { tool: 'text', reason: 'its schema cannot be used: describes "string", not an object' },
      { tool: 'broken', reason: expect.stringContaining('properties.a.type') },
      { tool: 'remote', reason: expect.stringContaining('$ref "https://example.com/a" is remote') },
      { tool: 'no_object', reason: 'its schema cannot be used: describes no object' },
      { tool: 'good', reason: 'another tool has the same name' },
      { tool: 'none', reason: 'its schema cannot be used: is not an object' },
    ])
  })

  it.each(DIALECTS)('makes one object of the root for %s', (dialect) => {
    const base = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
    const schema = {
      $ref: '#/$defs/base',
      allOf: [{ properties: { n: { type: 'integer' } }, required: ['n'] }],
      oneOf: [
        { properties: { kind: { type: 'string' }, file: { type: 'string' } }, required: ['file', 'kind'] },
        { properties: { kind: { type: 'integer' }, link: { type: 'string' } }, required: ['link', 'kind'] },
      ],
      $defs: { base },
    }
    const { tools, dropped } = compileTools([tool('a', schema)], dialect)
    expect(tools[0]?.parameters).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string' },
        n: { type: 'integer' },
        kind: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
        file: { type: 'string' },
        link: { type: 'string' },
      },
      required: ['id', 'n', 'kind'],
    })
    expect(tools[0]?.description).toBe('Does a. (required: file + kind or link + kind)')
    expect(dropped).toEqual([{ tool: 'a', keyword: 'oneOf', instead: 'properties' }])
  })

  it('requires nothing but what all alternatives require', () => {
    const anyOf = [{ required: ['a', 'b'] }, { required: ['b', 'c'] }, { required: ['a', 'c'] }]
    const { tools } = compileTools([tool('a', { properties: { a: {}, b: {}, c: {} }, anyOf })], 'anthropic')
    expect(tools[0]?.parameters.required).toEqual([])
  })

  it.each(DIALECTS)('writes recursive and entangled schemas for %s within bounds', (dialect) => {
    const names = Array.from({ length: 40 }, (_, n) => `d${n}`)
    const $defs = Object.fromEntries(
      names.map((name, n) => {
        const next = { $ref: `#/$defs/${names[n + 1] ?? 'd0'}` }
        return [name, { type: 'object', properties: { x: next, y: next }, anyOf: [{ properties: { x: next } }, next] }]
      }),
    )
    const knot = { type: 'object', properties: { a: { $ref: '#/$defs/d0' }, again: { $ref: '#' } }, $defs }
    const { tools, omitted } = compileTools([tool('knot', knot), tool('good')], dialect)
    expect(tools.length + omitted.length).toBe(2)
    expect(JSON.stringify(tools).length).toBeLessThan(200_000)
  })
})
