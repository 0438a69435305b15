import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Actor, AuditEvents, EventName, EventParts } from '../../app/callers/audit-events.ts'
import { Tenants } from '../../app/callers/tenants.ts'
import type { Installation, InstallationOptions } from '../../app/installation.ts'
import { createLog } from '../../app/tools/create-log.ts'
import type { LoadReport } from '../../app/tools/load-definitions.ts'
import { ToolManager } from '../../app/tools/tool-manager.ts'
import type { Config } from '../../config/config.ts'
import { connectionProblem } from '../../config/connection-config.ts'
import { ConfigError, LOCK_NAME, type LoadConfigOptions, loadConfigFile } from '../../config/load-config.ts'
import { type McpReading, mcpEntries, readMcpServers } from '../../config/mcp-settings.ts'
import { type CallContext, NO_ACCOUNTS, type UserAccounts } from '../../core/call-context.ts'
import { systemClock } from '../../core/clock.ts'
import { dataFolder, keepSourced, secretVariable } from '../../core/environment.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import type { Log } from '../../core/log.ts'
import type { OnceStore } from '../../core/once-store.ts'
import { InTurn } from '../../core/operation/in-turn.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import type { PauseStore } from '../../core/storage/pause-store.ts'
import { suggest } from '../../core/suggest.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { McpConnection } from '../../mcp/client/mcp-connection.ts'
import { PinFile, type PinStore } from '../../mcp/client/pinned-tools.ts'
import type { StoreHost } from '../../operations/operation.ts'
import type { Storage } from '../../storage/sql/engine.ts'
import { type GlobalOptions, printableLine, type Terminal, UsageError } from './terminal.ts'

/** The file name of a configuration. */
export const CONFIG_NAME = 'toolyard.config.json'

/** Shown when the configuration does not enable tools. */
export const SWITCHED_OFF = 'Tools are disabled: set "tools": {"enabled": true} in the configuration.'

/** The configuration that ships with the package. */
export const shippedConfig = fileURLToPath(new URL(`../../../${CONFIG_NAME}`, import.meta.url))

/** How long a command waits for optional MCP servers, and for the server that it is about. */
export const SHORT_WAIT_MS = 5_000
export const LONG_WAIT_MS = 30_000

/** Commands never delete old records: only the server knows how long to keep them. */
const KEEP_DAYS = 36_500

/** A manager with its tools loaded. */
export interface OpenManager {
  readonly manager: ToolManager
  readonly config: Config
  readonly handlers: ToolHandlers
  readonly report: LoadReport
  /** MCP servers that cannot be started, for example because a variable is not set. */
  readonly leftOut: McpReading['skipped']
  /** True when the configuration is the shipped one because this folder has none. */
  readonly fallback: boolean
  /** The context for calls by the user of this machine. */
  readonly context: CallContext
  /** Absent without a store. */
  readonly installation?: Installation
  /** The approved tools of MCP servers. */
  readonly pins: PinStore
  close(): Promise<void>
}

interface OpenOptions extends LoadConfigOptions {
  /** Changes the configuration before it is used. */
  readonly change?: (config: Config) => Config
  /** False: calls are not recorded even if there is a store. `always`: a store is created if there is none. */
  readonly record?: boolean | 'always'
  /** The command calls no tool, so tools that need approval need no store. */
  readonly lists?: boolean
  /** Instead of the log on stderr. */
  readonly log?: Log
}

/** The configuration file: `--config`, else TOOLYARD_CONFIG, else the one in this folder, else the shipped one. */
export function configFile({ env, path }: Terminal, option: string | undefined): string {
  if (option === '') throw new UsageError('--config needs a file name, but got an empty string.')
  const named = option ?? (env.TOOLYARD_CONFIG || undefined)
  if (named !== undefined) return path(named)
  const here = path(CONFIG_NAME)
  return existsSync(here) ? here : shippedConfig
}

