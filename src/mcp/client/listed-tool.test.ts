import { describe, expect, test } from 'vitest'
import { oddVariants } from '../../core/fixtures/odd-values.ts'
import { definitionOf, listAll, mirroringProblem, type ServerTool, serverTool } from './listed-tool.ts'

const inputSchema = { type: 'object', properties: {} }
const read = (entry: object) => serverTool({ name: 'tool', inputSchema, ...entry }, 'home') as ServerTool

describe('a list', () => {
  /** The number of entries that are read, and what was said about the others. */
  async function lengthOf(pages: readonly unknown[]) {
    const left = [...pages]
    const request = async () => ({ tools: left.shift(), ...(left.length > 0 && { nextCursor: 'next' }) })
    const said: string[] = []
    const { signal } = new AbortController()
    const all = await listAll({ request } as never, 'tools/list', 'tools', signal, (problem) => said.push(problem))
    return [all.length, ...said]
  }
  const entries = (count: number) => new Array(count).fill({})
  const cut = 'The server lists more than 5000 entries, or more than 64 pages: the rest was left out'

  test.each<[what: string, pages: readonly unknown[], read: readonly unknown[]]>([
    ['5,000 entries', [entries(4_999), entries(1)], [5_000]],
    ['64 pages', new Array(64).fill(entries(1)), [64]],
    ['no entries', [undefined, 7], [0]],
    ['5,001 entries', [entries(5_001)], [5_000, cut]],
    ['a page after the 5,000th entry', [entries(5_000), entries(1)], [5_000, cut]],
    ['65 pages', new Array(65).fill(entries(1)), [64, cut]],
  ])('of %s', async (_, pages, read) => {
    expect(await lengthOf(pages)).toEqual(read)
  })
})

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
