import type { Log, ToolExecutor } from '../../../src/index.ts'
import type { McpServers } from '../../../src/mcp/client/mcp-servers.ts'
import type { PreparedCall } from '../../contender.ts'
import { NAME, PARAMS } from '../../weather.ts'
import type { McpClient } from '../mcp-client.ts'
import { STDIO_COMMAND } from '../stdio-command.ts'

const SERVER = 'bench'

interface Yard {
  readonly servers: McpServers
  readonly executor: ToolExecutor
  readonly log: Log
}

/** The small server among our servers, and its tool among our tools. */
async function yard(): Promise<Yard> {
  const { silentLog: log, ToolExecutor, ToolRegistry } = await import('../../../src/index.ts')
  const { systemClock: clock } = await import('../../../src/core/clock.ts')
  const { mcpKind } = await import('../../../src/kinds/mcp-kind.ts')
  const { McpServers } = await import('../../../src/mcp/client/mcp-servers.ts')
  const registry = new ToolRegistry({ log })
  const pins = { read: async () => undefined, write: async () => {} }
  const settings = { name: SERVER, reach: { type: 'stdio' as const, ...STDIO_COMMAND, env: {} } }
  const servers = new McpServers([settings], { registry, log, clock, pins })
  await servers.start()
  const executor = new ToolExecutor(registry, { kinds: { mcp: mcpKind({ servers, log }) }, log })
  return { servers, executor, log }
}

const variant = (about: Omit<McpClient, 'connect'>, prepare: (yard: Yard) => PreparedCall): McpClient => ({
  ...about,
  async connect() {
    const made = await yard()
    return { call: prepare(made), close: () => made.servers.close() }
  },
})

export const toolyard = variant(
  { id: 'toolyard', name: 'Toolyard, the connection only', call: 'servers.call(server, tool, params, context)' },
  ({ servers, log }) => {
    const context = { tenant: 'bench', flags: {}, report: () => {}, log }
    // Each call has a signal of its own, as one from the executor has.
    return () => servers.call(SERVER, NAME, PARAMS, { ...context, signal: new AbortController().signal })
  },
)

export const toolyardExecute = variant(
  { id: 'toolyard-execute', name: 'Toolyard', call: 'executor.execute(name, params)' },
  ({ executor }) =>
    async () => {
      const result = await executor.execute(NAME, PARAMS)
      if (!result.success) throw new Error(result.error)
      return result
    },
)