/** The file that lists the packages: beside the configuration, or in this folder if that is the shipped one. */
export function lockFile(terminal: Terminal, option: string | undefined): string {
  const file = configFile(terminal, option)
  return file === shippedConfig ? terminal.path(LOCK_NAME) : join(dirname(file), LOCK_NAME)
}

/** Reads a configuration file. An invalid one is a usage error. */
export async function readConfig(file: string, options?: LoadConfigOptions): Promise<Config> {
  try {
    return (await loadConfigFile(file, options)).config
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error
  }
}

/** Reads the stored secrets that a configuration refers to, for commands that open no installation. */
export async function keepSecrets(terminal: Terminal, options: GlobalOptions, config: Config): Promise<void> {
  if (!hasStore(terminal) || !JSON.stringify(config).includes(`\${${secretVariable('')}`)) return
  const [{ storedVariables }, { TextSeal }] = await Promise.all([
    import('../../app/secrets.ts'),
    import('../../app/durable/sealed-text.ts'),
  ])
  const parts = { seal: TextSeal.from(terminal.env), log: openLog(terminal, options) }
  const variables = await withStore(terminal, options, ({ settings }) => storedVariables({ ...parts, settings }))
  for (const [name, value = ''] of Object.entries(variables)) keepSourced(name, value)
}

/** Loads the configuration and its tools. The caller closes the manager. */
export async function openManager(
  terminal: Terminal,
  options: GlobalOptions,
  { change = (config) => config, record = true, lists = false, log, secrets = true }: OpenOptions = {},
): Promise<OpenManager> {
  const file = configFile(terminal, options.config)
  const read = await readConfig(file, { secrets })
  if (secrets) await keepSecrets(terminal, options, read)
  const config = change(read)
  const started = await startManager(terminal, config, options, { record, lists, ...(log && { log }) })
  const { skipped: leftOut } = readMcpServers(config, terminal.env, terminal.cwd)
  return { ...started, config, leftOut, fallback: file === shippedConfig && !existsSync(terminal.path(CONFIG_NAME)) }
}

/** Runs work on the installation, which is closed afterwards. */
export async function withInstallation<T>(
  terminal: Terminal,
  options: GlobalOptions,
  work: (installation: Installation) => Promise<T>,
  open?: OpenOptions,
): Promise<T> {
  const { installation, close } = await openManager(terminal, options, open)
  try {
    if (installation === undefined) throw new UsageError('The store could not be opened.')
    return await work(installation)
  } finally {
    await close()
  }
}

interface StartOptions {
  readonly record?: OpenOptions['record']
  readonly lists?: boolean
  readonly log?: Log
  readonly handlers?: ToolHandlers
}

/**
 * Loads the tools of a configuration. If there is a store, calls are recorded in it unless `record` is false. Calls of
 * tools that need approval create it, and so do calls under budgets.
 */
export async function startManager(
  terminal: Terminal,
  config: Config,
  options: GlobalOptions,
  { record = false, lists = false, handlers = new ToolHandlers(), log = openLog(terminal, options) }: StartOptions = {},
): Promise<Omit<OpenManager, 'config' | 'leftOut' | 'fallback'>> {
  const { env } = terminal
  const packages = lockFile(terminal, options.config)
  const parts = { config, handlers, log, env, packages }
  const asks = config.tools?.registry?.some((one) => Object.hasOwn(Object(one), 'approval'))
  const isCounted = config.budgets !== undefined && config.budgets.length > 0
  const needsStore = record === 'always' || hasStore(terminal) || ((asks || isCounted) && !lists)
  const installation = record && needsStore ? await install(terminal, parts) : undefined
  if (installation !== undefined) {
    const { manager, pins } = installation
    const context = installation.localContext('cli')
    const report = await manager.loadTools()
    return { manager, handlers, report, context, pins, installation, close: () => installation.close() }
  }
  const knowledge = commandKnowledge(terminal, log)
  const stores = lists && {
    ...{ once: NO_RESULTS, approvals: { pauses: {} as PauseStore } },
    accounts: await checkedAccounts(config, env),
  }
  const manager = new ToolManager(config, { ...parts, knowledge: knowledge.open, ...stores })
  const tenants = new Tenants()
  tenants.configure(config)
  const context = { source: 'cli', oneCaller: true, flags: tenants.flags(LOCAL_TENANT) } as const
  const close = async () => {
    await manager.close()
    await knowledge.close()
  }
  return { manager, handlers, report: await manager.loadTools(), context, pins: new PinFile(dataFolder(env)), close }
}

