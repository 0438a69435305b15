import { expect, test } from 'vitest'
import { type ServerTool, serverTool } from './listed-tool.ts'
import { fingerprint, pinsOf, toolChanges } from './pinned-tools.ts'

const tool = (name: string, description: string, properties = {}) =>
  serverTool({ name, description, inputSchema: { type: 'object', properties } }, 'server') as ServerTool

test('reports new, changed and removed tools', () => {
  const before = [tool('same', 'a'), tool('words', 'a'), tool('schema', 'a'), tool('gone', 'a')]
  const now = [tool('same', 'a'), tool('words', 'b'), tool('schema', 'a', { x: {} }), tool('constructor', 'c')]
  const print = { fingerprint: expect.stringMatching(/^[0-9a-f]{64}\.[0-9a-f]{64}$/) }
  const next = { version: '2.0.0', ...print }
  expect(toolChanges(now, pinsOf(before))).toEqual([
    { tool: 'words', change: 'changed', parts: [expect.stringContaining('description')], description: 'b', ...next },
    { tool: 'schema', change: 'changed', parts: [expect.stringContaining('schema')], description: 'a', ...next },
    { tool: 'constructor', change: 'new', description: 'c', version: '1.0.0', ...print },
    { tool: 'gone', change: 'gone' },
  ])
  // Approved definitions are counted, and an unchanged one keeps its number.
  const approved = pinsOf(now, pinsOf(before))
  expect(toolChanges(now, approved)).toEqual([])
  expect(pinsOf(now, approved)).toEqual(approved)
  expect(toolChanges([tool('words', 'c'), tool('same', 'b')], approved)).toMatchObject([
    { tool: 'words', version: '3.0.0', parts: ['description'] },
    { tool: 'same', version: '2.0.0' },
    ...[{ tool: 'schema' }, { tool: 'constructor' }],
  ])
})

test('treats a pin of another format as changed', () => {
  const [change] = toolChanges([tool('one', 'a')], { one: 'x' })
  expect(change).toMatchObject({ change: 'changed', parts: ['description or schema'] })
  expect(toolChanges([tool('one', 'a')], { one: fingerprint(tool('one', 'a')) })).toEqual([])
})
