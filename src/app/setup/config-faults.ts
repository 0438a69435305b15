import type { Config } from '../../config/config.ts'
import { readMcpServers } from '../../config/mcp-settings.ts'
import { systemClock } from '../../core/clock.ts'
import type { Environment } from '../../core/environment.ts'
import { MemoryOnce } from '../../core/execution/once.ts'
import { silentLog } from '../../core/log.ts'
import type { PauseStore } from '../../core/storage/pause-store.ts'
import { ModelError } from '../../models/model-error.ts'
import { providerSettings } from '../tools/providers.ts'
import { ToolManager } from '../tools/tool-manager.ts'

export interface Faults {
  /** Tools and MCP servers that would be left out, and tools that can't run, each with the reason. */
  readonly problems: readonly string[]
  /** Tools that can't be called until something else changes, such as the network policy. */
  readonly broken: readonly string[]
}

/** Loads the tools of a configuration as the server would, without connecting to MCP servers. */
export async function faultsOf(config: Config, env: Environment): Promise<Faults> {
  const { skipped } = readMcpServers(config, env)
  const none = { once: new MemoryOnce(systemClock), approvals: { pauses: {} as PauseStore } }
  const manager = new ToolManager({ ...config, mcpServers: {}, servers: {} }, { env, log: silentLog, ...none })
  try {
    const report = await manager.loadTools()
    const registry = manager.getRegistry()
    const broken = registry.definitions().flatMap((tool) => {
      const reason = registry.brokenReason(tool)
      return reason === undefined ? [] : [`The tool ${tool.name} cannot be called yet: ${reason}`]
    })
    const failing = report.loaded.flatMap((name) => manager.getExecutor().check(name) ?? [])
    return {
      problems: [...skipped, ...report.skipped].map(({ name, problem }) => `${name}: ${problem}`).concat(failing),
      broken,
    }
  } finally {
    await manager.close()
  }
}

/** Providers are not left out: their models say why they can't be used. */
export function disabledProviders({ providers = {} }: Config, env: Environment): string[] {
  return Object.entries(providers).flatMap(([name, provider]) => {
    try {
      providerSettings(name, provider, env)
      return []
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      return [error.message]
    }
  })
}
