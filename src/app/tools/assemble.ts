import { randomUUID } from 'node:crypto'
import { type DiscoverySettings, ToolDiscovery } from '../../chat/discovery.ts'
import { ToolLoop } from '../../chat/tool-loop.ts'
import type { ToolGate } from '../../chat/tool-offer.ts'
import type { Config } from '../../config/config.ts'
import { mcpEntries, readMcpServers } from '../../config/mcp-settings.ts'
import type { UserAccounts } from '../../core/call-context.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { Budgets } from '../../core/costs.ts'
import { dataFolder, type Environment } from '../../core/environment.ts'
import type { ApprovalParts } from '../../core/execution/approvals.ts'
import type { ResultCache } from '../../core/execution/result-cache.ts'
import type { PayloadOf } from '../../core/execution/runner.ts'
import { ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { Isolate } from '../../core/handler.ts'
import type { Log } from '../../core/log.ts'
import type { OnceStore } from '../../core/once-store.ts'
import type { Rates } from '../../core/rates.ts'
import type { RecordSink } from '../../core/records/recorder.ts'
import type { Tracer } from '../../core/records/tracer.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { addShippedBuiltins } from '../../kinds/builtin/shipped.ts'
import { AgentKind } from '../../kinds/composite/agent.ts'
import type { CompositeParts } from '../../kinds/composite/callees.ts'
import { CODE_MODE_DEFAULTS, CodeModeKind } from '../../kinds/composite/code-mode.ts'
import { PipelineKind } from '../../kinds/composite/pipeline.ts'
import { HttpKind } from '../../kinds/http/http-kind.ts'
import { kinds } from '../../kinds/kinds.ts'
import { mcpKind } from '../../kinds/mcp-kind.ts'
import { JsonPath } from '../../kinds/path/json-path.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { Embedder } from '../../knowledge/embedding/embedder.ts'
import type { ModelToolParts } from '../../knowledge/tools/model-tool.ts'
import { addKnowledgeHandlers } from '../../knowledge/tools/model-tools.ts'
import { McpServers } from '../../mcp/client/mcp-servers.ts'
import type { PersonInbox } from '../../mcp/client/person-client.ts'
import { PinFile, type PinStore } from '../../mcp/client/pinned-tools.ts'
import type { McpServerSettings } from '../../mcp/client/server-settings.ts'
import type { ToolNames } from '../../mcp/client/tool-names.ts'
import { tokenFile } from '../../mcp/oauth/token-file.ts'
import { convertZod } from '../../models/langchain/offered-tools.ts'
import type { ModelCatalogue } from '../../models/model-catalogue.ts'
import { countUses, type ToolUseTracker } from '../../validation/tool-use/tool-use-tracker.ts'
import { createLog } from './create-log.ts'
import { Knowledge, type OpenKnowledge } from './knowledge.ts'

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
  /** Whether the log may hold the parameters and the outcome of a call. */
  readonly logged?: (failed: boolean) => boolean
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
  /** Where people answer MCP servers. Without it, nobody can be asked. */
  readonly questions?: PersonInbox
  /** The accounts of users. Without it, tools that use them can't be called. */
  readonly accounts?: UserAccounts
  /** Stores which tools of MCP servers were approved. */
  readonly pins?: PinStore
  /** Stores which MCP server has which tool name. Without it, names are remembered until the process ends. */
  readonly names?: ToolNames
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

/** The parts of these names that were given. */
function only<Name extends keyof Parts>(parts: Parts, ...names: readonly Name[]): Pick<Parts, Name> {
  return Object.fromEntries(names.flatMap((name) => (name in parts ? [[name, parts[name]]] : []))) as Pick<Parts, Name>
}

/** Code of models that runs at the same time, half of it of one tenant at most; the rest waits. */
const MAX_CODE_RUNS = 4
/** What the sandbox needs besides the memory of the code. */
const SANDBOX_MB = 64
const SANDBOX_IDLE_MS = 300_000

/** Connects all parts of a configuration. */
export function assemble(
  config: Config,
  parts: Parts,
  models: Omit<ModelToolParts, 'clock'>,
  catalogue: () => Promise<ModelCatalogue>,
  former: McpServers | undefined,
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
    names: parts.names,
    questions: parts.questions,
    accounts: parts.accounts,
    mayQuote: () => parts.logged?.(false) !== false,
    former,
  })
  const http = new HttpKind({
    settings: config.http ?? {},
    env,
    log,
    clock,
    accounts: parts.accounts,
    logged: parts.logged,
  })
  const composite: CompositeParts = {
    ...{ registry, clock, maxParallel: max_parallel_calls },
    effectOf: (name) => executor.effectOf(name),
    calleesOf(tool) {
      const { type } = tool.implementation
      const kind = Object.hasOwn(table, type) ? table[type] : undefined
      return kind?.callees === undefined || kind.problem?.(tool) !== undefined ? undefined : kind.callees(tool)
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
    ...only(
      parts,
      'payload',
      'logged',
      'durable',
      'rates',
      'budgets',
      'once',
      'approvals',
      'accounts',
      'cache',
      'tracer',
    ),
    kinds: table,
    compilePath: (path) => new JsonPath(path),
    settled: () => servers.settled,
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
  const loopOptions = {
    ...only(parts, 'tracer', 'budgets', 'onRun', 'logged'),
    log,
    clock,
    ...(max_iterations !== undefined && { maxIterations: max_iterations }),
    ...(max_parallel_calls !== undefined && { maxParallelCalls: max_parallel_calls }),
  }
  const loop: ToolLoop = new ToolLoop(registry, executor, {
    ...loopOptions,
    ...only(parts, 'gate'),
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
  readonly names: ToolNames | undefined
  readonly accounts: UserAccounts | undefined
  readonly questions: PersonInbox | undefined
  readonly mayQuote: () => boolean
  readonly former: McpServers | undefined
}

/** Creates the MCP servers of a configuration without connecting them. Servers that lack a variable are left out. */
function openServers(config: Config, { env, former, ...parts }: ServerParts): McpServers {
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
  const isEnabled = config.tools?.enabled === true
  const configured = mcpEntries(config).map(({ name }) => name)
  return new McpServers(servers, { ...parts, configured, authProvider }, isEnabled ? former : undefined)
}
