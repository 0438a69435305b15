import { hash } from 'node:crypto'
import type { CallContext } from '../core/call-context.ts'
import { matchesGlobs, missingPermission } from '../core/execution/permit.ts'
import type { ToolExecutor } from '../core/execution/tool-executor.ts'
import { versionOf } from '../core/execution/tool-view.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { ToolExecutionError, type ToolFailure, type ToolResult } from '../core/tool-result.ts'
import { type Adapter, type CallerOptions, callContext } from './options.ts'

/** The tools that a framework gets, and the caller of those tools. */
export interface AdapterOptions extends CallerOptions {
  /** Names, or patterns such as `orders_*`; by default all tools that the caller may use. */
  readonly tools?: readonly string[]
  /**
   * The id of one run of an agent. A write that the framework repeats with the same tool call id within this run returns
   * the stored result. Don't share it between runs: some models number the calls of each run from 0.
   */
  readonly runId?: string
}

/** A call as a framework makes it. */
interface FrameworkCall {
  readonly id?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly report?: ((progress: unknown) => void) | undefined
}

/** A tool for a framework. */
export interface HandedOut {
  readonly definition: ToolDefinition
  call(params: unknown, call: FrameworkCall): Promise<ToolResult>
}

/** The context of an instance's calls. */
export const adapterContext = (adapter: Adapter, options: AdapterOptions | undefined): CallContext => ({
  ...callContext(adapter, options),
  runId: options?.runId,
})

/** The tools that work and that the caller may use; with `patterns`, only those that match. */
export function handOut(
  executor: ToolExecutor | undefined,
  patterns: readonly string[] | undefined,
  caller: CallContext,
): HandedOut[] {
  if (executor?.registry === undefined) throw new TypeError('Pass the instance of Toolyard: await createToolyard()')
  const { registry } = executor
  const unknown = patterns?.find((name) => !name.includes('*') && registry.find(name) === undefined)
  if (unknown !== undefined) throw new TypeError(`There is no tool '${unknown}': correct the list of tools`)
  const pinned = registry.offered(caller, patterns?.filter((name) => name.includes('@')) ?? [])
  const others = registry.offered(caller).filter(({ name }) => {
    const isWanted = patterns === undefined || matchesGlobs(patterns, name)
    return isWanted && pinned.every((tool) => tool.name !== name)
  })
  return [...pinned, ...others]
    .filter((tool) => {
      const visible = caller.visible?.has(tool.name) !== false && missingPermission(tool, caller) === undefined
      return visible && registry.brokenReason(tool) === undefined
    })
    .map((definition) => {
      const { name } = definition
      const versions = registry.hasVersions(name) && { versions: new Map([[name, versionOf(definition)]]) }
      const own = versions ? { ...caller, ...versions } : caller
      return {
        definition: registry.shownTo(definition, caller),
        call: (params, call) => executor.execute(name, params, contextOf(executor, name, own, call)),
      }
    })
}

function contextOf(executor: ToolExecutor, tool: string, caller: CallContext, call: FrameworkCall): CallContext {
  const { id, signal, report } = call
  const { runId } = caller
  const signals = [caller.signal, signal].filter((one) => one instanceof AbortSignal)
  // Only for writes: a repeated read that failed should run again.
  const isOnce = runId !== undefined && id !== undefined && executor.effectOf(tool, caller) === 'write'
  return {
    ...caller,
    repeats: true,
    ...(signal !== undefined && { signal: signals.length > 1 ? AbortSignal.any(signals) : signal }),
    ...(report !== undefined && { report }),
    ...(isOnce && { idempotencyKey: hash('sha256', JSON.stringify([runId, tool, id])) }),
  }
}

const UNKNOWN = 'It is not known whether the call took effect: check before you repeat it'

/** The error of a failed call, in words for the model. */
export function failureOf({ error, error_code, details, suggestions, outcome }: ToolFailure): ToolExecutionError {
  return new ToolExecutionError(error_code, outcome === undefined ? error : `${error}. ${UNKNOWN}`, {
    ...(details && { details }),
    ...(suggestions && { suggestions }),
    ...(outcome && { outcome }),
  })
}
