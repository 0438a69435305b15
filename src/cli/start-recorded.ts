import type { Config } from '../config/config.ts'
import type { Installation } from '../config/installation.ts'
import type { ToolHandlers } from '../kinds/tool-handlers.ts'
import type { GlobalOptions } from './global-options.ts'
import { hasStore } from './has-store.ts'
import { printableLine } from './printable.ts'
import { type OpenManager, openLog, startManager } from './start-manager.ts'

/**
 * Like `startManager`, but where there is a store (one that `toolyard serve` or `toolyard keys` made) the calls are
 * recorded in it like all others. A store that cannot be opened fails no call: that is said on stderr.
 */
export async function startRecorded(
  config: Config,
  options: GlobalOptions,
  handlers: ToolHandlers,
): Promise<OpenManager> {
  if (!hasStore()) return startManager(config, options, handlers)
  let installation: Installation
  try {
    const { Installation } = await import('../config/installation.ts')
    installation = await Installation.open({ config, handlers, log: openLog(options) })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(`${printableLine(`What is called now is not recorded: ${reason}`)}\n`)
    return startManager(config, options, handlers)
  }
  const { manager, pins } = installation
  const context = installation.localContext('cli')
  return { manager, handlers, report: await manager.loadTools(), context, pins, close: () => installation.close() }
}
