import type { Client } from '@modelcontextprotocol/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { PACKAGE } from '../../core/execution/tool-view.ts'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { serveHttp } from '../server/fixtures/serve-http.ts'
import { ToolServer } from '../server/tool-server.ts'
import { McpServers } from './mcp-servers.ts'

/** Us, with a server of ours over HTTP whose tools have these parameters. */
async function yardWith(
  tools: Readonly<Record<string, object>>,
  extend?: (client: Client) => void,
  local: readonly ToolDefinition[] = [],
) {
  const yard = toolyard()
  for (const [name, properties] of Object.entries(tools)) {
    yard.add(name, async () => 'here', { parameters: { type: 'object', properties } })
  }
  const server = new ToolServer({ registry: yard.registry, executor: yard.executor, version: '1' })
  const service = await serveHttp(server, { port: 0 })
  onTestFinished(() => service.close())
  const log = captureLog()
  const registry = new ToolRegistry({ log })
  registry.addAll(local)
  const pins = { read: async () => undefined, write: async () => {} }
  const settings = { name: 'web', reach: { type: 'http', url: service.url, headers: {}, fetch } } as const
  const parts = { registry, log, clock: systemClock, pins, ...(extend && { extend }) }
  const servers = new McpServers([settings], parts)
  onTestFinished(() => servers.close())
  await servers.start()
  return { servers, registry, log, names: registry.list().map(({ name }) => name) }
}

test('a tool whose parameters cannot be sent in the headers that it names is left out, and no other', async () => {
  const { names, log } = await yardWith({
    good: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    bad: { score: { type: 'number', 'x-mcp-header': 'Score' } },
  })
  expect(names).toEqual(['good'])
  expect(JSON.stringify(log.lines)).toContain(
    "Tool 'bad' cannot be called: x-mcp-header of score belongs to a type that a header cannot hold",
  )
})

test('a program may add to each client before it connects', async () => {
  const { servers } = await yardWith({ good: {} }, (client) => {
    client.registerCapabilities({ elicitation: {} })
    client.setRequestHandler('elicitation/create', () => ({ action: 'decline' }))
  })
  expect(servers.connection('web').connected).toBe(true)
})

test('a server takes no name of a local tool or a tool of a package', async () => {
  const definition = { description: 'Local.', parameters: { type: 'object' }, implementation: { type: 'mock' } }
  const local = { ...definition, name: 'local' }
  const packaged = { ...definition, name: 'packaged', [PACKAGE]: '@acme/tools' }
  const { registry, names } = await yardWith({ local: {}, packaged: {} }, undefined, [local, packaged])
  expect(names.sort()).toEqual(['local', 'packaged', 'web__local', 'web__packaged'])
  expect(registry.get('local')).toBe(local)
  expect(registry.get('packaged')).toBe(packaged)
})

test('without a store, names are remembered as long as configurations follow each other', async () => {
  const { servers: first, registry } = await yardWith({ transfer: {} })
  const [{ settings }] = [first.connection('web')]
  const pins = { read: async () => undefined, write: async () => {} }
  const parts = { registry: new ToolRegistry(), log: captureLog(), clock: systemClock, pins }
  const servers = new McpServers([{ ...settings, name: 'bad' }], { ...parts, configured: ['bad', 'web'] }, first)
  onTestFinished(() => servers.close())
  await servers.start()
  expect(registry.has('transfer')).toBe(true)
  expect(parts.registry.definitions().map(({ name }) => name)).toEqual(['bad__transfer'])
})

test('the connection fails, and is tried again, if the names of tools cannot be claimed', async () => {
  const { servers: first } = await yardWith({ transfer: {} })
  const pins = { read: async () => undefined, write: async () => {} }
  const parts = { registry: new ToolRegistry(), log: captureLog(), clock: new ManualClock(), pins }
  let isDown = true
  const names = {
    read: async () => new Map<string, string[]>(),
    claim: async (wanted: ReadonlyMap<string, string>) => {
      if (isDown) throw new Error('The store is away')
      return new Map([...wanted].map(([name, server]) => [name, [server]]))
    },
  }
  const servers = new McpServers([first.connection('web').settings], { ...parts, names })
  onTestFinished(() => servers.close())
  const started = servers.start()
  await vi.waitFor(() => expect(servers.connection('web').standing().nextAttemptInMs).toBe(2_000))
  expect(parts.registry.list()).toEqual([])
  isDown = false
  parts.clock.advance(2_000)
  await started
  expect(parts.registry.has('transfer')).toBe(true)
})
