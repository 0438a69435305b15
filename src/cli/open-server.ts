import type { Config } from '../config/config.ts'
import { mcpEntries } from '../config/mcp-entries.ts'
import { readMcpServers } from '../config/mcp-settings.ts'
import { suggest } from '../core/suggest.ts'
import type { McpConnection } from '../mcp/client/mcp-connection.ts'
import type { GlobalOptions } from './global-options.ts'
import { openManager } from './open-manager.ts'
import { printableLine } from './printable.ts'
import type { OpenManager } from './start-manager.ts'
import { UsageError } from './usage-error.ts'

/** A manager whose only MCP server is the one that was asked for. */
export interface OpenServer extends OpenManager {
  readonly connection: McpConnection
}

/** Loads the configuration with this one server of it; the caller closes the manager. */
export async function openServer(asked: string, options: GlobalOptions): Promise<OpenServer> {
  let name = asked
  const only = (config: Config): Config => {
    const entry = findServer(config, asked)
    name = entry.name
    return { ...config, mcpServers: { [entry.key]: entry.server }, servers: {} }
  }
  const opened = await openManager(options, only)
  return { ...opened, connection: opened.manager.getMcpServers().connection(name) }
}

/** The entry of a server that can be used, by its key or by its name. */
export function findServer(config: Config, asked: string) {
  const entries = mcpEntries(config)
  const entry = entries.find(({ name, key }) => asked === name || asked === key)
  if (entry === undefined) {
    const names = entries.map(({ name }) => name)
    const near = suggest(asked, names)
    const hint = near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
    const known = names.length === 0 ? 'Add some to mcpServers.' : `Known: ${names.join(', ')}.`
    throw new UsageError(printableLine(`There is no MCP server '${asked}'.${hint} ${known}`))
  }
  const { disabled, skipped } = readMcpServers(config, process.env)
  if (disabled.includes(entry.name)) {
    throw new UsageError(`MCP server '${entry.name}' is switched off: take "disabled" out of ${entry.place}.`)
  }
  const lack = skipped.find(({ name }) => name === entry.name)
  if (lack !== undefined)
    throw new UsageError(printableLine(`MCP server '${entry.name}' is left out: ${lack.problem}.`))
  return entry
}
