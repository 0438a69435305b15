import type { Kind } from '../core/handler.ts'
import { foreignText } from '../core/json/json-depth.ts'
import type { Log } from '../core/log.ts'
import type { Implementation, ToolDefinition } from '../core/tool.ts'
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
  timeoutMs: ({ implementation }) => servers.timeoutMs(serverOf(implementation)),
  asksClient: ({ implementation }) => servers.asks(serverOf(implementation)),
  asksPeople: ({ implementation }) => servers.asksPeople(serverOf(implementation)),
  account: ({ implementation }) => servers.account(serverOf(implementation)),
  fault: ({ implementation }) =>
    servers.names.includes(serverOf(implementation))
      ? undefined
      : `MCP server '${serverOf(implementation)}' is not configured`,
  async identity(tool) {
    const { implementation } = tool
    return { implementation: [implementation, await servers.identity(serverOf(implementation), toolOf(tool))] }
  },
  rename(tool, params) {
    const server = serverOf(tool.implementation)
    const settings = servers.names.includes(server) ? servers.connection(server).settings : undefined
    const name = toolOf(tool)
    const table = settings?.parameterNames
    const own = table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
    return logRenamed(tool.name, params, serverNames(name, params, tool.parameters, own), log)
  },
  bind(tool) {
    const server = serverOf(tool.implementation)
    return () => (params, context) => servers.call(server, toolOf(tool), params, context, tool.name)
  },
})

const serverOf = ({ server }: Implementation): string => foreignText(server)

const toolOf = ({ name, implementation }: ToolDefinition): string => foreignText(implementation.tool ?? name)
