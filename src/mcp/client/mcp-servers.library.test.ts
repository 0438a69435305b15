import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { silentLog } from '../../core/log.ts'
import { McpServers } from './mcp-servers.ts'

const EVERYTHING = new URL(
  '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
  import.meta.url,
)
const pins = { read: async () => undefined, write: async () => {} }

async function library(...names: string[]) {
  const reach = { type: 'stdio', command: process.execPath, args: [EVERYTHING.pathname, 'stdio'], env: {} } as const
  const parts = { registry: new ToolRegistry(), log: silentLog, clock: systemClock, pins }
  const servers = new McpServers(
    names.map((name) => ({ name, reach })),
    parts,
  )
  onTestFinished(() => servers.close())
  await servers.start()
  return servers.library
}

describe('resources and prompts of servers', () => {
  test('are listed and can be read', async () => {
    const found = await library('everything')
    const [first] = await found.listResources()
    const read = await found.readResource(first?.uri ?? '')
    expect(read?.contents[0]).toMatchObject({ uri: first?.uri })
    expect((await found.listResourceTemplates()).length).toBeGreaterThan(0)
    expect(await found.readResource('demo://nowhere/at/all')).toBeUndefined()
    const [prompt] = await found.listPrompts()
    const text = await found.getPrompt(prompt?.name ?? '', {})
    expect(text?.messages.length).toBeGreaterThan(0)
    expect(await found.getPrompt('no-such-prompt', {})).toBeUndefined()
  })

  test('of two servers: a prompt whose name is taken has that of its server before it', async () => {
    const found = await library('one', 'two')
    const names = (await found.listPrompts()).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.some((name) => name.startsWith('two__'))).toBe(true)
    expect(await found.getPrompt(names.find((name) => name.startsWith('two__')) ?? '', {})).toBeDefined()
  })
})
