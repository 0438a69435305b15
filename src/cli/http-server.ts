import { readMcpServers } from '../config/mcp-settings.ts'
import type { McpServerSettings } from '../mcp/client/server-settings.ts'
import { type TokenFile, tokenFile } from '../mcp/oauth/token-file.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'
import type { GlobalOptions } from './global-options.ts'
import { configFile, findServer, readConfig } from './open.ts'
import type { Terminal } from './terminal.ts'
import { UsageError } from './usage-error.ts'

/** An MCP server that tokens can be had for. */
export interface HttpServer {
  readonly settings: McpServerSettings
  readonly url: string
  readonly file: TokenFile
}

/** Finds the server in the configuration, without connecting to it. */
export async function httpServer(terminal: Terminal, asked: string, options: GlobalOptions): Promise<HttpServer> {
  const config = await readConfig(configFile(terminal, options.config))
  const { name, place } = findServer(terminal, config, asked)
  const settings = readMcpServers(config, terminal.env, terminal.cwd).servers.find((one) => one.name === name)
  if (settings === undefined || settings.reach.type === 'stdio') {
    throw new UsageError(
      `MCP server '${name}' is a program on this machine: only servers with a "url" are logged in to.`,
    )
  }
  const { url, headers } = settings.reach
  if (Object.keys(headers).some((header) => header.toLowerCase() === 'authorization')) {
    throw new UsageError(`MCP server '${name}' gets the Authorization header of ${place}.headers: take that out first.`)
  }
  return { settings, url: new URL(url).href, file: tokenFile(dataFolder(terminal.env)) }
}
