import { expect, test } from 'vitest'
import { type ServerTool, serverTool } from './listed-tool.ts'
import { fingerprint, pinsOf, toolChanges } from './pinned-tools.ts'

const tool = (name: string, description: string, properties = {}) =>
  serverTool({ name, description, inputSchema: { type: 'object', properties } }, 'server') as ServerTool

test('reports new, changed and removed tools', () => {
  const before = [tool('same', 'a'), tool('words', 'a'), tool('schema', 'a'), tool('gone', 'a')]
  const now = [tool('same', 'a'), tool('words', 'b'), tool('schema', 'a', { x: {} }), tool('constructor', 'c')]
  expect(toolChanges(now, pinsOf(before))).toEqual([
    { tool: 'words', change: 'changed', parts: [expect.stringContaining('description')], description: 'b' },
    { tool: 'schema', change: 'changed', parts: [expect.stringContaining('schema')], description: 'a' },
    { tool: 'constructor', change: 'new', description: 'c' },
    { tool: 'gone', change: 'gone' },
  ])
})

test('treats a pin of another format as changed', () => {
  const [change] = toolChanges([tool('one', 'a')], { one: 'x' })
  expect(change).toMatchObject({ change: 'changed', parts: ['description or schema'] })
  expect(toolChanges([tool('one', 'a')], { one: fingerprint(tool('one', 'a')) })).toEqual([])
})
