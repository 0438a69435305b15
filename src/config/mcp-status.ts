import type { Environment } from '../core/expand-variables.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import type { McpConnection } from '../mcp/client/mcp-connection.ts'
import type { McpServers } from '../mcp/client/mcp-servers.ts'
import type { Config } from './config.ts'
import { mcpEntries } from './mcp-entries.ts'
import { readMcpServers } from './mcp-settings.ts'
import { type ServerToolNames, serverTools } from './server-tools.ts'

/** How it stands with one configured MCP server: nothing of how it is reached but the transport. */
export interface McpServerStatus {
  readonly name: string
  /** Its path in the configuration. */
  readonly place: string
  /** `left_out`: it lacks something, such as a variable; `idle`: tools are switched off. */
  readonly state: 'connected' | 'connecting' | 'not_reachable' | 'left_out' | 'disabled' | 'idle'
  readonly transport?: 'stdio' | 'http' | 'sse'
  readonly attempts?: number
  /** When the connection was made or lost. */
  readonly since?: string
  readonly next_attempt_in_ms?: number
  /** What went wrong last, and when; it stays when the connection is there again. */
  readonly problem?: string
  readonly problem_at?: string
  readonly stderr?: string
  readonly check?: string
  /** What was there when it was last connected. */
  readonly tools: readonly ServerToolNames[]
}

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
