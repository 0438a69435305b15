import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { KEEP_DAYS } from '../config/check-config.ts'
import type { Config } from '../config/config.ts'
import { LOCK_NAME } from '../config/load-config.ts'
import type { CallContext } from '../core/call-context.ts'
import { type Clock, systemClock, within } from '../core/clock.ts'
import type { Environment } from '../core/environment.ts'
import { dataFolder } from '../core/environment.ts'
import { ResultCache } from '../core/execution/result-cache.ts'
import { packageOf, type RegisteredTool } from '../core/execution/tool-view.ts'
import type { Log } from '../core/log.ts'
import type { OnceStore } from '../core/once-store.ts'
import { InTurn } from '../core/operation/in-turn.ts'
import { LocalRates, type Rates } from '../core/rates.ts'
import type { RecordSink } from '../core/records/recorder.ts'
import type { Tracer } from '../core/records/tracer.ts'
import type { JobQueue } from '../core/storage/job-store.ts'
import type { KnowledgeStore } from '../core/storage/knowledge-store.ts'
import type { Pause } from '../core/storage/pause-store.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { Change } from '../core/storage/storage.ts'
import type { ToolHandlers } from '../kinds/tool-handlers.ts'
import { PinFile, type PinStore } from '../mcp/client/pinned-tools.ts'
import { LeasedRates } from '../storage/leased-rates.ts'
import { LedgerSink } from '../storage/ledger/ledger-sink.ts'
import { LocalJobQueue } from '../storage/local-job-queue.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/sql/engine.ts'
import { ToolUseGate } from '../validation/tool-use/tool-use-gate.ts'
import { ToolUseTracker } from '../validation/tool-use/tool-use-tracker.ts'
import { Access, AuditEvents } from './callers/audit-events.ts'
import { Budgets } from './callers/budgets.ts'
import { type CallerLimit, Callers, LOCAL_CALLER } from './callers/callers.ts'
import { BoundedOnce, Tenants } from './callers/tenants.ts'
import { Connections } from './connections/connections.ts'
import { APPROVAL_WEBHOOK, Approvals } from './durable/approvals.ts'
import { DurableRuns } from './durable/durable-runs.ts'
import { Questions } from './durable/questions.ts'
import { TextSeal } from './durable/sealed-text.ts'
import { callPayload, mayHold, type PayloadPolicy, RunRecords, storableRun, storableStep } from './payloads.ts'
import { readConfig } from './read-config.ts'
import { Secrets } from './secrets.ts'
import { ALERT_WEBHOOK, type AlertNews, Objectives, objectiveDays } from './service-levels/objectives.ts'
import { StoredPins } from './stored-pins.ts'
import { StoredToolNames } from './stored-tool-names.ts'
import type { Parts } from './tools/assemble.ts'
import { ToolManager } from './tools/tool-manager.ts'
import { Rollouts } from './versions/rollouts.ts'
import { WebhookQueue } from './webhook-queue.ts'

const JOB_TIMEOUT_MS = 3_600_000
/** Replaced tools stay open for a while: a run may still use them. */
const RETIRE_MS = 60_000
const LAST_RECORDS_TIMEOUT_MS = 5_000
const RECORDS_TIMEOUT_MS = 2_000

export interface InstallationOptions {
  /** The configuration file. It can be reloaded. */
  readonly file?: string
  /** Where changes of the configuration are written, if not to `file`. It needn't exist. */
  readonly setupFile?: string
  /** The configuration, if there is no file. */
  readonly config?: Config
  readonly log: Log
  readonly clock?: Clock
  readonly env?: Environment
  readonly handlers?: ToolHandlers
  /** `toolyard.lock.json`, which lists the packages. Default: beside the configuration file. */
  readonly packages?: string | undefined
  /** Tools in code, besides those of the configuration. */
  readonly tools?: readonly RegisteredTool[]
  readonly tracer?: Tracer
  /** Receive the records of calls, besides the store. */
  readonly sinks?: readonly RecordSink[]
  /** Called after every run, besides the store. */
  readonly onRun?: (run: StoredRun) => void
}

const REFRESH_EVERY_MS = 1_000

