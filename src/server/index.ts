import { Installation, type InstallationOptions } from '../app/installation.ts'
import { packageVersion } from '../app/package-version.ts'
import { withTools } from '../config/bounded-config.ts'
import type { Config } from '../config/config.ts'
import { boolean, type Checks, checkAll, isRecord, logger, must, nonEmpty, number } from '../core/check-options.ts'
import { silentLog } from '../core/log.ts'
import { Prometheus } from '../telemetry/prometheus.ts'
import { type ServeOptions as ListenOptions, serve as serveInstallation } from './serve.ts'

export * from '../underneath.ts'

export interface ServeOptions extends Partial<Pick<ListenOptions, 'host' | 'port' | 'insecureLocal'>> {
  /** Tools in code, besides those of the configuration. */
  readonly tools?: InstallationOptions['tools']
  /** A configuration, or the name of its file. */
  readonly config?: Config | string
  /** Nothing is logged by default. */
  readonly log?: InstallationOptions['log']
  /** Replaces `process.env`; `TOOLYARD_DATA` is the folder of the database. */
  readonly env?: InstallationOptions['env']
}

const OPTIONS: Checks<ServeOptions> = {
  tools: must('an array, such as [forecast]', Array.isArray),
  config: must('a configuration or the name of its file', (value) => typeof value === 'string' || isRecord(value)),
  port: number({ integer: true, min: 0, max: 65_535 }),
  ...{ log: logger, env: must('an object', (value) => typeof value === 'object' && value !== null) },
  ...{ host: nonEmpty, insecureLocal: boolean },
}

export interface Server extends AsyncDisposable {
  readonly url: string
  /** Ends running requests, closes connections and the database. */
  close(): Promise<void>
}

/** Serves tools over HTTP and MCP, like `toolyard serve`: on 127.0.0.1:4747 by default. */
export async function serve(options: ServeOptions = {}): Promise<Server> {
  checkAll('serve', options, OPTIONS)
  const { tools = [], config = {}, log = silentLog, env, host = '127.0.0.1', port = 4747, insecureLocal } = options
  const prometheus = new Prometheus()
  const installation = await Installation.open({
    ...(typeof config === 'string' ? { file: config } : { config: withTools(config) }),
    tools,
    log,
    sinks: [prometheus],
    ...(env && { env }),
  })
  try {
    const listen = { installation, host, port, prometheus, version: packageVersion() }
    const { url, close: stop } = await serveInstallation({ ...listen, ...(insecureLocal && { insecureLocal }) })
    const close = async (): Promise<void> => {
      await stop()
      await installation.close()
    }
    return { url, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await installation.close()
    throw error
  }
}
