import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { Chat, TRIAL_PROMPT } from '../../chat/chat.ts'
import { type DiscoverySettings, ToolDiscovery } from '../../chat/discovery.ts'
import { type ResponseRule, ResponseRules, unknownTools } from '../../chat/response-rules.ts'
import { DEFAULT_MAX_ITERATIONS, ToolLoop } from '../../chat/tool-loop.ts'
import type { ToolGate } from '../../chat/tool-offer.ts'
import { checkConfig } from '../../config/check-config.ts'
import type { Config } from '../../config/config.ts'
import { readMcpServers } from '../../config/mcp-settings.ts'
import {
  configuredModels,
  EMBEDDED_PROVIDER,
  knowledgeModel,
  offeredModels,
  typeOf,
} from '../../config/model-settings.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { Budgets } from '../../core/costs.ts'
import { dataFolder, type Environment, variableProblem } from '../../core/environment.ts'
import type { ApprovalParts } from '../../core/execution/approvals.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import type { ResultCache } from '../../core/execution/result-cache.ts'
import type { PayloadOf } from '../../core/execution/runner.ts'
import { DEFAULT_TIMEOUT_MS, ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { UserAccounts } from '../../core/execution/user-accounts.ts'
import type { Isolate } from '../../core/handler.ts'
import type { Log } from '../../core/log.ts'
import type { OnceStore } from '../../core/once-store.ts'
import type { Rates } from '../../core/rates.ts'
import type { RecordSink } from '../../core/records/recorder.ts'
import type { Tracer } from '../../core/records/tracer.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { addShippedBuiltins } from '../../kinds/builtin/shipped.ts'
import { AgentKind } from '../../kinds/composite/agent.ts'
import type { CompositeParts } from '../../kinds/composite/callees.ts'
import { CODE_MODE_DEFAULTS, CodeModeKind } from '../../kinds/composite/code-mode.ts'
import { type PipelineGraph, PipelineKind } from '../../kinds/composite/pipeline.ts'
import { HttpKind } from '../../kinds/http/http-kind.ts'
import { kinds } from '../../kinds/kinds.ts'
import { mcpKind } from '../../kinds/mcp-kind.ts'
import { JsonPath } from '../../kinds/path/json-path.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { Collections } from '../../knowledge/collections/collections.ts'
import type { Embedder } from '../../knowledge/embedding/embedder.ts'
import type { ModelToolParts } from '../../knowledge/tools/model-tool.ts'
import { addKnowledgeHandlers, knowledgeDefinitions } from '../../knowledge/tools/model-tools.ts'
import { McpServers } from '../../mcp/client/mcp-servers.ts'
import { PinFile, type PinStore } from '../../mcp/client/pinned-tools.ts'
import type { McpServerSettings } from '../../mcp/client/server-settings.ts'
import { tokenFile } from '../../mcp/oauth/token-file.ts'
import { convertZod } from '../../models/langchain/offered-tools.ts'
import { ModelCatalogue } from '../../models/model-catalogue.ts'
import { splitModelId } from '../../models/model-info.ts'
import { openProvider } from '../../models/providers/open-provider.ts'
import type { PackagedEntry } from '../../packages/load-packages.ts'
import { countUses, type ToolUseTracker } from '../../validation/tool-use/tool-use-tracker.ts'
import { createLog } from './create-log.ts'
import { Knowledge, type OpenKnowledge } from './knowledge.ts'
import { LOADED_WITH_WARNING, type LoadReport, loadDefinitions } from './load-definitions.ts'
import { type McpServerStatus, mcpStatus } from './mcp-status.ts'
import { buildProviders } from './providers.ts'

/** Parts that the host application may supply. */
export interface Parts {
  readonly handlers?: ToolHandlers
  readonly log?: Log
  readonly clock?: Clock
  readonly isolate?: Isolate
  /** Receive the records of calls, besides the executor's own metrics. */
  readonly sinks?: readonly RecordSink[]
  /** What to store of the parameters and the outcome of a call. */
  readonly payload?: PayloadOf
  /** Answer a call only after its record is stored. */
  readonly durable?: boolean
  /** Shared rate limits. */
  readonly rates?: Rates
  /** Refuse calls and turns, and count what they cost. */
  readonly budgets?: Budgets
  /** Stores the results of writes with an idempotency key. */
  readonly once?: OnceStore
  /** Stores approvals of calls. Needs `once`. */
  readonly approvals?: ApprovalParts
  /** The accounts of users. Without it, tools that use them can't be called. */
  readonly accounts?: UserAccounts
  /** Stores which tools of MCP servers were approved. */
  readonly pins?: PinStore
  /** Shared result cache. */
  readonly cache?: ResultCache
  readonly tracer?: Tracer
  /** Opens the store of the collections. Without it they live as long as the manager. */
  readonly knowledge?: OpenKnowledge
  /** Replaces the configured embedder. The host application closes it. */
  readonly embedder?: Embedder
  /** Called after every run. */
  readonly onRun?: (run: StoredRun, stored: boolean) => void
  /** Counts how models use the tools. */
  readonly toolUse?: ToolUseTracker
  /** Decides which tools a model is warned about or not offered. */
  readonly gate?: ToolGate
  /** Instead of `tools.discovery` of the configuration. */
  readonly discovery?: DiscoverySettings
  /** Identifies the installation in chains of agents. Default: a random id. */
  readonly installation?: string
  /** The environment that `${VAR}` in definitions refers to. */
  readonly env?: Environment
  /** `toolyard.lock.json`: the packages that it lists are loaded, if it exists. */
  readonly packages?: string
}

/** Code of models that runs at the same time, half of it of one tenant at most; the rest waits. */
const MAX_CODE_RUNS = 4
/** What the sandbox needs besides the memory of the code. */
const SANDBOX_MB = 64
const SANDBOX_IDLE_MS = 300_000

/** Programs that make one call and exit never compile schemas they do not use. */
const WARM_UP_AFTER_MS = 250

/** The tools of a configuration and the executor that runs them. */
export class ToolManager {
  readonly #config: Config
  readonly #parts: ReturnType<typeof assemble>
  readonly #packages: string | undefined
  #report: Promise<LoadReport> | undefined
  #models: Promise<ModelCatalogue> | undefined
  #chat: Promise<Chat> | undefined
  #chosen: ResponseRules | undefined
  #closed = false

  constructor(config: Config, parts: Parts = {}) {
    this.#config = checkConfig(config, 'ToolManager configuration')
    this.#packages = parts.packages
    const model = knowledgeModel(this.#config)
    const asking: Omit<ModelToolParts, 'clock'> = {
      model: async ({ tenant = LOCAL_TENANT, keyId, allowance }) => {
        if (model === undefined) return undefined
        const models = await this.getModels()
        const { budgets } = parts
        if (budgets === undefined) return models.get(model)
        const { prices } = models.info(model)
        const { chargedModel } = await import('../../chat/charged-model.ts')
        return chargedModel(models.get(model), { budgets, spender: { tenant, keyId }, prices, allowance })
      },
      embed: (texts, signal, tenant) => this.#embed(texts, signal, tenant),
    }
    this.#parts = assemble(this.#config, parts, asking, () => this.getModels())
  }

  /** Registers the configured tools and starts to connect the MCP servers. Further calls change nothing. */
  loadTools(): Promise<LoadReport> {
    this.#report ??= this.#load()
    return this.#report
  }

  async #load(): Promise<LoadReport> {
    const { knowledge, asking, codeMode, registry, log, env } = this.#parts
    const definitions = this.isEnabled() ? (this.#config.tools?.registry ?? []) : []
    const isAdded = this.isEnabled() && codeMode !== undefined
    const added = isAdded ? { place: 'tools.code_mode', tool: codeMode.definition } : undefined
    const shipped = knowledgeDefinitions(knowledge.collections, asking)
    const more = this.isEnabled() && this.#parts.servers.names.length > 0
    const local = added === undefined ? definitions : [...definitions, added.tool]
    const hasPackages = this.isEnabled() && this.#packages !== undefined && existsSync(this.#packages)
    const packaged = hasPackages ? await this.#loadPackages(this.#packages, local) : []
    const report = loadDefinitions(definitions, { ...this.#parts, shipped, more, added, packaged })
    // Only calls that need a server wait for it.
    const settled = this.isEnabled() ? this.#parts.servers.start() : Promise.resolve()
    void settled.then(() => this.#warnOfUnknownTools(more))
    registry.isLoaded = true
    this.#rules()
    for (const section of ['approvals', 'alerts'] as const) {
      const { webhook } = this.#config[section] ?? {}
      const problem = webhook && variableProblem(webhook.url + webhook.secret, env)
      if (problem) log.warn({ place: `${section}.webhook`, problem }, 'A webhook gets no messages')
    }
    setTimeout(() => this.#warmUp(report.loaded.values()), WARM_UP_AFTER_MS).unref()
    return report
  }

  async #loadPackages(lockFile: string, local: readonly unknown[]): Promise<PackagedEntry[]> {
    const { loadPackages } = await import('../../packages/load-packages.ts')
    return loadPackages(lockFile, { ...this.#parts, local })
  }

  getRegistry(): ToolRegistry {
    return this.#parts.registry
  }

  getExecutor(): ToolExecutor {
    return this.#parts.executor
  }

  getLoop(): ToolLoop {
    return this.#parts.loop
  }

  /** Finds tools by what they do. */
  getDiscovery(): ToolDiscovery {
    return this.#parts.discovery
  }

  /** A loop in which no tool runs: calls of `tools` get a result of `mocks`, or `{ ok: true }`. */
  async getMockLoop(tools: readonly ToolDefinition[], mocks: Readonly<Record<string, unknown>>): Promise<ToolLoop> {
    const { mockedLoop } = await import('../../validation/running/suite-runner.ts')
    return mockedLoop({ tools, mocks }, this.#parts.loopOptions).loop
  }

  getMcpServers(): McpServers {
    return this.#parts.servers
  }

  /** The status of each configured MCP server, including those that are left out. */
  getMcpStatus(): McpServerStatus[] {
    return mcpStatus(this.#config, { ...this.#parts, enabled: this.isEnabled() })
  }

  /** The configured models and `mini:v1`. Warns once about each misconfigured provider. */
  getModels(): Promise<ModelCatalogue> {
    this.#models ??= this.#openModels()
    return this.#models
  }

  getChat(): Promise<Chat> {
    this.#chat ??= this.getModels().then((models) => {
      const { loop, registry, executor } = this.#parts
      return new Chat({ rules: this.#rules(), models, loop, registry, executor })
    })
    return this.#chat
  }

  /** Warns once about rules that look like mistakes. */
  #rules(): ResponseRules {
    const { log } = this.#parts
    this.#chosen ??= new ResponseRules(this.#config.responses ?? defaultRules(this.#config), { log })
    return this.#chosen
  }

  /** Once all MCP servers have connected or failed. */
  #warnOfUnknownTools(more: boolean): void {
    if (this.#closed) return
    const { log, registry, kinds } = this.#parts
    for (const tool of more ? registry.definitions() : []) {
      const { type } = tool.implementation
      const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
      const problem = kind?.callees === undefined ? undefined : kind.fault?.(tool)
      if (problem !== undefined) log.warn({ tool: tool.name, problem }, LOADED_WITH_WARNING)
    }
    for (const { tool, problem } of this.isEnabled() ? registry.rolloutProblems() : []) {
      log.warn({ place: `tools.rollout.${tool}`, problem }, 'Rollout loaded with a warning')
    }
    const names = this.isEnabled() ? registry.names() : undefined
    for (const { place, problem } of unknownTools(this.#config.responses ?? [], names)) {
      log.warn({ place, problem }, 'Response rule loaded with a warning')
    }
  }

  /** Loads what the first calls need: the providers, a process for isolated handlers, and `mini` if it answers. */
  async warm(): Promise<void> {
    const { registry, handlers, isolate, codeMode } = this.#parts
    const named = registry.definitions().map(({ implementation }) => handlers.get(String(implementation.handler)))
    const isolated = named.find((handler) => typeof handler === 'object')
    if (isolated !== undefined) isolate.warm?.(isolated.module)
    if (this.isEnabled()) codeMode?.warm()
    const rules = this.#config.responses ?? defaultRules(this.#config)
    const mini = rules.find(({ llm, model }) => typeOf(this.#config, `${llm}:${model}`) === EMBEDDED_PROVIDER)
    // Providers warn about missing keys when they are opened.
    const models = await this.getModels()
    if (mini === undefined) return
    // A question loads what answers need, and embeds the tools. The process of `mini` ends when it is idle.
    const tools = registry.definitions().filter((tool) => registry.brokenReason(tool) === undefined)
    const messages = [{ role: 'user' as const, content: 'How warm is it in Paris?' }]
    await Array.fromAsync(
      models.get(`${mini.llm}:${mini.model}`).stream({ messages, tools, tenant: LOCAL_TENANT }),
    ).catch(() => {})
  }

  /** The steps of a pipeline and the last run of a tenant; undefined for other tools. */
  getPipeline(tool: ToolDefinition, tenant: string): PipelineGraph | undefined {
    const { pipeline } = this.#parts
    const isPipeline = tool.implementation.type === 'pipeline' && pipeline.problem(tool) === undefined
    return isPipeline ? pipeline.graph(tool, tenant) : undefined
  }

  getEmbedder(): Promise<Embedder | undefined> {
    return this.#parts.knowledge.embedder()
  }

  getCollections(): Collections {
    return this.#parts.knowledge.collections
  }

  /** Tools are enabled only by `"enabled": true`. */
  isEnabled(): boolean {
    return this.#config.tools?.enabled === true
  }

  getMaxIterations(): number {
    return this.#config.tools?.max_iterations ?? DEFAULT_MAX_ITERATIONS
  }

  getDefaultTimeout(): number {
    return this.#config.tools?.default_timeout_ms ?? DEFAULT_TIMEOUT_MS
  }

  /** Ends the processes and flushes the last records. */
  async close(): Promise<void> {
    this.#closed = true
    const { executor, isolate, sandbox, servers, http, knowledge, stopRechecking } = this.#parts
    stopRechecking()
    executor.flush()
    const models = this.#models?.then((models) => models.close())
    await Promise.all([isolate.close(), sandbox.close(), servers.close(), http.close(), knowledge.close(), models])
  }

  async #openModels(): Promise<ModelCatalogue> {
    const { env, log, clock } = this.#parts
    const providers = await buildProviders(this.#config.providers, {
      env,
      log,
      create: (settings) => openProvider(settings, { log, clock }),
    })
    return new ModelCatalogue(providers, configuredModels(this.#config), clock, offeredModels(this.#config))
  }

  /** Vectors of short texts by `mini`; undefined if it can't be used. */
  async #embed(texts: readonly string[], signal: AbortSignal, tenant?: string): Promise<number[][] | undefined> {
    try {
      return await (await this.getModels()).embed(EMBEDDED_PROVIDER, texts, signal, tenant)
    } catch (err) {
      signal.throwIfAborted()
      if (this.#closed) return undefined
      this.#parts.log.warn({ err, model: EMBEDDED_PROVIDER }, 'Could not compare texts by meaning: compared by words')
      return undefined
    }
  }

  /** Compiles the schemas before the first calls, one per turn of the event loop. */
  #warmUp(names: Iterator<string>): void {
    const { done, value } = names.next()
    if (done || this.#closed) return
    this.#parts.executor.check(value)
    setImmediate(() => this.#warmUp(names)).unref()
  }
}

/** Without `responses` the first model that takes tools answers; `mini:v1` if there is no other. */
export function defaultRules(config: Config): ResponseRule[] {
  const models = configuredModels(config)
  const first = models.find(({ capabilities }) => capabilities.includes('function-calling')) ?? models[0]
  const id = splitModelId(first?.id ?? '')
  return id === undefined ? [] : [{ llm: id.provider, model: id.model, prompt: TRIAL_PROMPT, tools: { enabled: true } }]
}

/** Connects all parts of a configuration. */
function assemble(
  config: Config,
  parts: Parts,
  models: Omit<ModelToolParts, 'clock'>,
  catalogue: () => Promise<ModelCatalogue>,
) {
  const { log = createLog(), handlers = new ToolHandlers(), clock = systemClock, env = process.env } = parts
  const { isolate = new ProcessPool({ log }), sinks = [], toolUse } = parts
  const { default_timeout_ms, max_iterations, max_parallel_calls } = config.tools ?? {}
  addShippedBuiltins(handlers)
  const registry = new ToolRegistry({ log, convertSchema: convertZod })
  registry.isLoaded = false
  registry.rollOut(new Map(Object.entries(config.tools?.rollout ?? {})))
  const knowledge = new Knowledge(config, {
    env,
    log,
    clock,
    ...(parts.knowledge !== undefined && { open: parts.knowledge }),
    ...(parts.embedder !== undefined && { embedder: parts.embedder }),
  })
  const asking = { ...models, clock }
  addKnowledgeHandlers(handlers, knowledge.collections, asking)
  const servers = openServers(config, {
    registry,
    log,
    clock,
    env,
    pins: parts.pins ?? new PinFile(dataFolder(env)),
    accounts: parts.accounts,
  })
  const http = new HttpKind({ settings: config.http ?? {}, env, log, clock, accounts: parts.accounts })
  const composite: CompositeParts = {
    ...{ registry, clock, maxParallel: max_parallel_calls },
    effectOf: (name) => executor.effectOf(name),
    calleesOf(tool) {
      const kind = table[tool.implementation.type]
      return kind?.problem?.(tool) === undefined ? kind?.callees?.(tool) : undefined
    },
  }
  const pipeline = new PipelineKind(composite)
  const { installation = randomUUID() } = parts
  const agent = new AgentKind({ ...composite, installation, http, loop: () => loop, models: catalogue })
  const { code_mode } = config.tools ?? {}
  const memoryMb = SANDBOX_MB + (code_mode?.memory_mb ?? CODE_MODE_DEFAULTS.memory_mb)
  const places = { size: MAX_CODE_RUNS, idleMs: SANDBOX_IDLE_MS }
  const sandbox = new ProcessPool({ ...places, workers: true, memoryMb, log })
  const codeMode = code_mode?.enabled
    ? new CodeModeKind(code_mode, { registry, isolate: sandbox, effectOf: (name) => executor.effectOf(name) })
    : undefined
  const table = kinds(handlers, { mcp: mcpKind({ servers, log }), http, pipeline, agent, code_mode: codeMode, log })
  const executor: ToolExecutor = new ToolExecutor(registry, {
    ...parts,
    kinds: table,
    compilePath: (path) => new JsonPath(path),
    isolate,
    log,
    clock,
    sinks,
    ...(default_timeout_ms !== undefined && { defaultTimeoutMs: default_timeout_ms }),
  })
  const discovery = new ToolDiscovery({
    registry,
    metrics: executor.metrics,
    settings: parts.discovery ?? config.tools?.discovery,
    vectors: () => openVectors(log),
  })
  const { discovery: _discovery, gate: _gate, ...loopParts } = parts
  const loopOptions = {
    ...loopParts,
    log,
    clock,
    ...(max_iterations !== undefined && { maxIterations: max_iterations }),
    ...(max_parallel_calls !== undefined && { maxParallelCalls: max_parallel_calls }),
  }
  const loop: ToolLoop = new ToolLoop(registry, executor, {
    ...parts,
    ...loopOptions,
    discovery,
    ...(toolUse !== undefined && { onCalls: countUses(toolUse, registry) }),
  })
  const stopRechecking = handlers.onRegister(() => registry.recheck())
  return {
    ...{
      handlers,
      log,
      clock,
      registry,
      executor,
      loop,
      loopOptions,
      discovery,
      servers,
      http,
      pipeline,
      codeMode,
      isolate,
      sandbox,
      kinds: table,
      env,
      knowledge,
      asking,
    },
    stopRechecking,
    canAsk: parts.approvals !== undefined && parts.once !== undefined,
  }
}

/** Tools are found by words alone if `@toolyard/mini` isn't installed, or can't be read. */
async function openVectors(log: Log) {
  try {
    return await (await import('../../models/mini-wire.ts')).wordVectors()
  } catch (err) {
    log.warn({ err }, 'Could not read the word vectors: tools are found by words only')
    return undefined
  }
}

interface ServerParts {
  readonly registry: ToolRegistry
  readonly log: Log
  readonly clock: Clock
  readonly env: Environment
  readonly pins: PinStore
  readonly accounts: UserAccounts | undefined
}

/** Creates the MCP servers of a configuration without connecting them. Servers that lack a variable are left out. */
function openServers(config: Config, { env, ...parts }: ServerParts): McpServers {
  const { log, clock } = parts
  const { servers, skipped, warnings } = readMcpServers(config, env)
  for (const { name, problem } of skipped) log.warn({ server: name, problem }, 'MCP server left out')
  for (const { name, problem } of warnings) log.warn({ server: name, problem }, 'MCP server configured with a warning')
  const tokens = tokenFile(dataFolder(env), clock)
  const authProvider = async (settings: McpServerSettings) => {
    // Calls get the tokens of their users, and the tools are listed without.
    if (settings.reach.type === 'stdio' || settings.reach.account !== undefined) return undefined
    const { serverAuthorization } = await import('../../mcp/oauth/server-authorization.ts')
    return serverAuthorization(settings, tokens)
  }
  return new McpServers(servers, { ...parts, authProvider })
}
