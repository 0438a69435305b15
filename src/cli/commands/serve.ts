import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { hashApiKey } from '../../app/callers/callers.ts'
import { Installation } from '../../app/installation.ts'
import { packageVersion } from '../../app/package-version.ts'
import { createLog } from '../../app/tools/create-log.ts'
import type { ToolManager } from '../../app/tools/tool-manager.ts'
import { ConfigError } from '../../config/check-config.ts'
import { ADMIN_SCOPES } from '../../config/roles.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { counted } from '../../core/schema/problem-words.ts'
import type { StoredKey } from '../../core/storage/key-store.ts'
import { ServeError, serve } from '../../server/serve.ts'
import { openTelemetry } from '../../telemetry/open-telemetry.ts'
import { Prometheus } from '../../telemetry/prometheus.ts'
import { CONFIG_NAME, commandUser, configFile, lockFile, SWITCHED_OFF, shippedConfig } from '../common/open.ts'
import { readInteger } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  Interrupt,
  printableLine,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

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
    // The shipped configuration is never changed.
    setupFile: file === shippedConfig ? terminal.path(CONFIG_NAME) : file,
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
    scopes: [...ADMIN_SCOPES, 'installation'],
    tools: null,
    models: null,
    calls_per_minute: null,
    created_at: new Date(clock.wall()).toISOString(),
    expires_at: null,
    revoked_at: null,
    created_by: null,
  }
  // Another server that started at the same time may have created the first key.
  await access.createKey(stored, commandUser(), 'first')
  await callers.load(storage.keys)
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

type Fields = Readonly<Record<string, unknown>>

/** Left out of the lines: the JSON log has them. */
const UNSHOWN = new Set(['level', 'time', 'msg', 'timestamp', 'params', 'result', 'stack', 'success', 'hash'])
const [WARN, ERROR] = [40, 50]

/** Turns the records of the log, JSON in lines, into short lines for a person. */
export function readableLog(terminal: Terminal): Writable {
  return new Writable({
    decodeStrings: false,
    write(records: string, _, done) {
      for (const record of String(records).split('\n')) if (record !== '') terminal.note(lineOf(terminal, record))
      done()
    },
  })
}

function lineOf(terminal: Terminal, record: string): string {
  const fields = JSON.parse(record) as Fields
  const level = Number(fields.level)
  const time = new Date(Number(fields.time)).toTimeString().slice(0, 8)
  const mark = level >= ERROR ? 'error ' : level >= WARN ? 'warn ' : ''
  const colour = level >= ERROR ? 'red' : 'yellow'
  const isCall = typeof fields.tool === 'string' && typeof fields.execution_time_ms === 'number'
  const text = printableLine(isCall ? callText(fields) : `${fields.msg}${detailsOf(fields)}`)
  const room = Math.max(20, (terminal.stderr.columns || 80) - time.length - mark.length - 1)
  const fitting = text.length > room ? `${text.slice(0, room - 1)}…` : text
  return `${terminal.styleNote('dim', time)} ${mark && terminal.styleNote(colour, mark)}${fitting}`
}

function callText({ tool, tenant, execution_time_ms, error_code, error }: Fields): string {
  const whose = tenant === 'local' ? '' : ` (${tenant})`
  const failure = error_code === undefined ? '' : `: ${error_code}, ${error}`
  return `${tool}${whose} ${execution_time_ms} ms${failure}`
}

function detailsOf(fields: Fields): string {
  const shown = Object.entries(fields).filter(([name, value]) => !UNSHOWN.has(name) && value !== undefined)
  return shown.map(([name, value]) => ` ${name}=${valueText(value)}`).join('')
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  const { message } = Object(value) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(value)
}

interface Introduction {
  readonly url: string
  readonly installation: Installation
  readonly file: string
  readonly insecureLocal: boolean
}

/** What a person sees when the server starts. */
export async function describeServer(terminal: Terminal, about: Introduction): Promise<void> {
  const { url, installation, file, insecureLocal } = about
  const { manager, callers, storage, folder, env } = installation
  terminal.result(`${terminal.style('bold', `Toolyard ${packageVersion()}`)} ${terminal.style('cyan', url)}\n`)
  const line = (name: string, text: string) =>
    terminal.result(`  ${terminal.style('dim', name.padEnd(9))}${printableLine(text)}`)
  line('web UI', `${url}/`)
  line('docs', `${url}/guide`)
  line('API', `${url}/docs, ${url}/mcp (MCP), ${url}/v1 (OpenAI)`)
  for (const [index, origin] of originsOf(manager).entries()) line(index === 0 ? 'tools' : '', origin)
  const { engine } = await storage.status()
  line('storage', engine === 'sqlite' ? `SQLite in ${folder}` : `PostgreSQL at ${hostOf(env.TOOLYARD_DATABASE_URL)}`)
  if (insecureLocal) line('keys', 'not needed from this machine (--insecure-local)')
  else if (callers.keyed) line('keys', 'every request needs one')
  else line('keys', 'none yet: requests must come from this machine. Create one with "toolyard keys create".')
  line('config', file)
  // Opening the providers takes longest.
  line('models', await modelsOf(manager))
  terminal.result('')
}

function originsOf(manager: ToolManager): string[] {
  if (!manager.isEnabled()) return [SWITCHED_OFF]
  const servers = manager.getMcpStatus()
  const all = manager.getRegistry().definitions()
  const own = all.filter(({ implementation }) => implementation.type !== 'mcp').length
  return [`${own} of the configuration`, ...servers.map(originOf)]
}

function originOf({ name, state, tools, problem }: ReturnType<ToolManager['getMcpStatus']>[number]): string {
  // Tools are registered before the connection counts as established.
  if (state === 'connected' || (state === 'connecting' && tools.length > 0))
    return `${tools.length} of MCP server ${name}`
  return `MCP server ${name}: ${state.replace('_', ' ')}${problem === undefined ? '' : ` (${problem})`}`
}

/** Without user and password. */
const hostOf = (address = ''): string => {
  const url = URL.parse(address)
  return url === null ? 'the address in TOOLYARD_DATABASE_URL' : `${url.host}${url.pathname}`
}

async function modelsOf(manager: ToolManager): Promise<string> {
  const catalogue = await manager.getModels()
  const ids = catalogue.list().map(({ id }) => id)
  const available = ids.filter((id) => catalogue.availability(id).available !== false)
  const lacking = ids.length - available.length
  const more = lacking === 0 ? '' : ` (${counted(lacking, 'model')} not available: see "toolyard models")`
  return `${available.join(', ') || 'none'}${more}`
}

const SETTLE_MS = 100

/** Writes a line when the tools of an MCP server join or change. Returns a function that stops it. */
export function announceTools(terminal: Terminal, installation: Installation): () => void {
  let known = new Map<string, string>()
  let timer: (() => void) | undefined
  let stopListening: (() => void) | undefined
  const states = () => new Map(installation.manager.getMcpStatus().map((status) => [status.name, originOf(status)]))
  const tell = () => {
    timer = undefined
    const before = known
    known = states()
    for (const [name, text] of known) if (before.get(name) !== text) terminal.note(printableLine(`Tools: ${text}`))
  }
  const listen = () => {
    stopListening?.()
    stopListening = installation.manager.getRegistry().onChange(() => {
      // A server registers its tools one by one.
      timer ??= installation.clock.after(SETTLE_MS, tell)
    })
  }
  known = states()
  listen()
  const stopReloads = installation.onReload(listen)
  return () => {
    timer?.()
    stopListening?.()
    stopReloads()
  }
}
