import type { CallContext, ParentCall } from '../call-context.ts'
import { ABOVE_ZERO, COUNT, type NumberRange, nearest, numberProblem } from '../check-options.ts'
import type { CompilePath } from '../costs.ts'
import { asToolError } from '../failure.ts'
import type { CircuitState, Handler, IsolatedHandler, Kind, ToolHealth } from '../handler.ts'
import type { CallerRate, Rate, Rates } from '../rates.ts'
import { guardParameters } from '../schema/guard-schema.ts'
import type { ReadSchema, Refinement } from '../schema/json-schema-of.ts'
import { counted, periodInWords, shortened } from '../schema/problem-words.ts'
import { type CompiledSchema, compile, compiler } from '../schema/schema-compiler.ts'
import { withoutSlowPatterns } from '../schema/schema-keywords.ts'
import { LIMITS } from '../snapshot.ts'
import { type Pause, readHashed } from '../storage/pause-store.ts'
import { suggest } from '../suggest.ts'
import type { Effect, HashedTool, Params, ToolDefinition } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'
import { approvalFault, type BoundApproval, bindApproval } from './approvals.ts'
import { type Call, clampTimeout } from './call.ts'
import { CODE, CORE_KINDS, missingKind } from './core-kinds.ts'
import { type Execution, type ExecutionHost, JoinableExecutions } from './execution.ts'
import { checkPermissions, missingPermission } from './permit.ts'
import { ProgramTools, sharedFault } from './program-tools.ts'
import { toolHash } from './result-cache.ts'
import type { CompiledCall } from './stages.ts'
import { bindCost, type ToolCost } from './tool-cost.ts'
import type { ToolRegistry } from './tool-registry.ts'
import { deprecation, pinnedName, REFINEMENT, RESULT, versionOf, viewOf } from './tool-view.ts'

const MAX_NAME_LENGTH = 200

const NOT_LOADED = ': tools are not loaded yet. Await loadTools() first'

/** Suggests similar names, but only of tools that the caller may use. */
function notFound(asked: string, caller: CallContext, registry: ToolRegistry): ToolExecutionError {
  const { visible } = caller
  const names = registry
    .definitions()
    .filter((tool) => visible?.has(tool.name) !== false && missingPermission(tool, caller) === undefined)
    .map((tool) => tool.name)
  const end = asked.lastIndexOf('@')
  const name = asked.slice(0, Math.max(0, end))
  if (names.includes(name)) {
    const known = registry.versionsOf(name).map(versionOf)
    const message = `Tool '${name}' has no version '${shortened(asked.slice(end + 1))}': it has ${known.join(', ')}`
    return new ToolExecutionError('TOOL_NOT_FOUND', message, { suggestions: known.map((one) => `${name}@${one}`) })
  }
  const suggestions = suggest(asked, names)
  return new ToolExecutionError(
    'TOOL_NOT_FOUND',
    `Tool '${asked.length > MAX_NAME_LENGTH ? `${asked.slice(0, MAX_NAME_LENGTH)}…` : asked}' not found${registry.isLoaded ? '' : NOT_LOADED}`,
    suggestions.length > 0 ? { suggestions } : {},
  )
}

/** A tool in code that calls others may build a cycle: only its depth shows. */
const MAX_NESTED_CALLS = 10

/** A child call ends by the deadline of its parent. */
function bindToParent(call: Call, { deadline, path }: ParentCall): void {
  if (path.length >= MAX_NESTED_CALLS) {
    const message = `Tool '${call.tool}' can't be called here: ${path.length} calls are nested already (${path.join(' → ')}). Look for tools that call each other`
    throw new ToolExecutionError('EXECUTION_ERROR', message)
  }
  call.timeoutMs = Math.min(call.timeoutMs, Math.max(0, deadline - call.startedMs))
}

/** The registered tools, each bound on its first call. */
export class BoundTools {
  readonly #registry: ToolRegistry
  readonly #kinds: ReadonlyMap<string, Kind>
  /** Whether it has the kinds of the core only. */
  readonly #isBare: boolean
  readonly #defaultTimeoutMs: number
  /** Whether there is a store for approvals. */
  readonly #canAsk: boolean
  readonly #compilePath: CompilePath | undefined
  readonly #settled: () => Promise<void>
  readonly #compileCall: (tool: BoundTool) => CompiledCall
  readonly #programs: ProgramTools
  /** By name, if there is only one version. */
  readonly #tools = new Map<string, BoundTool>()
  readonly #bound = new Map<ToolDefinition, BoundTool>()

