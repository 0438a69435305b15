import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CallContext } from '../../core/call-context.ts'
import { systemClock } from '../../core/clock.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { silentLog } from '../../core/log.ts'
import { guardParameters } from '../../core/schema/guard-schema.ts'
import { McpServers } from './mcp-servers.ts'

const EVERYTHING = new URL(
  '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
  import.meta.url,
)
const pins = { read: async () => undefined, write: async () => {} }

let registry = new ToolRegistry()

async function library(...names: string[]) {
  registry = new ToolRegistry()
  const reach = { type: 'stdio', command: process.execPath, args: [EVERYTHING.pathname, 'stdio'], env: {} } as const
  const parts = { registry, log: silentLog, clock: systemClock, pins }
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

  test('belong to callers that may use a tool of the server', async () => {
    const found = await library('everything')
    const [first] = await found.listResources()
    const [prompt] = await found.listPrompts()
    const contents = async (context: CallContext) => [
      (await found.listResources(context)).length > 0,
      (await found.listResourceTemplates(context)).length > 0,
      (await found.readResource(first?.uri ?? '', context)) !== undefined,
      (await found.listPrompts(context)).length > 0,
      (await found.getPrompt(prompt?.name ?? '', {}, context)) !== undefined,
    ]
    const all = [true, true, true, true, true]
    const none = [false, false, false, false, false]
    expect(await contents({ tools: ['calculate'] })).toEqual(none)
    expect(await contents({ tools: ['ech*'] })).toEqual(all)
    const off = Object.fromEntries(registry.definitions().map(({ name }) => [name, false]))
    expect(await contents({ flags: off })).toEqual(none)
    expect(await contents({ flags: { ...off, echo: true } })).toEqual(all)
  })

  test('of two servers: a prompt whose name is taken has that of its server before it', async () => {
    const found = await library('one', 'two')
    const names = (await found.listPrompts()).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.some((name) => name.startsWith('two__'))).toBe(true)
    expect(await found.getPrompt(names.find((name) => name.startsWith('two__')) ?? '', {})).toBeDefined()
  })
})

test('lets the process do other work between the checks of listed tools', async () => {
  const turns = vi.spyOn(globalThis, 'setImmediate')
  onTestFinished(() => turns.mockRestore())
  await library('everything')
  const tools = registry.definitions()
  expect(tools.length).toBeGreaterThan(5)
  expect(turns.mock.calls.length).toBeGreaterThanOrEqual(tools.length)
  // The registry does not check them again.
  for (const { parameters } of tools) {
    const read = vi.spyOn(JSON, 'stringify')
    guardParameters(parameters)
    expect(read).not.toHaveBeenCalled()
    read.mockRestore()
  }
})
