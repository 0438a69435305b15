import { type Execution, type ExecutionHost, JoinableExecutions } from './execution.ts'
import type { Handler, IsolatedHandler } from './handler.ts'
import type { Kind } from './kind.ts'
import type { CallerRate, Rate, Rates } from './rates.ts'
import { toolHash } from './result-cache.ts'
import { type CompiledSchema, compileSchema } from './schema/compiled-schema.ts'
import type { Effect, Params, ToolDefinition } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'
import type { CircuitState, ToolHealth } from './tool-health.ts'
import { type ToolLimits, toolEffect, toolLimits } from './tool-limits.ts'

const MOST_TENANTS = 10_000

/** A tool made ready to be called: everything that can be worked out once is, on first use. */
export class BoundTool implements ExecutionHost {
  readonly name: string
  readonly definition: ToolDefinition
  readonly effect: Effect
  readonly limits: ToolLimits
  /** Where names of parameters may have to be changed. */
  readonly rename: ((params: Params) => Params) | undefined
  /** Calls that are running now. */
  running = 0
  /** What identical calls may join. Only `read` tools have any. */
  readonly executions = new JoinableExecutions()
  readonly #resolve: (() => Handler | IsolatedHandler) | undefined
  #compiled: CompiledSchema | undefined
  #fault: unknown
  #hash: string | undefined
  readonly #kind: Kind | undefined
  readonly #rates = new Map<string, CallerRate>()

  constructor(definition: ToolDefinition, kind: Kind | undefined, defaultTimeoutMs: number) {
    this.name = definition.name
    this.definition = definition
    this.effect = toolEffect(definition, kind?.effect(definition) ?? 'write')
    this.limits = toolLimits(definition, defaultTimeoutMs, kind?.retry?.(definition))
    this.#kind = kind
    this.rename = kind?.rename && ((params) => kind.rename?.(definition, params) ?? params)
    this.#resolve = kind?.bind(definition)
  }

  /** Compiled on first use; throws the schema's own fault where it does not compile. */
  get compiled(): CompiledSchema {
    if (this.#compiled !== undefined) return this.#compiled
    if (this.#fault !== undefined) throw this.#fault
    try {
      this.#compiled = compileSchema(this.definition.parameters)
      return this.#compiled
    } catch (error) {
      this.#fault = error
      throw error
    }
  }

  /** The code to run now; throws where there is none. */
  handler(): Handler | IsolatedHandler {
    if (this.#resolve !== undefined) return this.#resolve()
    const type = this.definition.implementation?.type
    throw new ToolExecutionError('EXECUTION_ERROR', `Unknown implementation type: ${type}`)
  }

  /** Names this definition in the keys of the cache. */
  get hash(): string {
    this.#hash ??= toolHash(this.definition)
    return this.#hash
  }

  /** The execution that an identical call may join. */
  joinable(key: string): Execution | undefined {
    return this.executions.size === 0 ? undefined : this.executions.find(this.hash, key)
  }

  forget(execution: Execution): void {
    this.executions.delete(execution)
  }

  /** What a tenant's calls are counted by, where the tool limits them; worked out once for each. */
  rateOf(tenant: string): CallerRate {
    let rate = this.#rates.get(tenant)
    if (rate === undefined) {
      const { calls, perMs } = this.limits.rate as Rate
      const says = `Tool '${this.name}' allows ${calls} calls per ${perMs}ms`
      rate = { calls, perMs, key: `tool ${tenant} ${this.name}`, says }
      if (this.#rates.size >= MOST_TENANTS) this.#rates.clear()
      this.#rates.set(tenant, rate)
    }
    return rate
  }

  /** Whether the service behind it is asked at all, where the kind looks after that. */
  get circuit(): CircuitState | undefined {
    return this.#kind?.circuit?.(this.definition)
  }

  /** How it stands with the tool, and with what a tenant may still call of it. */
  health(tenant: string, rates: Rates, now: number): ToolHealth {
    const { circuit, running } = this
    const { rate, maxConcurrency: most } = this.limits
    const state = rate && rates.look(this.rateOf(tenant).key, rate, now)
    return {
      ...(circuit !== undefined && { circuit }),
      ...(rate && { rate_limit: { calls: rate.calls, per_ms: rate.perMs, remaining: state?.remaining ?? 0 } }),
      ...(Number.isFinite(most) && { concurrency: { most, running } }),
    }
  }

  /** Throws `RATE_LIMITED` where as many calls are running as the tool allows. */
  checkConcurrency(): void {
    if (this.running < this.limits.maxConcurrency) return
    throw new ToolExecutionError(
      'RATE_LIMITED',
      `Tool '${this.name}' runs at most ${this.limits.maxConcurrency} calls at a time: try again when one has ended`,
    )
  }
}