  constructor(
    registry: ToolRegistry,
    kinds: Readonly<Record<string, Kind>>,
    defaultTimeoutMs: number,
    canAsk: boolean,
    compilePath: CompilePath | undefined,
    settled: (() => Promise<void>) | undefined,
    compileCall: (tool: BoundTool) => CompiledCall,
  ) {
    this.#compileCall = compileCall
    this.#compilePath = compilePath
    this.#settled = settled ?? (async () => {})
    this.#registry = registry
    this.#canAsk = canAsk
    this.#kinds = new Map(Object.entries({ ...CORE_KINDS, ...kinds }))
    this.#isBare = Object.keys(kinds).length === 0
    this.#defaultTimeoutMs = defaultTimeoutMs
    this.#programs = new ProgramTools(registry, this.#kinds)
    registry.onChange((name) => {
      // The effect of a tool that calls others depends on them.
      for (const [definition, tool] of this.#bound) {
        if (tool.name !== name && !tool.callsOthers) continue
        this.#tools.delete(tool.name)
        this.#bound.delete(definition)
      }
    })
  }

  get running(): number {
    let running = 0
    for (const tool of this.#bound.values()) running += tool.running
    return running
  }

  /** Finds the tool of a call and sets the call's timeout. Throws if the caller can't see the tool. */
  find(call: Call): BoundTool {
    const tool = this.#tools.get(call.tool) ?? this.#resolve(call)
    if (call.context.visible?.has(tool.name) === false) throw notFound(call.tool, call.context, this.#registry)
    call.bound = tool
    if (tool.warning !== undefined) call.warn(tool.warning)
    const asked = call.context.timeoutMs
    if (asked === undefined) call.timeoutMs = tool.limits.timeoutMs
    else if (typeof asked !== 'number' || Number.isNaN(asked)) {
      throw new ToolExecutionError('INVALID_PARAMETERS', `timeoutMs ${numberProblem(asked, {})}`)
    } else call.timeoutMs = call.source === 'job' ? asked : clampTimeout(asked)
    if (call.context.parent !== undefined) bindToParent(call, call.context.parent)
    return tool
  }

  /** Why calls of a tool would fail now. */
  fault(tool: ToolDefinition): string | undefined {
    const { type } = tool.implementation
    const kind = this.#kindOf(type)
    if (kind === undefined) return `Unknown implementation type: ${type}`
    const fault = sharedFault(tool, kind) ?? approvalFault(tool, this.#canAsk) ?? fieldsFault(tool)
    return fault ?? kind.fault?.(tool)
  }

  /** A tool as its caller sees it. */
  shown(tool: ToolDefinition, rights: Pick<CallContext, 'flags' | 'tools'>): ToolDefinition {
    const kind = this.#kinds.get(tool.implementation?.type)
    if (kind?.describe === undefined) return tool
    const usable = (kind.callees?.(tool) ?? []).flatMap((name) => {
      const registered = this.#registry.find(name)
      const one = registered && this.#registry.definitionOf(registered)
      const isUsable = one && missingPermission(one, rights) === undefined && !this.#registry.brokenReason(one)
      return isUsable ? [one] : []
    })
    return { ...tool, description: kind.describe(tool, usable) }
  }

  /** Only tools that were called before are bound. */
  bound(name: string): BoundTool | undefined {
    const tool = this.#registry.find(name)
    return tool && this.#bound.get(this.#registry.definitionOf(tool))
  }

  *circuits(tenant: string | undefined): Generator<readonly [tool: string, circuit: CircuitState]> {
    for (const tool of this.#bound.values()) {
      const circuit = tool.circuit(tenant)
      if (circuit !== undefined) yield [tool.name, circuit]
    }
  }

  async hashOf(tool: ToolDefinition): Promise<HashedTool> {
    const parts = {
      kindOf: ({ implementation }: ToolDefinition) => this.#kinds.get(implementation?.type),
      reachable: (name: string) => this.#registry.reachable(name),
      settled: this.#settled,
    }
    // Only calls that wait for approval need it.
    const { definitionHash } = await import('./definition-hash.ts')
    return [pinnedName(tool), await definitionHash(tool, parts)]
  }

  /** The first tool, as `name@version`, whose definition is not the one that was approved, or isn't known. */
  async changed({ tool: asked, definitions }: Pick<Pause, 'tool' | 'definitions'>): Promise<string | undefined> {
    for (const [name, hash] of readHashed(definitions) ?? [[asked, '']]) {
      const at = name.lastIndexOf('@')
      const tool = this.#registry.at({ name: name.slice(0, at), version: name.slice(at + 1) })
      const now = tool && (await this.hashOf(this.#registry.definitionOf(tool)))
      if (now?.[1] !== hash) return name
    }
    return undefined
  }

  /** Binds a tool that may not be registered. */
  bind(definition: ToolDefinition): BoundTool {
    const isOne = !this.#registry.hasVersions(definition.name)
    const version = isOne ? definition.version : versionOf(definition)
    const kind = this.#kindOf(definition.implementation?.type)
    const runsProgram = this.#programs.of(definition)
    const tool = new BoundTool(definition, kind, this.#defaultTimeoutMs, runsProgram, version, this.#compilePath)
    tool.stages = this.#compileCall(tool)
    return tool
  }

  /** The tool of a name; without a caller, its current version. Throws if there is none. */
  of(name: string, caller?: CallContext): BoundTool {
    const single = this.#tools.get(name)
    if (single !== undefined) return single
    const registered = this.#registry.find(name, caller)
    if (registered === undefined) throw notFound(name, caller ?? {}, this.#registry)
    const definition = this.#registry.definitionOf(registered)
    const tool = this.#bound.get(definition) ?? this.bind(definition)
    this.#bound.set(definition, tool)
    if (!this.#registry.hasVersions(tool.name)) this.#tools.set(tool.name, tool)
    return tool
  }

  #kindOf(type: string): Kind | undefined {
    return this.#kinds.get(type) ?? (this.#isBare ? missingKind(type) : undefined)
  }

  #resolve(call: Call): BoundTool {
    const tool = this.of(call.tool, call.context)
    if (call.tool !== pinnedName(tool.definition)) return tool
    // A model calls the version that it was offered.
    if (call.context.visible?.has(call.tool) === false) throw notFound(call.tool, call.context, this.#registry)
    call.tool = tool.name
    return tool
  }
}

interface ToolLimits {
  readonly timeoutMs: number
  readonly maxResultBytes: number
  readonly maxConcurrency: number
  readonly rate: { readonly calls: number; readonly perMs: number } | undefined
  readonly cacheTtlMs: number | undefined
  readonly retry: { readonly maxAttempts: number; readonly backoffMs: number } | undefined
}

const DEFAULT_BACKOFF_MS = 1_000
/** The rate limiter stores this many call times per tenant. */
const MAX_CALLS = 100_000

const PARTS: Readonly<Record<'retry' | 'cache' | 'rate_limit', readonly string[]>> = {
  retry: ['max_attempts', 'backoff_ms'],
  cache: ['ttl_ms'],
  rate_limit: ['calls', 'per_ms'],
}

function checkParts(tool: ToolDefinition): void {
  for (const [field, keys] of Object.entries(PARTS) as [keyof typeof PARTS, readonly string[]][]) {
    const value: unknown = tool[field]
    if (value === undefined) continue
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw invalid(tool, field, value, `an object with ${keys.join(' and ')}`)
    const unknown = Object.keys(value).find((key) => !keys.includes(key))
    if (unknown === undefined) continue
    const message = `Tool '${tool.name}' has an invalid ${field}: unknown key '${unknown}'. ${nearest(unknown, keys)}`
    throw new ToolExecutionError('EXECUTION_ERROR', message)
  }
}

/** Why every call of a tool would fail, whatever its kind. */
function fieldsFault(tool: ToolDefinition): string | undefined {
  try {
    checkFields(tool)
    return undefined
  } catch (error) {
    return asToolError(error, tool.name).message
  }
}

/** Throws if a field of a definition has a value with which every call would fail. */
export function checkFields(tool: ToolDefinition): void {
  const fault = sharedFault(tool, undefined)
  if (fault !== undefined) throw new ToolExecutionError('EXECUTION_ERROR', fault)
  checkPermissions(tool)
  toolEffect(tool, 'write')
  toolLimits(tool, Number.POSITIVE_INFINITY)
  bindApproval(tool)
  bindCost(tool)
  deprecation(tool, tool.version)
}

/** Throws if a limit is invalid: it would silently have no effect. */
function toolLimits(tool: ToolDefinition, defaultTimeoutMs: number, usualRetry?: ToolDefinition['retry']): ToolLimits {
  const needed = (field: string, value: number, range: NumberRange): number => {
    const problem = numberProblem(value, range)
    if (problem === undefined) return value
    throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${tool.name}' has an invalid ${field}: it ${problem}`)
  }
  const given = (field: string, value: number | undefined, usual: number, range: NumberRange) =>
    value === undefined ? usual : needed(field, value, range)
  checkParts(tool)
  const { rate_limit: rate, retry = usualRetry, cache } = tool
  return {
    timeoutMs: given('timeout_ms', tool.timeout_ms, defaultTimeoutMs, ABOVE_ZERO),
    maxResultBytes: given('max_result_bytes', tool.max_result_bytes, LIMITS.resultBytes, COUNT),
    maxConcurrency: given('max_concurrency', tool.max_concurrency, Number.POSITIVE_INFINITY, COUNT),
    rate: rate
      ? {
          calls: needed('rate_limit.calls', rate.calls, { ...COUNT, max: MAX_CALLS }),
          perMs: needed('rate_limit.per_ms', rate.per_ms, ABOVE_ZERO),
        }
      : undefined,
    cacheTtlMs: cache ? needed('cache.ttl_ms', cache.ttl_ms, ABOVE_ZERO) : undefined,
    retry: retry && {
      maxAttempts: needed('retry.max_attempts', retry.max_attempts, COUNT),
      backoffMs: given('retry.backoff_ms', retry.backoff_ms, DEFAULT_BACKOFF_MS, { min: 0 }),
    },
  }
}

const EFFECTS: ReadonlySet<string> = new Set<Effect>(['read', 'idempotent', 'write'])

/** An unknown effect is an error: the tool might be retried by mistake. */
function toolEffect(tool: ToolDefinition, usual: Effect): Effect {
  const { effect = usual } = tool
  if (EFFECTS.has(effect)) return effect
  throw invalid(tool, 'effect', effect, [...EFFECTS].join(', '))
}

function invalid(tool: ToolDefinition, field: string, value: unknown, allowed: string): ToolExecutionError {
  const message = `Tool '${tool.name}' has an invalid ${field}: it must be ${allowed}, not ${String(value)}`
  return new ToolExecutionError('EXECUTION_ERROR', message)
}

/** Loads the compiler of schemas, unless the program has it already. */
export async function loadCompiler(): Promise<void> {
  if (compiler() === undefined) await import('../schema/compiled-schema.ts')
}

const MAX_TENANTS = 10_000
const NO_STAGES: CompiledCall = { before: [], after: [] }

/** A tool with everything that can be computed once. */
export class BoundTool implements ExecutionHost {
  readonly name: string
  readonly definition: ToolDefinition
  readonly effect: Effect
  readonly limits: ToolLimits
  /** Set if calls may need approval. */
  readonly approval: BoundApproval | undefined
  /** Undefined if the definition names no cost. */
  readonly cost: ToolCost | undefined
  /** Set if the kind renames parameters. */
  readonly rename: ((params: Params) => Params) | undefined
  /** Set if the parameters came as a schema of a validation library. */
  readonly refinement: Refinement | undefined
  readonly isCode: boolean
  /** Whether its kind makes calls of other tools. */
  readonly callsOthers: boolean
  /** The provider whose accounts of users it uses. */
  readonly account: string | undefined
  readonly neverPrinted: boolean
  /** Undefined if the tool has no version, and is the only one of its name. */
  readonly version: string | undefined
  /** What every call says: that the tool is deprecated. */
  readonly warning: string | undefined
  running = 0
  /** What its calls pass. */
  stages: CompiledCall = NO_STAGES
  /** Only `read` tools have joinable executions. */
  readonly executions = new JoinableExecutions()
  readonly #resolve: (() => Handler | IsolatedHandler) | undefined
  #compiled: CompiledSchema | undefined
  #result: CompiledSchema | undefined
  #fault: unknown
  #hash: string | undefined
  readonly #kind: Kind | undefined
  readonly #runsProgram: () => boolean
  readonly #rates = new Map<string, CallerRate>()

  constructor(
    definition: ToolDefinition,
    kind: Kind | undefined,
    defaultTimeoutMs: number,
    runsProgram: () => boolean,
    version?: string,
    compilePath?: CompilePath,
  ) {
    this.name = definition.name
    this.#runsProgram = runsProgram
    this.version = version
    this.warning = deprecation(definition, version)
    this.definition = definition
    this.effect = toolEffect(definition, kind?.effect(definition) ?? 'write')
    const timeoutMs = kind?.timeoutMs?.(definition) ?? defaultTimeoutMs
    this.limits = toolLimits(definition, timeoutMs, kind?.retry?.(definition))
    this.approval = bindApproval(definition)
    this.cost = bindCost(definition, compilePath)
    this.#kind = kind
    this.refinement = viewOf(definition)[REFINEMENT]
    this.isCode = definition.implementation?.type === CODE
    this.callsOthers = kind?.callees !== undefined
    this.account = kind?.account?.(definition)
    this.neverPrinted = kind?.neverPrinted === true
    this.rename = kind?.rename && ((params) => kind.rename?.(definition, params) ?? params)
    this.#resolve = kind?.bind(definition)
  }

  /** Compiled on first use. Throws if the schema is invalid. */
  get compiled(): CompiledSchema {
    if (this.#compiled !== undefined) return this.#compiled
    if (this.#fault !== undefined) throw this.#fault
    try {
      const { parameters } = this.definition
      guardParameters(parameters)
      this.#compiled = compile(this.refinement?.fillsDefaults ? withoutSlowPatterns(parameters) : parameters)
      return this.#compiled
    } catch (error) {
      this.#fault = error
      throw error
    }
  }

  get hasResult(): boolean {
    return viewOf(this.definition)[RESULT] !== undefined
  }

  /** The schema of results, if the tool has one. */
  get result(): (ReadSchema & { readonly compiled: CompiledSchema }) | undefined {
    const result = viewOf(this.definition)[RESULT]
    if (result === undefined) return undefined
    this.#result ??= compile(result.refinement === undefined ? result.schema : withoutSlowPatterns(result.schema))
    return { ...result, compiled: this.#result }
  }

  /** Whether the result is for this call only, because it may ask people or its client, or it may be for somebody else. */
  isPrivate({ context, isStated }: Pick<Call, 'context' | 'isStated'>): boolean {
    if (!isStated || this.#kind?.sharesResults === false) return true
    if (this.#kind?.asksPeople?.(this.definition) === true) return true
    return context.client !== undefined && this.#kind?.asksClient?.(this.definition) === true
  }

  /** Whether calls run a function of the program, here or in a tool that they call, that may know more of the caller. */
  get runsProgram(): boolean {
    return this.#runsProgram()
  }

  get dependsOnCaller(): boolean {
    const { isCode, definition } = this
    return (isCode && definition.shared !== true) || this.runsProgram || this.callsOthers || this.account !== undefined
  }

  handler(): Handler | IsolatedHandler {
    if (this.#resolve !== undefined) return this.#resolve()
    const type = this.definition.implementation?.type
    throw new ToolExecutionError('EXECUTION_ERROR', `Unknown implementation type: ${type}`)
  }

  get hash(): string {
    this.#hash ??= toolHash(this.definition)
    return this.#hash
  }

  joinable(key: string): Execution | undefined {
    return this.executions.size === 0 ? undefined : this.executions.find(this.hash, key)
  }

  /** The tool's rate limit for one tenant. Only for tools that have one. */
  rateOf(tenant: string): CallerRate {
    let rate = this.#rates.get(tenant)
    if (rate === undefined) {
      const { calls, perMs } = this.limits.rate as Rate
      const description = `Tool '${this.name}' allows ${counted(calls, 'call')} per ${periodInWords(perMs)}`
      rate = { calls, perMs, key: `tool ${tenant} ${this.name}`, description }
      if (this.#rates.size >= MAX_TENANTS) this.#rates.clear()
      this.#rates.set(tenant, rate)
    }
    return rate
  }

  circuit(tenant: string | undefined): CircuitState | undefined {
    return this.#kind?.circuit?.(this.definition, tenant)
  }

  health(tenant: string, rates: Rates, now: number): ToolHealth {
    const { running } = this
    const circuit = this.circuit(tenant)
    const { rate, maxConcurrency } = this.limits
    const state = rate && rates.look(this.rateOf(tenant).key, rate, now)
    return {
      ...(circuit !== undefined && { circuit }),
      ...(rate && { rate_limit: { calls: rate.calls, per_ms: rate.perMs, remaining: state?.remaining ?? 0 } }),
      ...(Number.isFinite(maxConcurrency) && { concurrency: { most: maxConcurrency, running } }),
    }
  }

  checkConcurrency(): void {
    if (this.running < this.limits.maxConcurrency) return
    throw new ToolExecutionError(
      'RATE_LIMITED',
      `Tool '${this.name}' runs at most ${this.limits.maxConcurrency} calls at a time: try again when one has ended`,
    )
  }
}
