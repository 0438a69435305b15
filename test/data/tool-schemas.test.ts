import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileTools } from '../../src/models/dialects/compile-tools.ts'
import type { Dialect } from '../../src/models/provider.ts'
import { lossTables } from './count-losses.ts'
import { SUBSETS } from './documented-subsets.ts'
import { bfclLists, haveData, mcpLists, type ToolList } from './real-tools.ts'
import { type WireName, WireServer } from './wire-server.ts'

const WIRES = Object.keys(SUBSETS) as WireName[]

describe('the check of a body', () => {
  const schema = { type: 'object', properties: { a: { allOf: [{ type: 'string' }] } } }
  const open = { name: 'open', strict: true, parameters: { type: 'object', properties: { a: { type: 'string' } } } }

  test.each<[WireName, string, object]>([
    [
      'openai responses',
      'a.b: name',
      { tools: [{ type: 'function', strict: false, name: 'a.b', parameters: schema }] },
    ],
    ['openai responses', 'strict: not all required', { tools: [{ type: 'function', ...open }] }],
    ['openai chat', 'strict: data must have', { tools: [{ type: 'function', function: open }] }],
    ['anthropic', 'choice at the root', { tools: [{ name: 'a', input_schema: { ...schema, anyOf: [{}] } }] }],
    ['gemini', 'properties/a', { tools: [{ functionDeclarations: [{ name: 'a', parametersJsonSchema: schema }] }] }],
    ['ollama', 'properties/a', { tools: [{ function: { name: 'a', description: '', parameters: schema } }] }],
  ])('finds what %s refuses: %s', (wire, fault, body) => {
    expect(SUBSETS[wire](body as Record<string, unknown>).join()).toContain(fault)
  })
})

describe.skipIf(!haveData())('tools in use, on the wire', () => {
  const lists: ToolList[] = []
  const server = new WireServer()

  beforeAll(async () => {
    lists.push(...mcpLists(), ...bfclLists())
    await server.start()
  })
  afterAll(() => server.stop())

  test.each(WIRES)('%s takes all of them', async (wire) => {
    const dialect = wire.split(' ')[0] as Dialect
    for (const { tools } of lists) {
      const compiled = compileTools(tools, dialect)
      expect(compiled.omitted).toEqual([])
      expect(compiled.tools.map(({ name }) => compiled.toolName(name))).toEqual(tools.map(({ name }) => name))
      await server.send(wire, compiled.tools)
    }
    expect(server.faults).toEqual([])
    expect(server.tools.get(wire)).toBe(822 + 1843)
  })

  test('are counted in docs/reference/tool-schemas.md (node scripts/dialect-report.ts)', () => {
    expect(readFileSync(new URL('../../docs/reference/tool-schemas.md', import.meta.url), 'utf8')).toContain(
      lossTables(),
    )
  })
})