const unused = () => Promise.reject(new Error('A command that only lists tools called one'))
/** For commands that call no tool, so that tools that need approval aren't broken. */
const NO_RESULTS: OnceStore = { claim: unused, look: unused, settle: unused, release: unused }

/** Checks that tools can use accounts of users. No call is made, so no account is used. */
async function checkedAccounts({ connections }: Config, env: Terminal['env']): Promise<UserAccounts> {
  const [{ NO_KEY }, { TextSeal }] = await Promise.all([
    import('../../app/connections/connections.ts'),
    import('../../app/durable/sealed-text.ts'),
  ])
  const refuse = () => Promise.reject(new Error(NO_ACCOUNTS))
  const keyProblem = (): string | undefined => {
    try {
      return TextSeal.from(env).keyId === undefined ? NO_KEY : undefined
    } catch (error) {
      return (error as Error).message
    }
  }
  return {
    problem: (provider, url) => keyProblem() ?? connectionProblem(provider, url, connections),
    require: refuse,
    token: refuse,
  }
}

/** Opens the installation. A store that cannot be opened does not fail the command: stderr says so. */
async function install(terminal: Terminal, options: InstallationOptions): Promise<Installation | undefined> {
  try {
    const { Installation } = await import('../../app/installation.ts')
    return await Installation.open(options)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    terminal.note(printableLine(`Calls are not recorded: ${reason}`))
    return undefined
  }
}

/** Opens the documents of commands without an installation. Searching creates no store, ingesting does. */
function commandKnowledge(terminal: Terminal, log: Log) {
  let storage: Promise<Storage> | undefined
  return {
    /** Undefined if there is nothing to search. */
    async open(use: 'read' | 'write'): Promise<KnowledgeStore | undefined> {
      if (use === 'write') {
        storage ??= openStore(terminal, log).catch((error: unknown) => {
          storage = undefined
          throw error
        })
      }
      return (await storage)?.knowledge
    },
    close: async () => (await storage)?.close(),
  }
}

/** Removes the MCP servers from a configuration, so that a command that needs none starts none. */
export const withoutServers = (config: Config): Config => ({ ...config, mcpServers: {}, servers: {} })

