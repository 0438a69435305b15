import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { hashApiKey, SCOPES } from '../../app/callers/callers.ts'
import { Installation } from '../../app/installation.ts'
import { packageVersion } from '../../app/package-version.ts'
import { createLog } from '../../app/tools/create-log.ts'
import { ConfigError } from '../../config/check-config.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { counted } from '../../core/schema/problem-words.ts'
import type { StoredKey } from '../../core/storage/key-store.ts'
import { ServeError, serve } from '../../server/serve.ts'
import { openTelemetry } from '../../telemetry/open-telemetry.ts'
import { Prometheus } from '../../telemetry/prometheus.ts'
import { commandUser, configFile, lockFile, SWITCHED_OFF } from '../common/open.ts'
import { readInteger } from '../common/params.ts'
import { actions, type Done, type GlobalOptions, Interrupt, type Terminal, UsageError } from '../common/terminal.ts'
import { announceTools, describeServer, readableLog } from './serve-terminal.ts'

const HELP = `
Without any keys the server accepts requests from this machine only, and needs no key. From the first key on, every
request needs one. TOOLYARD_ADMIN_KEY, or the file in
TOOLYARD_ADMIN_KEY_FILE, sets the first key. SIGHUP reloads the configuration.

Examples:
  $ toolyard serve
  $ toolyard keys create --tenant acme --name ci --role operator
  $ TOOLYARD_DATABASE_URL=postgres://… toolyard serve --host 0.0.0.0`

export function defineServe(serve: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  serve
    .option('--host <address>', 'address to listen on (default: TOOLYARD_HOST, else 127.0.0.1)')
    .option('--port <port>', 'port to listen on, 0 for any free port (default: TOOLYARD_PORT, else 4747)')
    .option('--insecure-local', 'accept requests from this machine without a key, even if there are keys')
    .addHelpText('after', HELP)
    .action(run(runServer))
}

interface ServeOptions extends GlobalOptions {
  readonly host?: string
  readonly port?: string
  readonly insecureLocal?: boolean
}

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = '4747'
/** The server listens first. */
const WARM_AFTER_MS = 100
const MIN_KEY_LENGTH = 32
const SIGTERM_EXIT = 143

/** `toolyard serve`: the HTTP server, until a signal stops it. A second signal exits immediately. */
export async function runServer(terminal: Terminal, options: ServeOptions): Promise<number> {
  const host = options.host ?? (terminal.env.TOOLYARD_HOST || DEFAULT_HOST)
  const port = readInteger('--port', options.port ?? (terminal.env.TOOLYARD_PORT || DEFAULT_PORT), 0, 65_535)
  const level = options.verbose ? 'info' : terminal.env.TOOLYARD_LOG || 'info'
  const log = createLog(level, terminal.stderr.isTTY ? { stream: readableLog(terminal) } : { buffered: true })
  const file = configFile(terminal, options.config)
  const version = packageVersion()
  const telemetry = await openTelemetry(terminal.env, { log, version })
  const prometheus = new Prometheus()
  const installation = await Installation.open({
    file,
    packages: lockFile(terminal, options.config),
    log,
    env: terminal.env,
    sinks: [prometheus, ...(telemetry ? [telemetry.sink] : [])],
    onRun: (run) => prometheus.run(run),
    ...(telemetry && { tracer: telemetry.tracer }),
  }).catch((error: unknown) => {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error
  })
  let interrupt: Interrupt | undefined
  let stopTelling: (() => void) | undefined
  try {
    await createFirstKey(terminal, installation)
    const { insecureLocal = false } = options
    const server = await serve({ installation, host, port, prometheus, version, insecureLocal }).catch(
      (error: unknown) => {
        throw error instanceof ServeError ? new UsageError(`${error.message}.`, { cause: error }) : error
      },
    )
    interrupt = new Interrupt()
    const reload = () => void installation.reload().catch((err: unknown) => refused(installation, err))
    process.on('SIGHUP', reload)
    if (terminal.watched && !terminal.json) {
      stopTelling = announceTools(terminal, installation)
      await describeServer(terminal, { url: server.url, installation, file, insecureLocal })
    } else introduce(terminal, server.url, installation, file, insecureLocal)
    log.flush()
    const warming = setTimeout(() => void installation.manager.warm(), WARM_AFTER_MS).unref()
    await once(interrupt.signal, 'abort')
    clearTimeout(warming)
    log.info({}, 'Stopping after the running calls. A second signal (Ctrl-C) stops now.')
    log.flush()
    process.off('SIGHUP', reload)
    // Nothing balances the load of a server that only this machine can reach.
    await server.close({ drain: interrupt.exitCode === SIGTERM_EXIT && installation.callers.keyed })
    return 0
  } finally {
    stopTelling?.()
    await installation.close()
    await telemetry?.close()
    log.flush()
    interrupt?.stop()
  }
}

