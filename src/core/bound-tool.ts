import { type Call, clampTimeout } from './call.ts'
import { type Execution, type ExecutionHost, JoinableExecutions } from './execution.ts'
import type { Handler, IsolatedHandler } from './handler.ts'
import type { Kind } from './kind.ts'
import { missingPermission } from './permit.ts'
import type { CallerRate, Rate, Rates } from './rates.ts'
import { toolHash } from './result-cache.ts'
import { type CompiledSchema, compileSchema } from './schema/compiled-schema.ts'
import { LIMITS } from './snapshot.ts'
import { suggest } from './suggest.ts'
import type { Effect, Params, ToolDefinition } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'
import type { CircuitState, ToolHealth } from './tool-health.ts'
import type { ToolRegistry } from './tool-registry.ts'

const LONGEST_NAME = 200

/** Says that there is no such tool, and which the caller may have meant; only what it may use is named. */
function notFound(call: Call, definitions: readonly ToolDefinition[]): ToolExecutionError {
  const { visible } = call.context
  const names = definitions
    .filter((tool) => visible?.has(tool.name) !== false && missingPermission(tool, call.flags) === undefined)
    .map((tool) => tool.name)
  const suggestions = suggest(call.tool, names)
  return new ToolExecutionError(
    'TOOL_NOT_FOUND',
    `Tool '${call.tool.length > LONGEST_NAME ? `${call.tool.slice(0, LONGEST_NAME)}…` : call.tool}' not found`,
    suggestions.length > 0 ? { suggestions } : {},
  )
}

/** The registered tools, each made ready when it is first called. */
export class BoundTools {
  readonly #registry: ToolRegistry
  readonly #kinds: ReadonlyMap<string, Kind>
  readonly #defaultTimeoutMs: number
  readonly #tools = new Map<string, BoundTool>()

  constructor(registry: ToolRegistry, kinds: Readonly<Record<string, Kind>>, defaultTimeoutMs: number) {
    this.#registry = registry
    this.#kinds = new Map(Object.entries(kinds))
    this.#defaultTimeoutMs = defaultTimeoutMs
    registry.onChange((name) => this.#tools.delete(name))
  }

  /** How many calls are running now. */
  get running(): number {
    let running = 0
    for (const tool of this.#tools.values()) running += tool.running
    return running
  }

  /** The tool of a call, which gets its deadline from it. Throws where the caller sees no such tool. */
  find(call: Call): BoundTool {
    const tool = this.#tools.get(call.tool) ?? this.#bindRegistered(call)
    if (call.context.visible?.has(tool.name) === false) throw notFound(call, this.#registry.definitions())
    call.bound = tool
    const asked = call.context.timeoutMs
    if (asked === undefined) call.timeoutMs = tool.limits.timeoutMs
    else call.timeoutMs = call.source === 'job' ? asked : clampTimeout(asked, tool.limits.timeoutMs)
    return tool
  }

  /** Whether tools of this `implementation.type` can be run. */
  hasKind(type: string): boolean {
    return this.#kinds.has(type)
  }

  /** A tool that was called before. */
  bound(name: string): BoundTool | undefined {
    return this.#tools.get(name)
  }

  /** The circuits of the tools that were called before, where they have one. */
  *circuits(): Generator<readonly [tool: string, circuit: CircuitState]> {
    for (const tool of this.#tools.values()) {
      const { circuit } = tool
      if (circuit !== undefined) yield [tool.name, circuit]
    }
  }

  /** Makes a tool ready that need not be registered. */
  bind(definition: ToolDefinition): BoundTool {
    return new BoundTool(definition, this.#kinds.get(definition.implementation?.type), this.#defaultTimeoutMs)
  }

  #bindRegistered(call: Call): BoundTool {
    const registered = this.#registry.find(call.tool)
    if (registered === undefined) throw notFound(call, this.#registry.definitions())
    const definition = this.#registry.definitionOf(registered)
    const tool = this.#tools.get(definition.name) ?? this.bind(definition)
    this.#tools.set(definition.name, tool)
    return tool
  }
}

/** What bounds the calls of one tool, ready to be compared with. */
interface ToolLimits {
  readonly timeoutMs: number
  readonly maxResultBytes: number
  readonly maxConcurrency: number
  readonly rate: { readonly calls: number; readonly perMs: number } | undefined
  readonly cacheTtlMs: number | undefined
  readonly retry: { readonly maxAttempts: number; readonly backoffMs: number } | undefined
}

const DEFAULT_BACKOFF_MS = 1_000
/** The times of so many calls are kept for each tenant. */
const MOST_CALLS = 100_000

/** The limits of a tool. Throws where one makes no sense: it would otherwise hold nothing, and nobody would know. */
function toolLimits(tool: ToolDefinition, defaultTimeoutMs: number, usualRetry?: ToolDefinition['retry']): ToolLimits {
  const given = <Usual>(field: string, value: number | null | undefined, usual: Usual, least = Number.MIN_VALUE) => {
    if (value === undefined || value === null) return usual
    if (Number.isFinite(value) && value >= least) return value
    throw unfit(tool, field, value, least === 0 ? '0 or more' : 'a number above 0')
  }
  const { rate_limit: rate, retry = usualRetry, cache } = tool
  if (rate && !(Number.isInteger(rate.calls) && rate.calls > 0 && rate.calls <= MOST_CALLS)) {
    throw unfit(tool, 'rate_limit.calls', rate.calls, `a whole number from 1 to ${MOST_CALLS}`)
  }
  return {
    timeoutMs: given('timeout_ms', tool.timeout_ms, defaultTimeoutMs),
    maxResultBytes: given('max_result_bytes', tool.max_result_bytes, LIMITS.resultBytes),
    maxConcurrency: given('max_concurrency', tool.max_concurrency, Number.POSITIVE_INFINITY),
    rate: rate ? { calls: rate.calls, perMs: given('rate_limit.per_ms', rate.per_ms ?? Number.NaN, 0) } : undefined,
    cacheTtlMs: given('cache.ttl_ms', cache?.ttl_ms, undefined),
    retry: retry && {
      maxAttempts: given('retry.max_attempts', retry.max_attempts, 1),
      backoffMs: given('retry.backoff_ms', retry.backoff_ms, DEFAULT_BACKOFF_MS, 0),
    },
  }
}

const EFFECTS: ReadonlySet<string> = new Set<Effect>(['read', 'idempotent', 'write'])

/** What a call of the tool does to the world: as it says, else as its kind does. An unknown word is no licence to repeat. */
function toolEffect(tool: ToolDefinition, usual: Effect): Effect {
  const effect = tool.effect ?? usual
  if (EFFECTS.has(effect)) return effect
  throw unfit(tool, 'effect', effect, [...EFFECTS].join(', '))
}

function unfit(tool: ToolDefinition, field: string, value: unknown, allowed: string): ToolExecutionError {
  const words = `Tool '${tool.name}' has an invalid ${field}: it must be ${allowed}, not ${String(value)}`
  return new ToolExecutionError('EXECUTION_ERROR', words)
}

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
