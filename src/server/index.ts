import { Installation, type InstallationOptions } from '../app/installation.ts'
import { packageVersion } from '../app/package-version.ts'
import { withTools } from '../config/bounded-config.ts'
import type { Config } from '../config/config.ts'
import { checkNumber, checkObject } from '../core/check-options.ts'
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

const OPTIONS: Readonly<Record<keyof ServeOptions, true>> = {
  ...{ tools: true, config: true, log: true, env: true, host: true, port: true, insecureLocal: true },
}

export interface Server extends AsyncDisposable {
  readonly url: string
  /** Ends running requests, closes connections and the database. */
  close(): Promise<void>
}

/** Serves tools over HTTP and MCP, like `toolyard serve`: on 127.0.0.1:4747 by default. */
export async function serve(options: ServeOptions = {}): Promise<Server> {
  checkObject('serve', options, OPTIONS)
  const { tools = [], config = {}, log = silentLog, env, host = '127.0.0.1', port = 4747, insecureLocal } = options
  checkNumber('serve', 'port', port, { integer: true, min: 0, max: 65_535 })
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
