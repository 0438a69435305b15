import type { Environment } from '../core/expand-variables.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import type { McpConnection } from '../mcp/client/mcp-connection.ts'
import type { McpServers } from '../mcp/client/mcp-servers.ts'
import type { Config } from './config.ts'
import { mcpEntries } from './mcp-entries.ts'
import type { McpServerStatus } from './mcp-server-status.ts'
import { readMcpServers } from './mcp-settings.ts'
import { serverTools } from './server-tools.ts'

interface Surroundings {
  readonly servers: McpServers
  readonly registry: ToolRegistry
  readonly env: Environment
  /** Whether servers are connected at all. */
  readonly enabled: boolean
}

/** Every MCP server of a configuration, in order, and how it stands with it now. */
export function mcpStatus(config: Config, { servers, registry, env, enabled }: Surroundings): McpServerStatus[] {
  const { skipped, disabled } = readMcpServers(config, env)
  const lacking = new Map(skipped.map(({ name, problem }) => [name, problem]))
  const tools = serverTools(registry)
  const known = new Set(servers.names)
  return mcpEntries(config).map(({ name, place }) => {
    const base = { name, place, tools: tools.get(name) ?? [] }
    if (disabled.includes(name)) return { ...base, state: 'disabled' }
    if (!known.has(name)) return { ...base, state: 'left_out', problem: lacking.get(name) ?? 'it lacks something' }
    const connection = servers.connection(name)
    const status = { ...base, ...statusOf(connection) }
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
