import { packageVersion } from '../../../app/package-version.ts'
import type { Config } from '../../../config/config.ts'
import type { CallContext } from '../../../core/call-context.ts'
import { serveStdio } from '../../../mcp/server/serve-stdio.ts'
import type { ServedPart } from '../../../mcp/server/served-part.ts'
import { ToolServer } from '../../../mcp/server/tool-server.ts'
import { openManager, SWITCHED_OFF } from '../../common/open.ts'
import { readInteger } from '../../common/params.ts'
import { type GlobalOptions, Interrupt, type Terminal, UsageError } from '../../common/terminal.ts'
import { runServer } from '../serve.ts'

interface McpServeOptions extends GlobalOptions {
  /** True if `--http` has no port. */
  readonly http?: string | true
  /** The name of a server in `mcp.servers_out`. */
  readonly only?: string
}

/**
 * `toolyard mcp serve`: serves the tools until the client disconnects or a signal arrives. With `--http` it is
 * `toolyard serve`, which also has an MCP endpoint.
 */
export async function mcpServe(terminal: Terminal, options: McpServeOptions): Promise<number> {
  if (options.http !== undefined) {
    const port = options.http === true ? undefined : String(readInteger('--http', options.http, 0, 65_535))
    return runServer(terminal, { ...options, ...(port !== undefined && { port }) })
  }
  const { only } = options
  let part: ServedPart | undefined
  const change = (config: Config): Config => {
    const parts = config.mcp?.servers_out ?? {}
    if (only !== undefined && !Object.hasOwn(parts, only)) {
      const known = Object.keys(parts).join(', ') || 'none'
      throw new UsageError(`There is no server '${only}' in mcp.servers_out (known: ${known}).`)
    }
    part = only === undefined ? undefined : parts[only]
    return config
  }
  const opened = await openManager(terminal, options, { change })
  const { manager } = opened
  const context: CallContext = { ...opened.context, source: 'mcp' }
  const servers = manager.getMcpServers()
  const server = new ToolServer({
    registry: manager.getRegistry(),
    executor: manager.getExecutor(),
    version: packageVersion(),
    part,
    effectOf: ({ name }) => manager.getExecutor().effectOf(name),
    ...(servers.names.length > 0 && { library: servers.library }),
  })
  const interrupt = new Interrupt()
  const interrupted = new Promise<void>((resolve) => interrupt.signal.addEventListener('abort', () => resolve()))
  try {
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    const connection = serveStdio(server, { context, input: terminal.stdin, output: terminal.stdout })
    await Promise.race([connection.closed, interrupted])
    await connection.close()
    return interrupt.exitCode ?? 0
  } finally {
    interrupt.stop()
    server.close()
    await opened.close()
  }
}
