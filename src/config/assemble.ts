import type { ToolGate } from '../chat/tool-gate.ts'
import { ToolLoop } from '../chat/tool-loop.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { Environment } from '../core/expand-variables.ts'
import type { Isolate } from '../core/isolate.ts'
import type { Log } from '../core/log.ts'
import type { Rates } from '../core/rates.ts'
import type { RecordSink } from '../core/recorder.ts'
import type { ResultCache } from '../core/result-cache.ts'
import type { OnceStore } from '../core/storage/once-store.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import { ToolExecutor } from '../core/tool-executor.ts'
import { ToolRegistry } from '../core/tool-registry.ts'
import type { Tracer } from '../core/tracer.ts'
import { ProcessPool } from '../isolation/process-pool.ts'
import { addShippedBuiltins } from '../kinds/builtin/shipped.ts'
import { HttpKind } from '../kinds/http/http-kind.ts'
import { kinds } from '../kinds/kinds.ts'
import { ToolHandlers } from '../kinds/tool-handlers.ts'
import type { Embedder } from '../knowledge/embedding/embedder.ts'
import { addKnowledgeHandlers } from '../knowledge/tools/register-knowledge-tools.ts'
import { McpServers } from '../mcp/client/mcp-servers.ts'
import { PinFile } from '../mcp/client/pin-file.ts'
import type { PinStore } from '../mcp/client/pin-store.ts'
import type { McpServerSettings } from '../mcp/client/server-settings.ts'
import { tokenFile } from '../mcp/oauth/token-file.ts'
import { convertZod } from '../models/langchain/convert-zod.ts'
import type { Model } from '../models/model.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'
import { countUses } from '../validation/tool-use/run-uses.ts'
import type { ToolUseTracker } from '../validation/tool-use/tool-use-tracker.ts'
import type { Config } from './config.ts'
import { createLog } from './create-log.ts'
import { Knowledge, type OpenKnowledge } from './knowledge.ts'
import { readMcpServers } from './mcp-settings.ts'

/** What the host application may bring instead of ours. */
export interface Parts {
  readonly handlers?: ToolHandlers
  readonly log?: Log
  readonly clock?: Clock
  readonly isolate?: Isolate
  /** Who gets the records of calls, besides the executor's own metrics. */
  readonly sinks?: readonly RecordSink[]
  /** Answers only when the record of a call is written. */
  readonly durable?: boolean
  /** What calls are counted by, where that is shared. */
  readonly rates?: Rates
  /** Where the answers of writes with an idempotency key are kept. */
  readonly once?: OnceStore
  /** Where it is kept which tools of MCP servers were approved. */
  readonly pins?: PinStore
  /** Where results are kept, where that is shared. */
  readonly cache?: ResultCache
  readonly tracer?: Tracer
  /** Where collections are kept; without it they go when the tools are closed. */
  readonly knowledge?: OpenKnowledge
  /** What makes the vectors of collections, instead of what is configured; who brings it closes it. */
  readonly embedder?: Embedder
  /** Told of every run when it is over. */
  readonly onRun?: (run: StoredRun) => void
  /** What counts how models use the tools. */
  readonly toolUse?: ToolUseTracker
  /** Decides which tools a model is warned of, or not offered. */
  readonly gate?: ToolGate
  /** The environment that `${VAR}` in definitions is looked up in. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Joins the parts: the only place where concrete ones meet. */
export function assemble(config: Config, parts: Parts, model: () => Promise<Model | undefined>) {
  const log = parts.log ?? createLog()
  const handlers = parts.handlers ?? new ToolHandlers()
  addShippedBuiltins(handlers)
  const registry = new ToolRegistry({ log, convertSchema: convertZod })
  const clock = parts.clock ?? systemClock
  const isolate = parts.isolate ?? new ProcessPool({ log })
  const env = parts.env ?? process.env
  const knowledge = new Knowledge(config, {
    env,
    log,
    clock,
    ...(parts.knowledge !== undefined && { open: parts.knowledge }),
    ...(parts.embedder !== undefined && { embedder: parts.embedder }),
  })
  const asking = { model, clock }
  addKnowledgeHandlers(handlers, knowledge.collections, asking)
  const servers = openServers(config, {
    registry,
    log,
    clock,
    env,
    ...(parts.pins !== undefined && { pins: parts.pins }),
  })
  const http = new HttpKind({ settings: config.http ?? {}, env, log, clock })
  const table = kinds(handlers, { mcp: { servers, log }, http })
  const executor = new ToolExecutor(registry, {
    kinds: table,
    isolate,
    log,
    clock,
    sinks: parts.sinks ?? [],
    ...(parts.durable !== undefined && { durable: parts.durable }),
    ...(parts.rates !== undefined && { rates: parts.rates }),
    ...(parts.once !== undefined && { once: parts.once }),
    ...(parts.cache !== undefined && { cache: parts.cache }),
    ...(parts.tracer !== undefined && { tracer: parts.tracer }),
    ...(config.tools?.default_timeout_ms !== undefined && { defaultTimeoutMs: config.tools.default_timeout_ms }),
  })
  const { max_iterations, max_parallel_calls } = config.tools ?? {}
  const loop = new ToolLoop(registry, executor, {
    log,
    clock,
    ...(parts.tracer !== undefined && { tracer: parts.tracer }),
    ...(parts.onRun !== undefined && { onRun: parts.onRun }),
    ...(parts.toolUse !== undefined && { onCalls: countUses(parts.toolUse, registry) }),
    ...(parts.gate !== undefined && { gate: parts.gate }),
    ...(max_iterations !== undefined && { maxIterations: max_iterations }),
    ...(max_parallel_calls !== undefined && { maxParallelCalls: max_parallel_calls }),
  })
  return {
    log,
    clock,
    handlers,
    registry,
    executor,
    loop,
    servers,
    http,
    isolate,
    kinds: table,
    env,
    knowledge,
    asking,
  }
}

interface Surroundings {
  readonly registry: ToolRegistry
  readonly log: Log
  readonly clock: Clock
  readonly env: Environment
  readonly pins?: PinStore
}

/** The MCP servers of a configuration, not connected yet. One that lacks a variable is left out, and that is said. */
function openServers(config: Config, { registry, log, clock, env, pins }: Surroundings): McpServers {
  const { servers, skipped, warnings } = readMcpServers(config, env)
  for (const { name, problem } of skipped) log.warn({ server: name, problem }, 'MCP server left out')
  for (const { name, problem } of warnings) log.warn({ server: name, problem }, 'MCP server configured with a warning')
  const folder = dataFolder(env)
  const tokens = tokenFile(folder, clock)
  const authProvider = async (settings: McpServerSettings) => {
    if (settings.reach.type === 'stdio') return undefined
    const { serverAuthorization } = await import('../mcp/oauth/server-authorization.ts')
    return serverAuthorization(settings, tokens)
  }
  return new McpServers(servers, { registry, log, clock, pins: pins ?? new PinFile(folder), authProvider })
}
