import type { CallContext } from '../../core/call-context.ts'
import { serveHttp } from '../../mcp/server/http/serve-http.ts'
import { serveStdio } from '../../mcp/server/serve-stdio.ts'
import { ToolServer } from '../../mcp/server/tool-server.ts'
import type { GlobalOptions } from '../global-options.ts'
import { Interrupt } from '../interrupt.ts'
import { openManager, SWITCHED_OFF } from '../open-manager.ts'
import { packageVersion } from '../package-version.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface McpServeOptions extends GlobalOptions {
  /** The port, or true where none was named. */
  readonly http?: string | true
}

const DEFAULT_PORT = 4747

/** `toolyard mcp serve`: serves the tools until the client goes, or until it is interrupted. */
export async function mcpServe(terminal: Terminal, options: McpServeOptions): Promise<number> {
  const port = options.http === undefined ? undefined : readPort(options.http)
  const opened = await openManager(options)
  const { manager } = opened
  const context: CallContext = { ...opened.context, source: 'mcp' }
  const servers = manager.getMcpServers()
  const server = new ToolServer({
    registry: manager.getRegistry(),
    executor: manager.getExecutor(),
    version: packageVersion(),
    effectOf: ({ name }) => manager.getExecutor().effectOf(name),
    ...(servers.names.length > 0 && { library: servers.library }),
  })
  const interrupt = new Interrupt()
  const interrupted = new Promise<void>((resolve) => interrupt.signal.addEventListener('abort', () => resolve()))
  try {
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    if (port === undefined) {
      const service = serveStdio(server, { context })
      await Promise.race([service.closed, interrupted])
      await service.close()
    } else {
      const service = await serveHttp(server, { port, contextOf: () => context }).catch(
        (error: NodeJS.ErrnoException) => {
          throw error.code === 'EADDRINUSE'
            ? new UsageError(`Port ${port} is taken: name another, or 0 for any.`)
            : error
        },
      )
      terminal.note(`Serving MCP at ${service.url}`)
      await interrupted
      await service.close()
    }
    return interrupt.exitCode ?? 0
  } finally {
    interrupt.stop()
    server.close()
    await opened.close()
  }
}

function readPort(text: string | true): number {
  if (text === true) return DEFAULT_PORT
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port < 65_536) return port
  throw new UsageError(`--http takes a port from 0 to 65535, not '${printableLine(text)}'.`)
}
