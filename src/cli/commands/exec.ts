import type { Config } from '../../config/config.ts'
import type { GlobalOptions } from '../global-options.ts'
import { awaitServers, LONG_WAIT_MS, openManager, SWITCHED_OFF, warnMissing, withoutServers } from '../open.ts'
import { printableLine } from '../printable.ts'
import { readTimeout, runCall } from '../run-call.ts'
import type { Terminal } from '../terminal.ts'

export interface ExecOptions extends GlobalOptions {
  readonly timeout?: string
}

/** `toolyard exec`: runs one tool; 0 where it succeeded, 1 where it failed. */
export async function exec(
  terminal: Terminal,
  name: string,
  words: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const timeoutMs = readTimeout(terminal, options.timeout)
  const change = (config: Config) => (isLocal(config, name) ? withoutServers(config) : config)
  const opened = await openManager(terminal, options, { change })
  const { manager, report } = opened
  try {
    const registry = manager.getRegistry()
    const isThere = () => registry.find(name) !== undefined
    if (!isThere()) await awaitServers(manager, { ms: LONG_WAIT_MS, enough: isThere })
    if (!isThere()) warnMissing(terminal, opened)
    const code = await runCall(terminal, opened, name, words, { ...options, timeoutMs })
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    const skipped = report.skipped.find((one) => one.name === name)
    if (skipped) terminal.note(printableLine(`The configuration defines '${name}', but wrongly: ${skipped.problem}`))
    return code
  } finally {
    await opened.close()
  }
}

/** Whether the configuration itself says how the tool is run; its name is then no server's. */
function isLocal({ tools }: Config, name: string): boolean {
  const definition = tools?.registry?.find((one) => (Object(one) as { name?: unknown }).name === name)
  const { implementation } = Object(definition) as { implementation?: unknown }
  return definition !== undefined && (Object(implementation) as { type?: unknown }).type !== 'mcp'
}
