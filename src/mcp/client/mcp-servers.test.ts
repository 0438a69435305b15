import type { Client } from '@modelcontextprotocol/client'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { PACKAGE } from '../../core/execution/tool-view.ts'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { captureLog } from '../../testing/stand-ins.ts'
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

test('a tool of a package gives way to a tool of a server, a local one does not', async () => {
  const definition = { description: 'Local.', parameters: { type: 'object' }, implementation: { type: 'mock' } }
  const local = { ...definition, name: 'local' }
  const packaged = { ...definition, name: 'packaged', [PACKAGE]: '@acme/tools' }
  const { registry, names } = await yardWith({ local: {}, packaged: {} }, undefined, [local, packaged])
  expect(names.sort()).toEqual(['local', 'packaged', 'web__local'])
  expect(registry.get('local')).toBe(local)
  expect(registry.get('packaged')).toMatchObject({ implementation: { type: 'mcp', server: 'web' } })
})
