import { randomUUID } from 'node:crypto'
import type { CallContext } from '../core/call-context.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { Environment } from '../core/expand-variables.ts'
import type { Log } from '../core/log.ts'
import { LocalRates, type Rates } from '../core/rates.ts'
import type { RecordSink } from '../core/recorder.ts'
import { ResultCache } from '../core/result-cache.ts'
import type { JobQueue } from '../core/storage/job-queue.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { SettingStore } from '../core/storage/setting-store.ts'
import type { Change, Storage } from '../core/storage/storage.ts'
import type { ToolUseStore } from '../core/storage/tool-use-store.ts'
import type { Tracer } from '../core/tracer.ts'
import type { ToolHandlers } from '../kinds/tool-handlers.ts'
import { PinFile } from '../mcp/client/pin-file.ts'
import type { PinStore } from '../mcp/client/pin-store.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'
import { LeasedRates } from '../storage/leased-rates.ts'
import { LedgerSink } from '../storage/ledger/ledger-sink.ts'
import { LocalJobQueue } from '../storage/local-job-queue.ts'
import { openStorage } from '../storage/open-storage.ts'
import { SharedCache } from '../storage/shared-cache.ts'
import { effectiveGate, type GateSettings, ToolUseGate } from '../validation/tool-use/tool-use-gate.ts'
import { ToolUseTracker } from '../validation/tool-use/tool-use-tracker.ts'
import type { Parts } from './assemble.ts'
import type { CallerLimit } from './callers/caller-limit.ts'
import { Callers, LOCAL_CALLER } from './callers/callers.ts'
import { Tenants } from './callers/tenants.ts'
import { checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { loadConfigFile } from './load-config.ts'
import { ToolManager } from './tool-manager.ts'

type Pins = Readonly<Record<string, string>>

/** Pins in the store, where all servers of an installation find them; those of before there was a store still hold. */
class StoredPins implements PinStore {
  readonly #settings: SettingStore
  readonly #before: PinStore

  constructor(settings: SettingStore, before: PinStore) {
    this.#settings = settings
    this.#before = before
  }

  async read(server: string): Promise<Pins | undefined> {
    const stored = (await this.#settings.list('pin')).find(({ name }) => name === server)
    return stored === undefined ? this.#before.read(server) : (stored.value as Pins)
  }

  async write(server: string, pins: Pins): Promise<void> {
    await this.#settings.put({ kind: 'pin', name: server, value: pins })
  }
}

const KEEP_DAYS = 7
const LONGEST_JOB_MS = 3_600_000
/** How long tools stay after they were replaced: a run may still want to use them. */
const RETIRE_MS = 60_000
/** How long the last records may take to be written. */
const LAST_RECORDS_MS = 5_000

export interface InstallationOptions {
  /** The configuration file, which can be read again while the installation runs. */
  readonly file?: string
  /** The configuration itself, where there is no file. */
  readonly config?: Config
  readonly log: Log
  readonly clock?: Clock
  readonly env?: Environment
  readonly handlers?: ToolHandlers
  readonly tracer?: Tracer
  /** Who gets the records of calls, besides the store. */
  readonly sinks?: readonly RecordSink[]
  /** Who is told of runs, besides the store. */
  readonly onRun?: (run: StoredRun) => void
}

/** A configuration with everything that is kept: the tools, the store, and who may call. */
export class Installation {
  readonly instance: string
  readonly storage: Storage
  readonly sink: LedgerSink
  /** Counts how models use the tools. */
  readonly toolUse: ToolUseTracker
  readonly tenants = new Tenants()
  readonly callers: Callers
  readonly log: Log
  readonly clock: Clock
  readonly #options: InstallationOptions
  /** Which tools of MCP servers were approved. */
  readonly pins: PinStore
  readonly #rates: Rates
  readonly #cache: ResultCache
  readonly #shared: SharedCache | undefined
  readonly #reloaded = new Set<() => void>()
  readonly #stopListening: () => void
  /** Tools that were replaced, each with the way to call off that it is let go. */
  readonly #retired = new Map<ToolManager, () => void>()
  #config: Config
  #manager: ToolManager | undefined
  #gate: ToolUseGate | undefined
  #closed: Promise<void> | undefined

  /** Opens the store, loads the tools and reads who may call. Rejects with a `ConfigError` about a bad configuration. */
  static async open(options: InstallationOptions): Promise<Installation> {
    const config = await readConfig(options)
    const env = options.env ?? process.env
    const instance = randomUUID()
    const { TOOLYARD_DATABASE_URL: url, TOOLYARD_AUDIT_KEY: auditKey } = env
    const storage = await openStorage(
      {
        folder: dataFolder(env),
        instance,
        keepDays: config.storage?.keep_days ?? KEEP_DAYS,
        ...(url && { url }),
        ...(auditKey && { auditKey }),
      },
      { log: options.log },
    )
    const installation = new Installation(options, config, storage, instance)
    try {
      await installation.#start()
      return installation
    } catch (error) {
      await installation.close()
      throw error
    }
  }

  private constructor(options: InstallationOptions, config: Config, storage: Storage, instance: string) {
    this.#options = options
    this.#config = config
    this.storage = storage
    this.instance = instance
    this.log = options.log
    this.clock = options.clock ?? systemClock
    this.callers = new Callers(this.tenants, this.clock)
    const durable = config.storage?.audit === 'durable'
    this.sink = new LedgerSink(storage.ledger, { log: this.log, clock: this.clock, durable })
    this.toolUse = new ToolUseTracker({ store: storage.toolUse, log: this.log, clock: this.clock })
    this.#rates = storage.leases === undefined ? new LocalRates() : new LeasedRates(storage.leases, options)
    this.pins = new StoredPins(storage.settings, new PinFile(dataFolder(options.env ?? process.env)))
    const feed = storage.cache
    if (feed === undefined) this.#cache = new ResultCache(this.clock)
    else {
      const shared = new SharedCache(feed, { ...options, deliver: (...entry) => this.#cache.put(...entry) })
      this.#cache = new ResultCache(this.clock, (...entry) => shared.put(...entry))
      this.#shared = shared
    }
    this.#stopListening = storage.onChange((change) => void this.#changed(change))
  }

  /** Where files are kept, besides the store. */
  get folder(): string {
    return dataFolder(this.#options.env ?? process.env)
  }

  get config(): Config {
    return this.#config
  }

  /** The tools as they are now: another one after a reload, so nobody keeps it. */
  get manager(): ToolManager {
    return this.#manager as ToolManager
  }

  /** What the calls of the person at this machine are made with. */
  localContext(source: CallContext['source']): CallContext {
    return this.callers.context(LOCAL_CALLER, source)
  }

  /** How the limits on calls a minute stand: of the callers of one tenant, or of all. */
  callerLimits(tenant: string | undefined): CallerLimit[] {
    return this.callers.limits(tenant, this.#rates)
  }

  /** What hands out the jobs: of this process alone, or of all servers that share the store. */
  async openJobQueue(): Promise<JobQueue> {
    const { jobs: store } = this.storage
    const { TOOLYARD_DATABASE_URL: url } = this.#options.env ?? process.env
    if (!url) return new LocalJobQueue(store, this)
    const { openPgBossQueue } = await import('../storage/postgres/pg-boss-queue.ts')
    return openPgBossQueue(url, { store, log: this.log })
  }

  onReload(listener: () => void): () => void {
    this.#reloaded.add(listener)
    return () => this.#reloaded.delete(listener)
  }

  /** Reads the file again. A bad one is thrown about, and changes nothing. */
  async reload(): Promise<void> {
    const config = await readConfig(this.#options)
    const before = this.#manager
    const manager = await this.#load(config)
    this.#config = config
    this.#manager = manager
    this.#configure()
    for (const listener of this.#reloaded) listener()
    this.log.info({ tools: manager.getRegistry().list().length }, 'Configuration read again')
    if (before !== undefined) this.#retire(before, this.clock.now() + (config.limits?.job_timeout_ms ?? LONGEST_JOB_MS))
  }

  /** What runs on tools that were replaced may end on them: they are let go when it has been quiet for a while. */
  #retire(manager: ToolManager, atLatest: number): void {
    const callOff = this.clock.after(RETIRE_MS, () => {
      if (manager.getExecutor().running > 0 && this.clock.now() < atLatest) return this.#retire(manager, atLatest)
      this.#retired.delete(manager)
      void manager.close()
    })
    this.#retired.set(manager, callOff)
  }

  /** Ends the processes, writes the last records and lets go of the store. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #start(): Promise<void> {
    await Promise.all([this.callers.load(this.storage.keys), this.tenants.load(this.storage.settings)])
    this.#manager = await this.#load(this.#config)
    this.#configure()
    this.#shared?.changed()
  }

  #configure(): void {
    this.tenants.configure(this.#config.tenants)
    this.callers.configure(this.#config.limits)
  }

  async #load(config: Config): Promise<ToolManager> {
    const { env, handlers, tracer, sinks = [], onRun } = this.#options
    const keepsRuns = config.storage?.runs !== false
    const gate = await openGate(config.validation, this.storage.toolUse, this.log)
    const parts: Parts = {
      log: this.log,
      clock: this.clock,
      sinks: [this.sink, ...sinks],
      durable: config.storage?.audit === 'durable',
      rates: this.#rates,
      once: this.storage.once,
      cache: this.#cache,
      pins: this.pins,
      knowledge: async () => this.storage.knowledge,
      onRun: (run) => {
        this.sink.run(keepsRuns ? run : withoutContents(run))
        onRun?.(run)
      },
      toolUse: this.toolUse,
      ...(gate !== undefined && { gate: gate.judge }),
      ...(env !== undefined && { env }),
      ...(handlers !== undefined && { handlers }),
      ...(tracer !== undefined && { tracer }),
    }
    const manager = new ToolManager(config, parts)
    this.#gate = gate
    await manager.loadTools()
    return manager
  }

  async #changed(change: Change): Promise<void> {
    try {
      if (change === 'cache') this.#shared?.changed()
      if (change === 'validations') await this.#gate?.refresh()
      if (change === 'keys') await this.callers.load(this.storage.keys)
      if (change === 'settings') {
        await this.tenants.load(this.storage.settings)
        await this.#manager?.getMcpServers().checkPins()
      }
    } catch (err) {
      this.log.error({ err, change }, 'A change in the store could not be read: what was known before still holds')
    }
  }

  async #close(): Promise<void> {
    this.#stopListening()
    for (const callOff of this.#retired.values()) callOff()
    await Promise.all([...this.#retired.keys(), this.#manager].map((manager) => manager?.close()))
    if (this.#rates instanceof LeasedRates) await this.#rates.close()
    await this.#shared?.close()
    await this.sink.close(LAST_RECORDS_MS)
    await this.toolUse.close()
    await this.storage.close()
  }
}

async function readConfig({ file, config }: InstallationOptions): Promise<Config> {
  if (file !== undefined) return (await loadConfigFile(file)).config
  return checkConfig(config ?? {}, 'configuration')
}

/** What a run was about stays out; how it went is kept. */
const withoutContents = ({ recording: _recording, ...run }: StoredRun): StoredRun => ({
  ...run,
  question: '',
  answer: '',
  steps: run.steps.map(({ text: _text, params: _params, result: _result, ...step }) => step),
})

/** What acts on how models use tools, with all that is known by now; undefined where nothing is to be done about it. */
async function openGate(
  settings: GateSettings | undefined,
  store: ToolUseStore,
  log: Log,
): Promise<ToolUseGate | undefined> {
  const { gate } = effectiveGate(settings)
  if (gate === 'off') return undefined
  const opened = new ToolUseGate(store, gate, settings ?? {}, log)
  await opened.refresh()
  return opened
}
