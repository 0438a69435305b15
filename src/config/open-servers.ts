import type { Clock } from '../core/clock.ts'
import type { Environment } from '../core/expand-variables.ts'
import type { Log } from '../core/log.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import { McpServers } from '../mcp/client/mcp-servers.ts'
import { PinFile } from '../mcp/client/pin-file.ts'
import type { PinStore } from '../mcp/client/pin-store.ts'
import type { McpServerSettings } from '../mcp/client/server-settings.ts'
import { tokenFile } from '../mcp/oauth/token-file.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'
import type { Config } from './config.ts'
import { readMcpServers } from './mcp-settings.ts'

interface Surroundings {
  readonly registry: ToolRegistry
  readonly log: Log
  readonly clock: Clock
  readonly env: Environment
  readonly pins?: PinStore
}

/** The MCP servers of a configuration, not connected yet. One that lacks a variable is left out, and that is said. */
export function openServers(config: Config, { registry, log, clock, env, pins }: Surroundings): McpServers {
  const { servers, skipped, warnings } = readMcpServers(config, env)
  for (const { name, problem } of skipped) log.warn({ server: name, problem }, 'MCP server left out')
  for (const { name, problem } of warnings) log.warn({ server: name, problem }, 'MCP server configured with a warning')
  const folder = dataFolder(env)
  const tokens = tokenFile(folder, clock)
  const authProvider = async (settings: McpServerSettings) => {
    if (settings.reach.type === 'stdio') return undefined
    const { serverAuthorization } = await import('../mcp/oauth/server-authorization.ts')
    return serverAuthorization(settings, tokens)
  }
  return new McpServers(servers, { registry, log, clock, pins: pins ?? new PinFile(folder), authProvider })
}
