import { Chat, TRIAL_PROMPT } from '../chat/chat.ts'
import type { ResponseRule } from '../chat/rules/response-rule.ts'
import { ResponseRules } from '../chat/rules/response-rules.ts'
import { DEFAULT_MAX_ITERATIONS, type ToolLoop } from '../chat/tool-loop.ts'
import type { Environment } from '../core/expand-variables.ts'
import { DEFAULT_TIMEOUT_MS, type ToolExecutor } from '../core/tool-executor.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import type { Collections } from '../knowledge/collections/collections.ts'
import { knowledgeDefinitions, registerModelTools } from '../knowledge/tools/register-knowledge-tools.ts'
import type { McpConnection } from '../mcp/client/mcp-connection.ts'
import type { McpServers } from '../mcp/client/mcp-servers.ts'
import { ModelCatalogue } from '../models/catalogue/model-catalogue.ts'
import { splitModelId } from '../models/catalogue/split-model-id.ts'
import { openProvider } from '../models/open-provider.ts'
import type { ProviderSurroundings } from '../models/provider.ts'
import { assemble, type Parts } from './assemble.ts'
import { buildProviders } from './build-providers.ts'
import { checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { configuredModels } from './configured-models.ts'
import { knowledgeModel } from './knowledge-settings.ts'
import { type LoadReport, loadDefinitions } from './load-definitions.ts'
import { mcpEntries } from './mcp-entries.ts'
import type { McpServerStatus } from './mcp-server-status.ts'
import { readMcpServers } from './mcp-settings.ts'
import { serverTools } from './server-tools.ts'

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

/** Who answers where `responses` is absent: the first model that takes tools, which is `mini:v0` where there is no other. */
export function defaultRules(config: Config): ResponseRule[] {
  const models = configuredModels(config)
  const first = models.find(({ capabilities }) => capabilities.includes('function-calling')) ?? models[0]
  const id = splitModelId(first?.id ?? '')
  return id === undefined ? [] : [{ llm: id.provider, model: id.model, prompt: TRIAL_PROMPT, tools: { enabled: true } }]
}

interface Surroundings {
  readonly servers: McpServers
  readonly registry: ToolRegistry
  readonly env: Environment
  /** Whether servers are connected at all. */
  readonly enabled: boolean
}

/** Every MCP server of a configuration, in order, and how it stands with it now. */
function mcpStatus(config: Config, { servers, registry, env, enabled }: Surroundings): McpServerStatus[] {
  const { skipped, disabled } = readMcpServers(config, env)
  const lacking = new Map(skipped.map(({ name, problem }) => [name, problem]))
  const tools = serverTools(registry)
  const known = new Set(servers.names)
  return mcpEntries(config).map(({ name, place }) => {
    const base = { name, place, tools: tools.get(name) ?? [] }
    if (disabled.includes(name)) return { ...base, state: 'disabled' }
    if (!known.has(name)) return { ...base, state: 'left_out', problem: lacking.get(name) ?? 'it lacks something' }
    const connection = servers.connection(name)
    const status = { ...base, ...statusOf(connection) }
    return enabled || connection.connected ? status : { ...status, state: 'idle' }
  })
}

function statusOf(connection: McpConnection): Omit<McpServerStatus, 'name' | 'place' | 'tools'> {
  const { state, transport, attempts, since, nextAttemptInMs, problem, stderr } = connection.standing()
  const check = state === 'connected' ? undefined : connection.failure?.check
  return {
    state,
    transport,
    attempts,
    ...(since !== undefined && { since: new Date(since).toISOString() }),
    ...(nextAttemptInMs !== undefined && { next_attempt_in_ms: Math.ceil(nextAttemptInMs) }),
    ...(problem !== undefined && { problem: problem.text, problem_at: new Date(problem.at).toISOString() }),
    ...(stderr !== '' && { stderr }),
    ...(check !== undefined && { check }),
  }
}

/** The models of a configuration, ready to be asked. */
async function openModels(
  config: Config,
  around: ProviderSurroundings & { readonly env: Environment },
): Promise<ModelCatalogue> {
  const { env, log } = around
  const create = (settings: Parameters<typeof openProvider>[0]) => openProvider(settings, around)
  const providers = await buildProviders(config.providers, { env, log, create })
  return new ModelCatalogue(providers, configuredModels(config), around.clock)
}