/** A configuration in use: its tools, the store and the callers. */
export class Installation {
  #refreshing = false
  /** The changes that could not be read, and how to cancel their next attempt. */
  readonly #retries = new Map<Change, () => void>()
  #refreshedMs = Number.NEGATIVE_INFINITY
  readonly instance: string
  readonly storage: Storage
  readonly sink: LedgerSink
  /** Records what happens besides calls. */
  readonly events: AuditEvents
  /** Changes keys and flags. */
  readonly access: Access
  /** Lists and decides approvals. */
  readonly approvals: Approvals
  readonly #questions: Questions
  /** Runs that wait for approvals or survive a crash. */
  readonly durableRuns: DurableRuns
  /** What may be spent, and was. */
  readonly budgets: Budgets
  /** Which versions of tools callers get. */
  readonly rollouts: Rollouts
  /** Service level objectives and their alerts. */
  readonly objectives: Objectives
  readonly webhooks: WebhookQueue
  /** The accounts of users at providers. */
  readonly connections: Connections
  /** What the configuration refers to as `${secret:NAME}`. */
  readonly secrets: Secrets
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
  readonly #once: OnceStore
  readonly #cache: ResultCache
  /** Encrypts what is stored for a continuation. */
  readonly seal: TextSeal
  readonly #knowledge: KnowledgeStore
  readonly #runs: RunRecords
  readonly #reloaded = new Set<() => void>()
  readonly #started = Promise.withResolvers<void>()
  readonly #stopListening: () => void
  /** Replaced tools, each with a function that cancels its closing. */
  readonly #retired = new Map<ToolManager, () => void>()
  #file: string | undefined
  #config: Config
  /** The stored secrets in use, as variables. */
  #stored: Environment = {}
  #manager: ToolManager | undefined
  /** Changes of the configuration file and of secrets. */
  readonly changes = new InTurn()
  /** Each reload closes the tools of the one before. */
  readonly #reloads = new InTurn()
  #gate: ToolUseGate | undefined
  #closed: Promise<void> | undefined

  /** Opens the store, loads the tools and the callers. Rejects with a `ConfigError` if the configuration is invalid. */
  static async open(options: InstallationOptions): Promise<Installation> {
    const config = await readConfig(options, options.file)
    const env = options.env ?? process.env
    const seal = TextSeal.from(env)
    const instance = randomUUID()
    const { TOOLYARD_DATABASE_URL: url, TOOLYARD_AUDIT_KEY: auditKey, TOOLYARD_AUDIT_HEADS: headsFile } = env
    const storage = await openStorage(
      {
        folder: dataFolder(env),
        instance,
        keepDays: config.storage?.keep_days ?? KEEP_DAYS,
        ...(config.storage?.audit_days && { auditDays: config.storage.audit_days }),
        objectiveDays: objectiveDays(config),
        ...(url && { url }),
        ...(auditKey && { auditKey }),
        ...(headsFile && { headsFile }),
      },
      { log: options.log },
    )
    const installation = new Installation(options, config, { storage, instance, seal })
    try {
      await installation.#start()
      return installation
    } catch (error) {
      await installation.close()
      throw error
    }
  }

