import { ToolLoop } from '../chat/tool-loop.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { Isolate } from '../core/isolate.ts'
import type { Log } from '../core/log.ts'
import type { RecordSink } from '../core/recorder.ts'
import { ToolExecutor } from '../core/tool-executor.ts'
import { ToolRegistry } from '../core/tool-registry.ts'
import { addShippedBuiltins } from '../kinds/builtin/shipped.ts'
import { ProcessPool } from '../kinds/isolated/process-pool.ts'
import { kinds } from '../kinds/kinds.ts'
import { ToolHandlers } from '../kinds/tool-handlers.ts'
import { docsSearch } from '../knowledge/docs-search.ts'
import { convertZod } from '../models/langchain/convert-zod.ts'
import type { Config } from './config.ts'
import { createLog } from './create-log.ts'
import { openServers } from './open-servers.ts'

/** What the host application may bring instead of ours. */
export interface Parts {
  readonly handlers?: ToolHandlers
  readonly log?: Log
  readonly clock?: Clock
  readonly isolate?: Isolate
  /** Who gets the records of calls, besides the executor's own metrics. */
  readonly sinks?: readonly RecordSink[]
  /** The environment that `${VAR}` in definitions is looked up in. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Joins the parts: the only place where concrete ones meet. */
export function assemble(config: Config, parts: Parts) {
  const log = parts.log ?? createLog()
  const handlers = parts.handlers ?? new ToolHandlers()
  addShippedBuiltins(handlers)
  if (handlers.get('rag_query') === undefined) {
    handlers.register('rag_query', docsSearch(new URL('../../docs/', import.meta.url)), { effect: 'read' })
  }
  const registry = new ToolRegistry({ log, convertSchema: convertZod })
  const clock = parts.clock ?? systemClock
  const isolate = parts.isolate ?? new ProcessPool({ log })
  const env = parts.env ?? process.env
  const servers = openServers(config, { registry, log, clock, env })
  const table = kinds(handlers, { mcp: { servers, log } })
  const executor = new ToolExecutor(registry, {
    kinds: table,
    isolate,
    log,
    clock,
    sinks: parts.sinks ?? [],
    ...(config.tools?.default_timeout_ms !== undefined && { defaultTimeoutMs: config.tools.default_timeout_ms }),
  })
  const { max_iterations, max_parallel_calls } = config.tools ?? {}
  const loop = new ToolLoop(registry, executor, {
    log,
    clock,
    ...(max_iterations !== undefined && { maxIterations: max_iterations }),
    ...(max_parallel_calls !== undefined && { maxParallelCalls: max_parallel_calls }),
  })
  return { log, clock, handlers, registry, executor, loop, servers, isolate, kinds: table, env }
}
