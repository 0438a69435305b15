import type { ToolManager } from '../config/tool-manager.ts'
import { systemClock } from '../core/clock.ts'
import { printableLine } from './printable.ts'
import type { OpenManager } from './start-manager.ts'
import type { Terminal } from './terminal.ts'

/** How long a command waits for servers that it can do without, and for those that it was asked about. */
export const SHORT_WAIT_MS = 5_000
export const LONG_WAIT_MS = 30_000

interface Wait {
  readonly ms: number
  /** Whether what is there already will do; asked again with every tool that comes. */
  readonly enough?: () => boolean
  readonly signal?: AbortSignal
}

/** Waits until every MCP server is there or given up, until there is enough, or until the time is over. */
export async function awaitServers(manager: ToolManager, { ms, enough, signal }: Wait): Promise<void> {
  const servers = manager.getMcpServers()
  if (!manager.isEnabled() || servers.names.length === 0) return
  await new Promise<void>((resolve) => {
    const stopListening = manager.getRegistry().onChange(() => {
      if (enough?.()) done()
    })
    const callOff = systemClock.after(ms, () => done())
    const done = (): void => {
      stopListening()
      callOff()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done)
    void servers.start().then(done)
  })
}

/** The servers whose tools are missing, each with the reason. */
export function missingServers({ manager, leftOut = [] }: OpenManager): NonNullable<OpenManager['leftOut']> {
  if (!manager.isEnabled()) return []
  const servers = manager.getMcpServers()
  const unreached = servers.names
    .map((name) => servers.connection(name))
    .filter(({ connected }) => !connected)
    .map(({ settings, failure }) => ({ name: settings.name, problem: failure?.reason ?? 'it has not answered yet' }))
  return [...unreached, ...leftOut]
}

/** Says on stderr which servers are missing. */
export function tellMissing(terminal: Terminal, opened: OpenManager): void {
  for (const { name, problem } of missingServers(opened)) {
    const line = printableLine(`MCP server '${name}' is missing: ${problem}.`)
    terminal.note(`${line} "toolyard mcp test ${name}" says more.`)
  }
}