/** Creates the log, which is silent unless asked for: commands report problems in their own words. */
export function openLog({ env, stderr }: Terminal, options: GlobalOptions): Log {
  try {
    return createLog(options.verbose ? 'info' : env.TOOLYARD_LOG || 'silent', { stream: stderr })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** Whether there is a store: one that `toolyard serve` or `toolyard keys` created, or TOOLYARD_DATABASE_URL. */
export const hasStore = ({ env }: Terminal): boolean =>
  Boolean(env.TOOLYARD_DATABASE_URL) || existsSync(join(dataFolder(env), 'toolyard.db'))

async function openStore({ env }: Terminal, log: Log): Promise<Storage> {
  const { openStorage } = await import('../../storage/open-storage.ts')
  const { TOOLYARD_DATABASE_URL: url, TOOLYARD_AUDIT_KEY: auditKey, TOOLYARD_AUDIT_HEADS: headsFile } = env
  const options = { folder: dataFolder(env), instance: randomUUID(), keepDays: KEEP_DAYS }
  const given = { ...(url && { url }), ...(auditKey && { auditKey }), ...(headsFile && { headsFile }) }
  return openStorage({ ...options, ...given }, { log })
}

/** Runs work on the store, which is created if it does not exist. */
export async function withStore<T>(
  terminal: Terminal,
  options: GlobalOptions,
  work: (storage: Storage) => Promise<T>,
): Promise<T> {
  const storage = await openStore(terminal, openLog(terminal, options))
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

/** The user of this machine, who runs the command. */
export function commandUser(): Actor {
  try {
    return { id: LOCAL_TENANT, name: userInfo().username, source: 'cli' }
  } catch {
    // A container may run as a user that has no name.
    return { id: LOCAL_TENANT, name: `uid ${process.getuid?.()}`, source: 'cli' }
  }
}

const AUDIT_TIMEOUT_MS = 5_000

/** The configuration, without its secrets: they need not be set. */
export const currentConfig = (terminal: Terminal, options: GlobalOptions): Promise<Config> =>
  readConfig(configFile(terminal, options.config), { secrets: false })

/** Runs an operation that needs only the store. */
export function withStoreHost<T>(
  terminal: Terminal,
  options: GlobalOptions,
  work: (host: StoreHost) => Promise<T>,
): Promise<T> {
  return withEvents(terminal, options, async (events, _by, storage) => {
    const [{ Access }, { Secrets }, { TextSeal }] = await Promise.all([
      import('../../app/callers/audit-events.ts'),
      import('../../app/secrets.ts'),
      import('../../app/durable/sealed-text.ts'),
    ])
    const { env } = terminal
    return work({
      ...{ storage, events, access: new Access(storage, events), clock: systemClock, env, changes: new InTurn() },
      // Only commands that use secrets fail if the encryption key isn't valid.
      get secrets() {
        const { settings } = storage
        return new Secrets({ settings, seal: TextSeal.from(env), events, log: openLog(terminal, options) })
      },
      currentConfig: () => currentConfig(terminal, options),
      settle: async () => {},
    })
  })
}

/** Records in the audit log what a command has changed elsewhere, if there is a store. */
export async function recordEvent(
  terminal: Terminal,
  options: GlobalOptions,
  event: EventName,
  parts: EventParts,
): Promise<void> {
  if (!hasStore(terminal)) return
  try {
    await withEvents(terminal, options, async (events, by) => events.record(event, { by, ...parts }))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    terminal.note(printableLine(`The change was not recorded in the audit log: ${reason}`))
  }
}

/** Runs work that the audit log records. */
export async function withEvents<T>(
  terminal: Terminal,
  options: GlobalOptions,
  work: (events: AuditEvents, by: Actor, storage: Storage) => Promise<T>,
): Promise<T> {
  const [{ AuditEvents }, { LedgerSink }] = await Promise.all([
    import('../../app/callers/audit-events.ts'),
    import('../../storage/ledger/ledger-sink.ts'),
  ])
  const around = { clock: systemClock, log: openLog(terminal, options) }
  return withStore(terminal, options, async (storage) => {
    const sink = new LedgerSink(storage.ledger, around)
    const events = new AuditEvents({ write: (entry) => sink.event(entry), ...around })
    try {
      return await work(events, commandUser(), storage)
    } finally {
      await sink.close(AUDIT_TIMEOUT_MS)
      if (sink.dropped > 0) terminal.note('The change was not recorded in the audit log: the store did not accept it.')
    }
  })
}

/** Runs work that only reads. Without a store it creates none and returns `nothing`. */
export function readStore<T>(
  terminal: Terminal,
  options: GlobalOptions,
  work: (storage: Storage) => Promise<T>,
  nothing: T,
): Promise<T> {
  return hasStore(terminal) ? withStore(terminal, options, work) : Promise.resolve(nothing)
}

/** A manager whose only MCP server is the named one. */
export interface OpenServer extends OpenManager {
  readonly connection: McpConnection
}

/** Loads the configuration with one of its MCP servers. The caller closes the manager. */
export async function openServer(terminal: Terminal, asked: string, options: GlobalOptions): Promise<OpenServer> {
  let name = asked
  const change = (config: Config): Config => {
    const entry = findServer(terminal, config, asked)
    name = entry.name
    return { ...config, mcpServers: { [entry.key]: entry.server }, servers: {} }
  }
  const opened = await openManager(terminal, options, { change })
  return { ...opened, connection: opened.manager.getMcpServers().connection(name) }
}

/** Finds a usable MCP server by its key or its name. */
export function findServer({ env, cwd }: Terminal, config: Config, asked: string) {
  const entries = mcpEntries(config)
  const entry = entries.find(({ name, key }) => asked === name || asked === key)
  if (entry === undefined) {
    const names = entries.map(({ name }) => name)
    const near = suggest(asked, names)
    const hint = near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
    const known = names.length === 0 ? 'Add servers to mcpServers.' : `Known: ${names.join(', ')}.`
    throw new UsageError(printableLine(`There is no MCP server '${asked}'.${hint} ${known}`))
  }
  const { disabled, skipped } = readMcpServers(config, env, cwd)
  if (disabled.includes(entry.name)) {
    throw new UsageError(`MCP server '${entry.name}' is disabled: remove "disabled" from ${entry.place}.`)
  }
  const lack = skipped.find(({ name }) => name === entry.name)
  if (lack === undefined) return entry
  throw new UsageError(printableLine(`MCP server '${entry.name}' cannot be used: ${lack.problem}.`))
}

interface Wait {
  /** How long to wait for servers whose first attempt failed. Those in their first attempt get `LONG_WAIT_MS`. */
  readonly ms: number
  /** Ends the wait early; asked again each time a tool is registered. */
  readonly enough?: () => boolean
  readonly signal?: AbortSignal
  /** Told which servers are slow. */
  readonly terminal?: Terminal
}

const SLOW_MS = 2_000
const LOOK_MS = 100

/** Waits until every MCP server has connected or failed, until there is enough, or until the time is over. */
export async function awaitServers(manager: ToolManager, { ms, enough, signal, terminal }: Wait): Promise<void> {
  const servers = manager.getMcpServers()
  if (!manager.isEnabled() || servers.names.length === 0) return
  const connections = servers.names.map((name) => servers.connection(name))
  const starting = () => connections.filter(({ connected, failure }) => !connected && failure === undefined)
  const startedMs = systemClock.now()
  let settled = false
  void servers.start().then(() => {
    settled = true
  })
  for (let told = false; !settled && !signal?.aborted && !enough?.(); ) {
    const waited = systemClock.now() - startedMs
    const slow = starting()
    if (waited >= (slow.length > 0 ? Math.max(ms, LONG_WAIT_MS) : ms)) return
    if (!told && waited >= SLOW_MS && slow.length > 0) {
      told = true
      const names = slow.map(({ settings }) => `'${settings.name}'`).join(', ')
      terminal?.note(
        printableLine(`Waiting up to ${LONG_WAIT_MS / 1_000} s for MCP servers that are starting: ${names}.`),
      )
    }
    await new Promise<void>((resolve) => void systemClock.after(LOOK_MS, resolve))
  }
}

/** The servers whose tools are missing, each with the reason. */
export function missingServers({ manager, leftOut }: OpenManager): McpReading['skipped'] {
  if (!manager.isEnabled()) return []
  const servers = manager.getMcpServers()
  const unreached = servers.names
    .map((name) => servers.connection(name))
    .filter(({ connected }) => !connected)
    .map(({ settings, failure }) => ({ name: settings.name, problem: failure?.reason ?? 'it has not answered yet' }))
  return [...unreached, ...leftOut]
}

/** Warns on stderr about each missing server. */
export function warnMissing(terminal: Terminal, opened: OpenManager): void {
  for (const { name, problem } of missingServers(opened)) {
    const line = printableLine(`MCP server '${name}' is not available: ${problem}.`)
    terminal.note(`${line} Run "toolyard mcp test ${name}" for details.`)
  }
}
