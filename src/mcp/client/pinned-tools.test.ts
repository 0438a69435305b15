import { expect, test } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { type ServerTool, serverTool } from './listed-tool.ts'
import { admitTools, fingerprint, pinsOf, toolChanges } from './pinned-tools.ts'

const tool = (name: string, description: string, properties = {}, annotations = {}) =>
  serverTool({ name, description, inputSchema: { type: 'object', properties }, annotations }, 'server') as ServerTool

test('reports new, changed and removed tools', () => {
  const before = [tool('same', 'a'), tool('words', 'a'), tool('schema', 'a'), tool('gone', 'a')]
  const now = [tool('same', 'a'), tool('words', 'b'), tool('schema', 'a', { x: {} }), tool('constructor', 'c')]
  const print = { fingerprint: expect.stringMatching(/^[0-9a-f]{64}\.[0-9a-f]{64}\.write$/) }
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

test('a write that becomes a read has changed', () => {
  const read = tool('one', 'a', {}, { readOnlyHint: true })
  expect(toolChanges([read], pinsOf([tool('one', 'a')]))).toMatchObject([{ change: 'changed', parts: ['effect'] }])
})

test('adds the effect to a pin of an older version', async () => {
  const read = tool('one', 'a', {}, { readOnlyHint: true })
  let stored: Readonly<Record<string, string>> = { one: `${fingerprint(read).replace('.read', '')}#3`, other: 'x.y' }
  const write = async (_: string, pins: typeof stored): Promise<void> => {
    stored = pins
  }
  const store = { read: async () => stored, write }
  const reach = { type: 'stdio', command: 'node', args: [], env: {} } as const
  const admit = (listed: ServerTool) =>
    admitTools([listed], undefined, { name: 'home', reach, pin: true }, { pins: store, log: silentLog })
  expect(await admit(read)).toMatchObject({ tools: [{ version: '3.0.0' }], waiting: [] })
  expect(stored).toEqual({ one: `${fingerprint(read)}#3`, other: 'x.y' })
  expect(await admit(tool('one', 'a'))).toMatchObject({ tools: [], waiting: [{ parts: ['effect'], version: '4.0.0' }] })
})
