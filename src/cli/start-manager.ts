import { Tenants } from '../config/callers/tenants.ts'
import type { Config } from '../config/config.ts'
import { createLog } from '../config/create-log.ts'
import type { LoadReport } from '../config/load-definitions.ts'
import type { McpReading } from '../config/mcp-settings.ts'
import { ToolManager } from '../config/tool-manager.ts'
import { LOCAL_TENANT } from '../core/call.ts'
import type { CallContext } from '../core/call-context.ts'
import type { Log } from '../core/log.ts'
import type { ToolHandlers } from '../kinds/tool-handlers.ts'
import { PinFile } from '../mcp/client/pin-file.ts'
import type { PinStore } from '../mcp/client/pin-store.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'
import type { GlobalOptions } from './global-options.ts'
import { KeptKnowledge } from './kept-knowledge.ts'
import { UsageError } from './usage-error.ts'

/** A manager with its tools loaded, and what came of loading them. */
export interface OpenManager {
  readonly manager: ToolManager
  readonly handlers: ToolHandlers
  readonly report: LoadReport
  /** MCP servers that lack something, such as a variable. */
  readonly leftOut?: McpReading['skipped']
  /** Whether the configuration is the one that ships, for want of another. */
  readonly fallback?: boolean
  /** What the calls of the person at this machine are made with. */
  readonly context: CallContext
  /** Which tools of MCP servers were approved. */
  readonly pins: PinStore
  close(): Promise<void>
}

/** Commands say in their own words what goes wrong, so the log is silent unless asked for. */
export async function startManager(
  config: Config,
  options: GlobalOptions,
  handlers: ToolHandlers,
): Promise<OpenManager> {
  const log = openLog(options)
  const knowledge = new KeptKnowledge(log)
  const manager = new ToolManager(config, { handlers, log, knowledge: (use) => knowledge.open(use) })
  const tenants = new Tenants()
  tenants.configure(config.tenants)
  const context = { source: 'cli', flags: tenants.flags(LOCAL_TENANT) } as const
  const pins = new PinFile(dataFolder())
  const close = async () => {
    await manager.close()
    await knowledge.close()
  }
  return { manager, handlers, report: await manager.loadTools(), context, pins, close }
}

export function openLog(options: GlobalOptions): Log {
  try {
    return createLog(options.verbose ? 'info' : process.env.TOOLYARD_LOG || 'silent')
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