  private constructor(
    options: InstallationOptions,
    config: Config,
    { storage, instance, seal }: Pick<Installation, 'storage' | 'instance' | 'seal'>,
  ) {
    this.#options = options
    this.#file = options.file
    this.#config = config
    this.storage = storage
    this.instance = instance
    this.log = options.log
    this.clock = options.clock ?? systemClock
    this.callers = new Callers(this.tenants, this.clock)
    const durable = config.storage?.audit === 'durable'
    this.sink = new LedgerSink(storage.ledger, { log: this.log, clock: this.clock, durable })
    this.events = new AuditEvents({ write: (entry) => this.sink.event(entry), clock: this.clock, log: this.log })
    this.access = new Access(storage, this.events)
    const { callers, events, clock, log } = this
    this.budgets = new Budgets({
      ...{ store: storage.spending, callers, clock, log },
      onTurn: (turn) => this.sink.turn(turn),
    })
    this.webhooks = new WebhookQueue({ jobs: storage.jobs, config: () => this.#config, clock, log })
    this.approvals = new Approvals({
      ...{ pauses: storage.pauses, callers, events, clock },
      manager: () => this.manager,
      tell: (news) => void this.webhooks.addOrLog(APPROVAL_WEBHOOK, news),
    })
    const onAsk = (pause: Pause) => this.approvals.asked(pause)
    this.#questions = new Questions({ pauses: storage.pauses, clock, log, onAsk })
    this.#once = new BoundedOnce(storage.once, this.tenants, clock)
    this.seal = seal
    this.durableRuns = new DurableRuns({
      ...{ store: storage.durableRuns, once: this.#once, pauses: storage.pauses, log: this.log, clock },
      seal,
      quota: (tenant) => this.tenants.quota(tenant),
      loop: () => this.manager.getLoop(),
      models: () => this.manager.getModels(),
      contextOf: ({ caller: id, woken_at }, session) => {
        if (!callers.isKnown(id)) return null
        const valid = id === LOCAL_CALLER.id ? LOCAL_CALLER : callers.byId(id)
        const caller = valid ?? (woken_at === null ? undefined : callers.wokenAt(id, woken_at))
        return caller && callers.context(caller, 'rest', session)
      },
      showsContents: () => this.#config.storage?.runs !== false,
      storable: (step) => storableStep(this.payloads, step),
      onRun: (run) => this.#recordRun(run, this.#config),
    })
    this.connections = new Connections({
      ...{ store: storage.connections, seal, events, clock, log, env: () => this.env },
      config: () => this.#config,
    })
    const { settings, ledger } = storage
    this.secrets = new Secrets({ settings, seal, events, log })
    const registry = () => this.manager.getRegistry()
    const tell = (news: AlertNews) => this.webhooks.add(ALERT_WEBHOOK, news)
    const shared = { settings, ledger, events, clock, log: this.log }
    this.objectives = new Objectives({ ...shared, tell, flush: () => this.sink.flush() })
    this.rollouts = new Rollouts({ ...shared, registry, objectives: this.objectives })
    this.toolUse = new ToolUseTracker({ store: storage.toolUse, log: this.log, clock: this.clock })
    this.#rates = storage.leases === undefined ? new LocalRates() : new LeasedRates(storage.leases, options)
    this.pins = new StoredPins(storage.settings, new PinFile(this.folder), this.events)
    this.#cache = new ResultCache(this.clock)
    this.#runs = new RunRecords({ sink: this.sink, runs: storage.runs, tenants: this.tenants, log })
    const { knowledge } = storage
    this.#knowledge = { ...knowledge, put: (part) => knowledge.put(part, this.tenants.quota(part.tenant)) }
    // A change needs the tools of the start.
    this.#stopListening = storage.onChange((change) => void this.#started.promise.then(() => this.#changed(change)))
  }

  /** The variables that the configuration may refer to. */
  get env(): Environment {
    const { env = process.env } = this.#options
    return Object.keys(this.#stored).length === 0 ? env : { ...env, ...this.#stored }
  }

  /** The configuration file, and the one that changes are written to, if there is one. */
  get files(): { readonly read: string | undefined; readonly write: string | undefined } {
    return { read: this.#file, write: this.#options.setupFile ?? this.#file }
  }

  /** The data folder. */
  get folder(): string {
    return dataFolder(this.env)
  }

  get config(): Config {
    return this.#config
  }

  async currentConfig(): Promise<Config> {
    return this.#config
  }

  /** Whether the parameters and results of calls are stored. */
  get payloads(): PayloadPolicy {
    return this.#config.storage?.payloads ?? (this.callers.keyed ? 'off' : 'all')
  }

  /** The file that lists the packages. */
  get lockFile(): string | undefined {
    const file = this.#file
    return this.#options.packages ?? (file && join(dirname(file), LOCK_NAME))
  }

  /** The current tools. A reload replaces them: don't store this. */
  get manager(): ToolManager {
    return this.#manager as ToolManager
  }

  /** The context for calls by the user of this machine, who may use any model. */
  localContext(source: CallContext['source']): CallContext {
    return { ...this.callers.context(LOCAL_CALLER, source), models: undefined }
  }

  /** The state of the rate limits of one tenant's callers, or of all callers. */
  callerLimits(tenant: string | undefined): CallerLimit[] {
    return this.callers.limits(tenant, this.#rates)
  }

  /** The queue of this process, or the one that all servers on the same Postgres share. */
  async openJobQueue(): Promise<JobQueue> {
    const { jobs: store } = this.storage
    const { TOOLYARD_DATABASE_URL: url } = this.#options.env ?? process.env
    if (!url) return new LocalJobQueue(store, this)
    const { openPgBossQueue } = await import('../storage/postgres/pg-boss-queue.ts')
    return openPgBossQueue(url, { store, log: this.log })
  }

  /** Waits until all answered calls are recorded, or until the timeout if the store is slow. */
  async settle(): Promise<void> {
    this.manager.getExecutor().flush()
    await within(RECORDS_TIMEOUT_MS, this.sink.flush(), this.clock)
  }

  onReload(listener: () => void): () => void {
    this.#reloaded.add(listener)
    return () => this.#reloaded.delete(listener)
  }

  /** Reads the file again, or from now on another one. Throws if it is invalid, and then changes nothing. */
  reload(file = this.#file): Promise<void> {
    return this.#reloads.add(async () => {
      await this.#use(await readConfig(this.#options, file))
      this.#file = file
    })
  }

  /** Tools that use a changed secret need its new value. */
  async #useSecrets(): Promise<void> {
    const next = await this.secrets.variables()
    const names = Object.keys({ ...this.#stored, ...next }).filter((name) => next[name] !== this.#stored[name])
    if (names.length === 0) return
    const text = JSON.stringify(this.#config)
    if (names.some((name) => text.includes(`\${${name}}`)))
      await this.#reloads.add(() => this.#use({ ...this.#config }))
    else this.#stored = next
  }

  async #use(config: Config): Promise<void> {
    const before = this.#manager
    const stored = this.#stored
    this.#stored = await this.secrets.variables()
    const manager = await this.#load(config).catch((error: unknown) => {
      this.#stored = stored
      throw error
    })
    this.#config = config
    this.#manager = manager
    this.#configure()
    await this.rollouts.begin().catch((err) => this.log.error({ err }, 'Could not read the rollouts from the store'))
    for (const listener of this.#reloaded) listener()
    this.recordConfig()
    this.log.info({ tools: manager.getRegistry().list().length }, 'Configuration reloaded')
    if (before !== undefined) this.#retire(before, this.clock.now() + (config.limits?.job_timeout_ms ?? JOB_TIMEOUT_MS))
  }

  /** Records the configuration that is in use from now on. Only its keyed hash is stored. */
  recordConfig(): void {
    const tools = this.manager.getRegistry().list()
    const packages = [...new Set(tools.flatMap((tool) => packageOf(tool) ?? []))]
    const detail = { tools: tools.length, ...(packages.length > 0 && { packages }) }
    void this.events.record('config.loaded', { subject: this.#file, content: this.#config, detail })
  }

  /** Closes replaced tools when no call has used them for a while. */
  #retire(manager: ToolManager, atLatest: number): void {
    const cancel = this.clock.after(RETIRE_MS, () => {
      if (manager.getExecutor().running > 0 && this.clock.now() < atLatest) return this.#retire(manager, atLatest)
      this.#retired.delete(manager)
      void manager.close()
    })
    this.#retired.set(manager, cancel)
  }

  /** Ends the processes, stores the last records and closes the store. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #start(): Promise<void> {
    await Promise.all([this.callers.load(this.storage.keys), this.tenants.load(this.storage.settings)])
    this.#stored = await this.secrets.variables()
    this.#manager = await this.#load(this.#config)
    this.#configure()
    await this.rollouts.begin()
    this.#started.resolve()
  }

  #configure(): void {
    this.tenants.configure(this.#config)
    this.callers.configure(this.#config)
    this.rollouts.configure(this.#config)
    this.budgets.configure(this.#config)
    this.objectives.configure(this.#config)
  }

  async #load(config: Config): Promise<ToolManager> {
    const { handlers, tools = [], tracer, sinks = [] } = this.#options
    const gate = await ToolUseGate.open(this.storage.toolUse, config.validation, this.log)
    const id = await this.storage.settings.putFirst({ kind: 'secret', name: 'installation', value: randomUUID() })
    const parts: Parts = {
      installation: String(id),
      ...(this.lockFile !== undefined && { packages: this.lockFile }),
      log: this.log,
      clock: this.clock,
      sinks: [this.sink, this.budgets, ...sinks],
      payload: (call, outcome) => callPayload(this.payloads, this.tenants, call, outcome),
      logged: (failed) => mayHold(this.payloads, failed),
      durable: config.storage?.audit === 'durable',
      rates: this.#rates,
      budgets: this.budgets,
      once: this.#once,
      accounts: {
        require: (...asked) => this.connections.require(...asked),
        token: (...asked) => this.connections.token(...asked),
        problem: (provider, url) => this.connections.problem(provider, url, config),
      },
      approvals: { pauses: this.storage.pauses, onAsk: (pause) => this.approvals.asked(pause), seal: this.seal },
      questions: this.#questions,
      cache: this.#cache,
      ...{ pins: this.pins, names: new StoredToolNames(this.storage.settings) },
      knowledge: async () => this.#knowledge,
      onRun: (run, stored) => this.#recordRun(run, config, stored),
      toolUse: this.toolUse,
      ...(gate !== undefined && { gate: gate.judge }),
      env: this.env,
      ...(handlers !== undefined && { handlers }),
      ...(tracer !== undefined && { tracer }),
    }
    const manager = new ToolManager(config, parts, this.#manager?.getMcpServers())
    try {
      await manager.loadTools()
      manager.getRegistry().addAll(tools)
      this.#gate = gate
      return manager
    } catch (error) {
      await manager.close()
      throw error
    }
  }

  #recordRun(run: StoredRun, { storage }: Config, stored = true): void {
    if (stored) this.#runs.add(storableRun(this.payloads, run, storage?.runs !== false))
    this.#options.onRun?.(run)
  }

  /** Reads the keys again, at most once a second: the notification of a new one may be late. */
  refreshKeys(): void {
    const now = this.clock.now()
    if (this.#refreshing || now - this.#refreshedMs < REFRESH_EVERY_MS) return
    this.#refreshing = true
    this.#refreshedMs = now
    void this.#changed('keys').finally(() => {
      this.#refreshing = false
    })
  }

  /** Reads what changed, until the store answers: a revoked key must not stay valid because one read failed. */
  async #changed(change: Change): Promise<void> {
    this.#retries.get(change)?.()
    try {
      if (change === 'pauses') {
        this.durableRuns.wake()
        await this.#questions.check()
      }
      if (change === 'validations') await this.#gate?.refresh()
      if (change === 'keys') await this.callers.load(this.storage.keys)
      if (change === 'settings') {
        await this.tenants.load(this.storage.settings)
        await this.rollouts.load()
        await this.#manager?.getMcpServers().checkPins()
        await this.#useSecrets()
      }
    } catch (err) {
      if (this.#closed !== undefined) return
      this.log.error({ err, change }, 'Could not read a change from the store, trying again')
      this.#retries.get(change)?.()
      this.#retries.set(
        change,
        this.clock.after(REFRESH_EVERY_MS, () => void this.#changed(change)),
      )
    }
  }

  async #close(): Promise<void> {
    this.#stopListening()
    this.#runs.close()
    for (const cancel of this.#retries.values()) cancel()
    await this.webhooks.close()
    for (const cancel of this.#retired.values()) cancel()
    await this.rollouts.close()
    await this.objectives.close()
    await this.durableRuns.close()
    await this.connections.close()
    await Promise.all([...this.#retired.keys(), this.#manager].map((manager) => manager?.close()))
    if (this.#rates instanceof LeasedRates) await this.#rates.close()
    this.budgets.close()
    this.events.flush()
    await this.sink.close(LAST_RECORDS_TIMEOUT_MS)
    await this.toolUse.close()
    await this.storage.close()
  }
}
