import { Chat } from '../chat/chat.ts'
import { ResponseRules } from '../chat/rules/response-rules.ts'
import { DEFAULT_MAX_ITERATIONS, type ToolLoop } from '../chat/tool-loop.ts'
import { DEFAULT_TIMEOUT_MS, type ToolExecutor } from '../core/tool-executor.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import type { Collections } from '../knowledge/collections/collections.ts'
import { knowledgeDefinitions, registerModelTools } from '../knowledge/tools/register-knowledge-tools.ts'
import type { McpServers } from '../mcp/client/mcp-servers.ts'
import type { ModelCatalogue } from '../models/catalogue/model-catalogue.ts'
import { assemble, type Parts } from './assemble.ts'
import { checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { defaultRules } from './default-rules.ts'
import { knowledgeModel } from './knowledge-settings.ts'
import { type LoadReport, loadDefinitions } from './load-definitions.ts'
import type { McpServerStatus } from './mcp-server-status.ts'
import { mcpStatus } from './mcp-status.ts'
import { openModels } from './open-models.ts'

/** Programs that make one call and end never pay for schemas they do not use. */
const WARM_UP_AFTER_MS = 250

/** Everything that a configuration stands for: its tools, and the executor that runs them. */
export class ToolManager {
  readonly #config: Config
  readonly #parts: ReturnType<typeof assemble>
  #report: LoadReport | undefined
  #models: Promise<ModelCatalogue> | undefined
  #chat: Promise<Chat> | undefined
  #closed = false

  constructor(config: Config, parts: Parts = {}) {
    this.#config = checkConfig(config, 'ToolManager configuration')
    const model = knowledgeModel(this.#config)
    this.#parts = assemble(this.#config, parts, async () =>
      model === undefined ? undefined : (await this.getModels()).get(model),
    )
  }

  /** Registers the configured tools, once: running it again changes nothing. */
  async loadTools(): Promise<LoadReport> {
    if (this.#report === undefined) {
      const definitions = this.isEnabled() ? (this.#config.tools?.registry ?? []) : []
      const { registry, knowledge, asking } = this.#parts
      const shipped = knowledgeDefinitions(knowledge.collections, asking)
      this.#report = loadDefinitions(definitions, { ...this.#parts, shipped })
      // A tool of the configuration that has the same name stays.
      if (this.isEnabled() && knowledgeModel(this.#config) !== undefined) registerModelTools(registry, asking)
      // Beside everything else: what does not need them does not wait.
      if (this.isEnabled()) void this.#parts.servers.start()
      setTimeout(() => this.#warmUp(this.#report?.loaded.values() ?? [].values()), WARM_UP_AFTER_MS).unref()
    }
    return this.#report
  }

  getRegistry(): ToolRegistry {
    return this.#parts.registry
  }

  getExecutor(): ToolExecutor {
    return this.#parts.executor
  }

  /** The loop between models and these tools. */
  getLoop(): ToolLoop {
    return this.#parts.loop
  }

  /** The MCP servers of the configuration; `loadTools` begins to connect to them. */
  getMcpServers(): McpServers {
    return this.#parts.servers
  }

  /** How it stands with each MCP server of the configuration, also with those that are left out. */
  getMcpStatus(): McpServerStatus[] {
    return mcpStatus(this.#config, { ...this.#parts, enabled: this.isEnabled() })
  }

  /** The configured models, and `mini:v0`. A provider that lacks something is said so of, once. */
  getModels(): Promise<ModelCatalogue> {
    this.#models ??= openModels(this.#config, this.#parts)
    return this.#models
  }

  /** Answers questions by the response rules, or by one of the models. */
  getChat(): Promise<Chat> {
    this.#chat ??= this.getModels().then((models) => {
      const { log, loop, registry, executor } = this.#parts
      const rules = new ResponseRules(this.#config.responses ?? defaultRules(this.#config), { log })
      return new Chat({ rules, models, loop, registry, executor })
    })
    return this.#chat
  }

  /** What tenants have put in to be found again. */
  getCollections(): Collections {
    return this.#parts.knowledge.collections
  }

  /** Only `true` enables. */
  isEnabled(): boolean {
    return this.#config.tools?.enabled === true
  }

  getMaxIterations(): number {
    return this.#config.tools?.max_iterations ?? DEFAULT_MAX_ITERATIONS
  }

  getDefaultTimeout(): number {
    return this.#config.tools?.default_timeout_ms ?? DEFAULT_TIMEOUT_MS
  }

  /** Ends the processes and hands on the last records. */
  async close(): Promise<void> {
    this.#closed = true
    this.#parts.executor.flush()
    const { isolate, servers, http, knowledge } = this.#parts
    const models = this.#models?.then((models) => models.close())
    await Promise.all([isolate.close(), servers.close(), http.close(), knowledge.close(), models])
  }

  /** Compiles schemas one by one with the loop free in between, so that first calls need not. */
  #warmUp(names: Iterator<string>): void {
    const { done, value } = names.next()
    if (done || this.#closed) return
    this.#parts.executor.check(value)
    setImmediate(() => this.#warmUp(names)).unref()
  }
}