async function readFirstKey(env: Terminal['env']): Promise<readonly [variable: string, key: string | undefined]> {
  const { TOOLYARD_ADMIN_KEY: key, TOOLYARD_ADMIN_KEY_FILE: file } = env
  if (!file) return ['TOOLYARD_ADMIN_KEY', key]
  if (key) throw new UsageError('Set TOOLYARD_ADMIN_KEY or TOOLYARD_ADMIN_KEY_FILE, not both.')
  try {
    return ['The file in TOOLYARD_ADMIN_KEY_FILE', (await readFile(file, 'utf8')).trim() || ' ']
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`TOOLYARD_ADMIN_KEY_FILE: ${JSON.stringify(file)} cannot be read (${code}).`)
  }
}

/** `TOOLYARD_ADMIN_KEY`, or the content of `TOOLYARD_ADMIN_KEY_FILE`, becomes the first key, of an admin of all tenants. It does nothing once a key exists. */
export async function createFirstKey(
  { env }: Pick<Terminal, 'env'>,
  { callers, storage, clock, access }: Installation,
): Promise<void> {
  if (callers.hasKeys) return
  const [variable, key] = await readFirstKey(env)
  if (!key) return
  if (key.length < MIN_KEY_LENGTH || /[^\x21-\x7e]/.test(key)) {
    throw new UsageError(`${variable} takes at least ${MIN_KEY_LENGTH} visible ASCII characters.`)
  }
  const stored: StoredKey = {
    id: randomUUID(),
    hash: hashApiKey(key),
    tenant: LOCAL_TENANT,
    name: 'TOOLYARD_ADMIN_KEY',
    role: 'admin',
    scopes: SCOPES,
    tools: null,
    models: null,
    calls_per_minute: null,
    created_at: new Date(clock.wall()).toISOString(),
    expires_at: null,
    revoked_at: null,
    created_by: null,
  }
  try {
    await access.createKey(stored, commandUser())
    await callers.load(storage.keys)
  } catch (error) {
    // Another server that started at the same time may have created it.
    await callers.load(storage.keys)
    if (callers.find(key) === undefined) throw error
  }
}

function introduce(
  terminal: Terminal,
  url: string,
  { manager, callers, log }: Installation,
  file: string,
  insecureLocal: boolean,
): void {
  const tools = manager.getRegistry().list().length
  const local = insecureLocal || !callers.keyed
  if (terminal.json) {
    terminal.document({ url, tools, local, config: file })
    return
  }
  terminal.result(`Toolyard serves ${counted(tools, 'tool')} at ${url}`)
  // stderr has the log, for programs: one JSON record per line and nothing else.
  log.info({ url, tools, config: file }, 'The server is listening')
  if (!manager.isEnabled()) log.warn({}, SWITCHED_OFF)
}

function refused({ log }: Installation, err: unknown): void {
  const problem = err instanceof Error ? err.message : String(err)
  log.error({ problem }, 'The configuration was not reloaded: the previous one stays in use')
}
