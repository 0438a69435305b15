import { ConfigError } from '../../config/check-config.ts'
import { createLog } from '../../config/create-log.ts'
import { Installation } from '../../config/installation.ts'
import { serve as listen, ServeError } from '../../server/serve.ts'
import { openTelemetry } from '../../telemetry/open-telemetry.ts'
import { Prometheus } from '../../telemetry/prometheus.ts'
import type { GlobalOptions } from '../global-options.ts'
import { configFile, SWITCHED_OFF } from '../open-manager.ts'
import { packageVersion } from '../package-version.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface ServeOptions extends GlobalOptions {
  readonly host?: string
  readonly port?: string
}

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = '4747'

/** `toolyard serve`: the HTTP server, until it is ended. A second signal ends it at once. */
export async function serve(terminal: Terminal, options: ServeOptions): Promise<number> {
  const host = options.host ?? (process.env.TOOLYARD_HOST || DEFAULT_HOST)
  const port = readPort(options.port ?? (process.env.TOOLYARD_PORT || DEFAULT_PORT))
  const log = createLog(options.verbose ? 'info' : process.env.TOOLYARD_LOG || 'info', { buffered: true })
  const file = configFile(options.config)
  const version = packageVersion()
  const telemetry = await openTelemetry(process.env, { log, version })
  const prometheus = new Prometheus()
  const installation = await Installation.open({
    file,
    log,
    sinks: [prometheus, ...(telemetry ? [telemetry.sink] : [])],
    onRun: (run) => prometheus.run(run),
    ...(telemetry && { tracer: telemetry.tracer }),
  }).catch((error: unknown) => {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error
  })
  try {
    const server = await listen({ installation, host, port, prometheus, version }).catch((error: unknown) => {
      throw error instanceof ServeError ? new UsageError(`${error.message}.`, { cause: error }) : error
    })
    const ended = signalled()
    const reload = () => void installation.reload().catch((err: unknown) => refused(installation, err))
    process.on('SIGHUP', reload)
    introduce(terminal, server.url, installation, file)
    log.flush()
    await ended
    terminal.note('Ending: running calls may finish. Once more ends it at once.')
    process.off('SIGHUP', reload)
    await server.close()
    return 0
  } finally {
    await installation.close()
    await telemetry?.close()
    log.flush()
  }
}

function introduce(terminal: Terminal, url: string, { manager, callers }: Installation, file: string): void {
  const tools = manager.getRegistry().list().length
  const local = callers.size === 0
  if (terminal.json) {
    terminal.document({ url, tools, local, config: file })
    return
  }
  terminal.result(`Toolyard serves ${tools} tools at ${url}`)
  const more = [
    `  ${url}/         the page: tools and models in a browser`,
    `  ${url}/docs     what can be asked, and how`,
    `  ${url}/mcp      for MCP clients`,
    `  ${url}/v1       for OpenAI clients`,
    `  configuration: ${printableLine(file)}`,
  ]
  for (const line of more) terminal.note(line)
  if (local) {
    terminal.note('There are no keys yet, so it answers without one, and only to this machine.')
    terminal.note('"toolyard keys create" makes the first key; from then on every request needs one.')
  }
  if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
}

/** Settles at the first signal; at the second the process ends. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    let seen = false
    const listener = (): void => {
      if (seen) process.exit(1)
      seen = true
      resolve()
    }
    for (const name of ['SIGINT', 'SIGTERM']) process.on(name, listener)
  })
}

function refused({ log }: Installation, err: unknown): void {
  const problem = err instanceof Error ? err.message : String(err)
  log.error({ problem }, 'The configuration was not read again: the one of before still holds')
}

function readPort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port < 65_536) return port
  throw new UsageError(`The port must be a number from 0 to 65535, not '${printableLine(text)}'.`)
}
