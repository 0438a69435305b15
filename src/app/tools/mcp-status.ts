import type { Config } from '../../config/config.ts'
import { mcpEntries, readMcpServers } from '../../config/mcp-settings.ts'
import type { Environment } from '../../core/environment.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import type { McpConnection } from '../../mcp/client/mcp-connection.ts'
import type { McpServers } from '../../mcp/client/mcp-servers.ts'
import type { ToolChange } from '../../mcp/client/pinned-tools.ts'

/** The status of one configured MCP server. It reveals nothing of its address or command. */
export interface McpServerStatus {
  readonly name: string
  /** Its path in the configuration. */
  readonly place: string
  /** `left_out`: something is missing, such as a variable; `idle`: tools are disabled. */
  readonly state: 'connected' | 'connecting' | 'not_reachable' | 'left_out' | 'disabled' | 'idle'
  readonly transport?: 'stdio' | 'http' | 'sse'
  readonly attempts?: number
  /** When the connection was established or lost. */
  readonly since?: string
  readonly next_attempt_in_ms?: number
  /** The last problem. It stays after a reconnect. */
  readonly problem?: string
  readonly problem_at?: string
  readonly stderr?: string
  readonly check?: string
  /** The tools at the time of the last connection. */
  readonly tools: readonly ServerToolNames[]
  /** New and changed tools of a pinned server, which wait for approval. */
  readonly waiting?: readonly ToolChange[]
}

/** A registered tool of an MCP server: its name here, and its name on the server. */
interface ServerToolNames {
  readonly name: string
  readonly tool: string
}

/** Groups the registered tools of MCP servers by server. */
export function serverTools(registry: ToolRegistry): Map<string, ServerToolNames[]> {
  const tools = new Map<string, ServerToolNames[]>()
  for (const { name, implementation } of registry.definitions()) {
    const { type, server, tool = name } = { ...implementation }
    if (type !== 'mcp') continue
    const known = tools.get(foreignText(server)) ?? []
    known.push({ name, tool: foreignText(tool) })
    tools.set(foreignText(server), known)
  }
  return tools
}

interface StatusSource {
  readonly servers: McpServers
  readonly registry: ToolRegistry
  readonly env: Environment
  /** Whether tools are enabled; if not, no server is connected. */
  readonly enabled: boolean
}

/** The current status of every MCP server of a configuration, in order. */
export function mcpStatus(config: Config, { servers, registry, env, enabled }: StatusSource): McpServerStatus[] {
  const { skipped, disabled } = readMcpServers(config, env)
  const lacking = new Map(skipped.map(({ name, problem }) => [name, problem]))
  const tools = serverTools(registry)
  const known = new Set(servers.names)
  return mcpEntries(config).map(({ name, place }) => {
    const base = { name, place, tools: tools.get(name) ?? [] }
    if (disabled.includes(name)) return { ...base, state: 'disabled' }
    if (!known.has(name)) return { ...base, state: 'left_out', problem: lacking.get(name) ?? 'something is missing' }
    const connection = servers.connection(name)
    const waiting = servers.waiting(name)
    const status = { ...base, ...statusOf(connection), ...(waiting.length > 0 && { waiting }) }
    return enabled || connection.connected ? status : { ...status, state: 'idle' }
  })
}

function statusOf(connection: McpConnection): Omit<McpServerStatus, 'name' | 'place' | 'tools'> {
  const { state, transport, attempts, since, nextAttemptInMs, problem, stderr } = connection.standing()
  const check = state === 'connected' ? undefined : connection.failure?.check
  return {
    state,
    transport,
    attempts,
    ...(since !== undefined && { since: new Date(since).toISOString() }),
    ...(nextAttemptInMs !== undefined && { next_attempt_in_ms: Math.ceil(nextAttemptInMs) }),
    ...(problem !== undefined && { problem: problem.text, problem_at: new Date(problem.at).toISOString() }),
    ...(stderr !== '' && { stderr }),
    ...(check !== undefined && { check }),
  }
}
