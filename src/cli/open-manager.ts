import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import { ConfigError, loadConfigFile } from '../config/load-config.ts'
import { readMcpServers } from '../config/mcp-settings.ts'
import { ToolHandlers } from '../kinds/tool-handlers.ts'
import type { GlobalOptions } from './global-options.ts'
import type { OpenManager, startManager } from './start-manager.ts'
import { startRecorded } from './start-recorded.ts'
import { UsageError } from './usage-error.ts'

/** What a configuration is called. */
export const CONFIG_NAME = 'toolyard.config.json'

/** Why there are no tools at all. */
export const SWITCHED_OFF = 'Tools are switched off: "tools": {"enabled": true} switches them on.'

/** The configuration that ships with the package. */
export const shippedConfig = fileURLToPath(new URL(`../../${CONFIG_NAME}`, import.meta.url))

/** Which file is read: `--config`, else TOOLYARD_CONFIG, else the one in this folder, else the one that ships. */
export function configFile(option: string | undefined, env = process.env): string {
  if (option === '') throw new UsageError('--config takes the name of a file, and got an empty one.')
  const named = option ?? (env.TOOLYARD_CONFIG || undefined)
  if (named !== undefined) return resolve(named)
  const here = resolve(CONFIG_NAME)
  return existsSync(here) ? here : shippedConfig
}

/** Loads the configuration, as `change` leaves it, and its tools; the caller closes it. */
export async function openManager(
  options: GlobalOptions,
  change: (config: Config) => Config = (config) => config,
  start: typeof startManager = startRecorded,
): Promise<OpenManager> {
  const file = configFile(options.config)
  const config = change(await readConfig(file))
  const opened = await start(config, options, new ToolHandlers())
  const { skipped: leftOut } = readMcpServers(config, process.env)
  return { ...opened, leftOut, fallback: file === shippedConfig && !existsSync(resolve(CONFIG_NAME)) }
}

/** The configuration without its MCP servers: what needs none must not start any. */
export const withoutServers = (config: Config): Config => ({ ...config, mcpServers: {}, servers: {} })

/** A configuration that cannot be used is the user's to mend. */
export async function readConfig(file: string): Promise<Config> {
  try {
    return (await loadConfigFile(file)).config
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error
  }
}
