import { describe, expect, test } from 'vitest'
import { oddVariants } from '../../core/fixtures/odd-values.ts'
import { definitionOf, mirroringProblem, type ServerTool, serverTool } from './listed-tool.ts'

const inputSchema = { type: 'object', properties: {} }
const read = (entry: object) => serverTool({ name: 'tool', inputSchema, ...entry }, 'home') as ServerTool

describe('a tool that a server lists', () => {
  test('a description is cleaned of control sequences, and bounded', () => {
    expect(read({ description: 'Rings \u001b[31mloud\u001b[0m\u0000 and\u202e clear' }).description).toBe(
      'Rings loud and clear',
    )
    expect(read({ description: 'x'.repeat(1_000_000) }).description.length).toBeLessThan(10_000)
  })

  test('without a description it has its title, else a sentence', () => {
    expect(read({ title: 'The bell' }).description).toBe('The bell')
    expect(read({ description: ' ' }).description).toBe('The tool tool of home.')
  })

  test.each([
    ['a newline', 'a\nb'],
    ['a control character', 'a\u0000'],
    ['nothing', ''],
    ['no text', 7],
    ['129 characters', 'a'.repeat(129)],
  ])('a name with %s is refused in a sentence', (_, name) => {
    expect(serverTool({ name, inputSchema }, 'home')).toMatch(/^A tool of MCP server 'home' has no usable name/)
  })

  test.each([undefined, null, [], 'object', { type: 'string' }])('the schema %j is refused by name', (schema) => {
    expect(serverTool({ name: 'tool', inputSchema: schema }, 'home')).toBe(
      "Tool 'tool' of MCP server 'home' has no object schema",
    )
  })

  test('the texts of its schema have nothing that a terminal acts on, and its patterns stay', () => {
    const texts = (mark: string) => ({ title: `a${mark}`, description: `b${mark}`, default: `c${mark}` })
    const schema = (mark: string) => ({
      type: 'object',
      properties: { p: { ...texts(mark), enum: [`d${mark}`], pattern: '\u001b[ab]' }, q: { items: texts(mark) } },
      $defs: { r: { examples: [{ s: `e${mark}` }], const: `f${mark}` } },
    })
    expect(read({ inputSchema: schema('\u001b]0;pwned\u0007\u202e\u0008') }).inputSchema).toEqual(schema(''))
  })

  test.each([undefined, null, 7, 'x'])('an entry that is %j is refused', (entry) => {
    expect(serverTool(entry, 'home')).toContain('no usable name')
  })

  test('an odd value in an entry is a problem of this entry, or has no effect', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', enum: ['b'] } }, required: ['a'] }
    const entry = {
      name: 'tool',
      title: 'x',
      description: 'y',
      inputSchema: schema,
      annotations: { readOnlyHint: true },
    }
    for (const odd of oddVariants(entry)) {
      const tool = serverTool(odd, 'home')
      expect(typeof tool === 'string' || tool.name === 'tool').toBe(true)
      if (typeof tool !== 'string') expect(() => mirroringProblem(tool.inputSchema)).not.toThrow()
    }
  })

  test('what its annotations say decides what may be repeated', () => {
    const effectOf = (annotations: object) => {
      const { effect, retry } = definitionOf(read({ annotations }), 'home', 'tool')
      return [effect, retry !== undefined]
    }
    expect(effectOf({ readOnlyHint: true })).toEqual(['read', true])
    expect(effectOf({ idempotentHint: true })).toEqual(['idempotent', true])
    expect(effectOf({ readOnlyHint: 'yes' })).toEqual(['write', false])
    expect(effectOf({})).toEqual(['write', false])
  })
})
