import type { Kind } from '../core/handler.ts'
import type { Log } from '../core/log.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { McpServers } from '../mcp/client/mcp-servers.ts'
import { logRenamed, serverNames } from './parameter-names.ts'

interface McpParts {
  readonly servers: McpServers
  readonly log: Log
}

/** Tools of MCP servers, named by `implementation.server` and `implementation.tool`. */
export const mcpKind = ({ servers, log }: McpParts): Kind => ({
  schema: { properties: { type: {}, server: {}, tool: {} } },
  effect: () => 'write',
  runsProgram: false,
  timeoutMs: ({ implementation }) => servers.timeoutMs(String(implementation.server)),
  asksClient: ({ implementation }) => servers.asks(String(implementation.server)),
  asksPeople: ({ implementation }) => servers.asksPeople(String(implementation.server)),
  account: ({ implementation }) => servers.account(String(implementation.server)),
  fault: ({ implementation }) =>
    servers.names.includes(String(implementation.server))
      ? undefined
      : `MCP server '${implementation.server}' is not configured`,
  async identity(tool) {
    const { implementation } = tool
    return { implementation: [implementation, await servers.identity(String(implementation.server), toolOf(tool))] }
  },
  rename(tool, params) {
    const server = String(tool.implementation.server)
    const settings = servers.names.includes(server) ? servers.connection(server).settings : undefined
    const name = toolOf(tool)
    const table = settings?.parameterNames
    const own = table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
    return logRenamed(tool.name, params, serverNames(name, params, tool.parameters, own), log)
  },
  bind(tool) {
    const server = String(tool.implementation.server)
    return () => (params, context) => servers.call(server, toolOf(tool), params, context, tool.name)
  },
})

const toolOf = ({ name, implementation }: ToolDefinition): string => String(implementation.tool ?? name)
