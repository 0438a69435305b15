import type { CallContext } from '../../../core/call-context.ts'
import { serveHttp } from '../../../mcp/server/http/http-handler.ts'
import { serveStdio } from '../../../mcp/server/serve-stdio.ts'
import { ToolServer } from '../../../mcp/server/tool-server.ts'
import { openManager, SWITCHED_OFF } from '../../common/open.ts'
import { readInteger } from '../../common/params.ts'
import { type GlobalOptions, Interrupt, packageVersion, type Terminal, UsageError } from '../../common/terminal.ts'

interface McpServeOptions extends GlobalOptions {
  /** True if `--http` has no port. */
  readonly http?: string | true
}

const DEFAULT_PORT = '4747'

/** `toolyard mcp serve`: serves the tools until the client disconnects or a signal arrives. */
export async function mcpServe(terminal: Terminal, options: McpServeOptions): Promise<number> {
  const port = readPort(options.http)
  const opened = await openManager(terminal, options)
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
      const connection = serveStdio(server, { context, input: terminal.stdin, output: terminal.stdout })
      await Promise.race([connection.closed, interrupted])
      await connection.close()
    } else {
      const service = await serveHttp(server, { port, contextOf: () => context }).catch(
        (error: NodeJS.ErrnoException) => {
          throw error.code === 'EADDRINUSE'
            ? new UsageError(`Port ${port} is in use: choose another, or 0 for any free port.`)
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

const readPort = (http: string | true | undefined): number | undefined =>
  http === undefined ? undefined : readInteger('--http', http === true ? DEFAULT_PORT : http, 0, 65_535)
