import { existsSync } from 'node:fs'
import { Chat, TRIAL_PROMPT } from '../../chat/chat.ts'
import type { ToolDiscovery } from '../../chat/discovery.ts'
import { type ResponseRule, ResponseRules, unknownTools } from '../../chat/response-rules.ts'
import { DEFAULT_MAX_ITERATIONS, type ToolLoop } from '../../chat/tool-loop.ts'
import { checkConfig } from '../../config/check-config.ts'
import type { Config } from '../../config/config.ts'
import {
  configuredModels,
  EMBEDDED_PROVIDER,
  knowledgeModel,
  offeredModels,
  typeOf,
} from '../../config/model-settings.ts'
import { variableProblem } from '../../core/environment.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { DEFAULT_TIMEOUT_MS, type ToolExecutor } from '../../core/execution/tool-executor.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { PipelineGraph } from '../../kinds/composite/pipeline.ts'
import type { Collections } from '../../knowledge/collections/collections.ts'
import type { Embedder } from '../../knowledge/embedding/embedder.ts'
import type { ModelToolParts } from '../../knowledge/tools/model-tool.ts'
import { knowledgeDefinitions } from '../../knowledge/tools/model-tools.ts'
import type { McpServers } from '../../mcp/client/mcp-servers.ts'
import { ModelCatalogue } from '../../models/model-catalogue.ts'
import { splitModelId } from '../../models/model-info.ts'
import { openProvider } from '../../models/providers/open-provider.ts'
import type { PackagedEntry } from '../../packages/load-packages.ts'
import { assemble, type Parts } from './assemble.ts'
import { LOADED_WITH_WARNING, type LoadReport, loadDefinitions } from './load-definitions.ts'
import { type McpServerStatus, mcpStatus } from './mcp-status.ts'
import { buildProviders } from './providers.ts'

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

  /** `former`: the MCP servers before a reload. Those that did not change keep their connections and tools. */
  constructor(config: Config, parts: Parts = {}, former?: McpServers) {
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
    this.#parts = assemble(this.#config, parts, asking, () => this.getModels(), former)
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
      if (problem) log.warn({ place: `${section}.webhook`, problem }, 'Webhook disabled')
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
    for (const { implementation } of registry.definitions()) {
      const handler = handlers.get(foreignText(implementation.handler))
      if (typeof handler !== 'object') continue
      const { network = handler.network } = implementation
      isolate.warm?.(handler.module, network === true)
      break
    }
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
