import { LRUCache } from 'lru-cache'
import type { Handler, HandlerContext, Kind } from '../../core/handler.ts'
import { boundedJson } from '../../core/records/redact.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { suggest } from '../../core/suggest.ts'
import type { Effect, Params, ToolDefinition } from '../../core/tool.ts'
import { type StepReport, TOOL_ERRORS, ToolExecutionError, type ToolFailure } from '../../core/tool-result.ts'
import { PathTooMuch } from '../path/path-filter.ts'
import { CallSlots, type CompositeParts, strongestEffect } from './callees.ts'
import { type Plan, planOf, type Scope, type Step } from './pipeline-plan.ts'
import { PIPELINE_SCHEMA } from './pipeline-schema.ts'

const DEFAULT_MAX_PARALLEL = 8
/** One per tool and tenant. */
const MAX_LAST_RUNS = 200

/** The steps of a pipeline, and those of its last run on this server. */
export interface PipelineGraph {
  readonly steps: readonly {
    readonly id: string
    readonly tool: string
    readonly after: readonly string[]
    readonly for_each: boolean
    readonly when: boolean
  }[]
  readonly last_run?: LastRun
}

interface LastRun {
  readonly at: string
  readonly success: boolean
  readonly steps: readonly ShownStep[]
}

/** Tools that are made of other tools by configuration alone. */
export class PipelineKind implements Kind {
  readonly schema = PIPELINE_SCHEMA
  readonly runsProgram = false
  readonly #parts: CompositeParts
  readonly #plans = new WeakMap<ToolDefinition, Plan>()
  readonly #faults = new WeakMap<ToolDefinition, { readonly version: number; readonly fault: string | undefined }>()
  #depth = 0
  readonly #lastRuns = new LRUCache<string, LastRun>({ max: MAX_LAST_RUNS })

  constructor(parts: CompositeParts) {
    this.#parts = parts
  }

  /** The strongest effect of the steps. */
  effect(tool: ToolDefinition): Effect {
    if (this.problem(tool) !== undefined || this.#cycle(tool) !== undefined) return 'write'
    return strongestEffect(tool, this.#parts)
  }

  problem(tool: ToolDefinition): string | undefined {
    try {
      this.#plan(tool)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  /** Remembered until the registry changes: pipelines that call pipelines ask for it many times. */
  fault(tool: ToolDefinition): string | undefined {
    const { version } = this.#parts.registry
    const known = this.#faults.get(tool)
    if (known?.version === version) return known.fault
    if (this.#depth >= MAX_CHAIN) return undefined
    this.#depth++
    try {
      const fault = this.#faultOf(tool)
      this.#faults.set(tool, { version, fault })
      return fault
    } finally {
      this.#depth--
    }
  }

  #faultOf(tool: ToolDefinition): string | undefined {
    const problem = this.problem(tool)
    if (problem !== undefined) return problem
    const cycle = this.#cycle(tool)
    if (cycle !== undefined) return `It calls itself: ${cycle.join(' → ')}`
    const { registry } = this.#parts
    for (const { id, tool: name } of this.#plan(tool).steps) {
      const inner = registry.find(name)
      if (inner === undefined) {
        const [near] = suggest(
          name,
          registry.definitions().map((one) => one.name),
        )
        return `Step '${id}' calls the unknown tool '${name}'${near === undefined ? '' : `. Did you mean '${near}'?`}`
      }
      const reason = registry.brokenReason(registry.definitionOf(inner))
      if (reason !== undefined) return `Step '${id}' can't call tool '${name}': ${reason}`
    }
    return undefined
  }

  warning(tool: ToolDefinition): string | undefined {
    return this.problem(tool) === undefined ? this.#plan(tool).warning : undefined
  }

  callees(tool: ToolDefinition): readonly string[] {
    return this.#plan(tool).steps.map((step) => step.tool)
  }

  graph(tool: ToolDefinition, tenant: string): PipelineGraph {
    const lastRun = this.#lastRuns.get(runKey(tool, tenant))
    const steps = this.#plan(tool).steps.map(({ id, tool: name, after, items, when }) => ({
      ...{ id, tool: name, after: [...after], for_each: items !== undefined, when: when !== undefined },
    }))
    return { steps, ...(lastRun && { last_run: lastRun }) }
  }

  bind(tool: ToolDefinition): ReturnType<Kind['bind']> {
    const { effectOf, clock, maxParallel = DEFAULT_MAX_PARALLEL } = this.#parts
    const handler: Handler = async (params, context) => {
      const run = new PipelineRun(this.#plan(tool), params, context, { maxParallel, effectOf })
      context.onFailure?.(() => ({ steps: run.reports }))
      let success = false
      try {
        const result = await run.result()
        success = true
        return result
      } finally {
        const at = new Date(clock.wall()).toISOString()
        this.#lastRuns.set(runKey(tool, context.tenant), { at, success, steps: run.shown })
      }
    }
    return () => {
      const fault = this.fault(tool)
      if (fault !== undefined) throw new ToolExecutionError('EXECUTION_ERROR', fault)
      return handler
    }
  }

  #plan(tool: ToolDefinition): Plan {
    const plan = this.#plans.get(tool) ?? planOf(tool)
    this.#plans.set(tool, plan)
    return plan
  }

  /** The names of the tools on a way back to this one. */
  #cycle(tool: ToolDefinition): readonly string[] | undefined {
    const { registry } = this.#parts
    const visited = new Set<string>()
    const search = (one: ToolDefinition, path: readonly string[]): readonly string[] | undefined => {
      if (path.length > MAX_CHAIN || one.implementation.type !== tool.implementation.type) return undefined
      if (this.problem(one) !== undefined) return undefined
      for (const name of this.callees(one)) {
        if (name === tool.name) return [...path, name]
        const next = visited.has(name) ? undefined : registry.find(name)
        visited.add(name)
        const found = next && search(registry.definitionOf(next), [...path, name])
        if (found !== undefined) return found
      }
      return undefined
    }
    return search(tool, [tool.name])
  }
}

/** Calls nest ten deep at most, so the faults of a pipeline further down a chain don't matter. */
const MAX_CHAIN = 32

const runKey = ({ name }: ToolDefinition, tenant: string): string => JSON.stringify([tenant, name])

/** All results of one run, in characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024
/** A condition that takes more steps to check fails. */
const MAX_CONDITION_STEPS = 2_000_000
const MAX_SHOWN_CHARACTERS = 2_000

interface RunOptions {
  readonly maxParallel: number
  /** The effect of a tool. */
  effectOf(name: string): Effect | undefined
}

/** A step of a finished run, as people see it. */
interface ShownStep extends StepReport {
  /** The start of its redacted value. */
  readonly value?: string
}

interface Size {
  nodes: number
  characters: number
}

/** One run of a pipeline. Steps start as soon as the steps that they read have ended. */
class PipelineRun {
  readonly #plan: Plan
  readonly #context: HandlerContext
  readonly #options: RunOptions
  readonly #scope: Scope & { readonly steps: Record<string, unknown> }
  readonly #reports: Map<string, StepReport>
  readonly #ended = new Map<string, Promise<void>>()
  /** Cancels the other calls when a step has failed. */
  readonly #abort = new AbortController()
  readonly #size: Size
  readonly #slots: CallSlots
  #advance = 0
  #failure: ToolExecutionError | undefined

  constructor(plan: Plan, params: Params, context: HandlerContext, options: RunOptions) {
    this.#plan = plan
    this.#context = context
    this.#options = options
    this.#scope = { params, steps: Object.create(null) }
    this.#reports = new Map(plan.steps.map(({ id, tool }) => [id, { id, tool, status: 'not_run' }]))
    this.#size = sizeOf(params)
    this.#slots = new CallSlots(options.maxParallel)
  }

  async result(): Promise<unknown> {
    await Promise.all(this.#plan.steps.map((step) => this.#end(step)))
    if (this.#failure !== undefined) throw this.#failure
    return guarded('output', () => this.#plan.output(this.#scope))
  }

  get reports(): readonly StepReport[] {
    return [...this.#reports.values()]
  }

  get shown(): readonly ShownStep[] {
    return this.reports.map((report) => {
      const text = Object.hasOwn(this.#scope.steps, report.id) ? boundedJson(this.#scope.steps[report.id]) : undefined
      return { ...report, ...(text !== undefined && { value: text.slice(0, MAX_SHOWN_CHARACTERS) }) }
    })
  }

  #end(step: Step): Promise<void> {
    const known = this.#ended.get(step.id)
    if (known !== undefined) return known
    const before = this.#plan.steps.filter(({ id }) => step.after.has(id)).map((other) => this.#end(other))
    const ended = Promise.all(before).then(() => this.#run(step))
    this.#ended.set(step.id, ended)
    return ended
  }

  async #run(step: Step): Promise<void> {
    if (this.#failure !== undefined) return
    try {
      if (!this.#matches(step)) {
        this.#scope.steps[step.id] = null
        this.#report(step, { status: 'skipped' })
        return
      }
      this.#report(step, { status: 'running' })
      const value = step.items === undefined ? await this.#call(step, this.#scope) : await this.#callEach(step)
      if (this.#abort.signal.aborted) return
      this.#scope.steps[step.id] = value
      this.#report(step, { status: 'done' })
    } catch (error) {
      this.#fail(step, error as ToolExecutionError)
    }
  }

  #matches({ id, when }: Step): boolean {
    if (when === undefined) return true
    const { nodes, characters } = this.#size
    if (when.check === undefined || when.cost * nodes + when.textCost * characters > MAX_CONDITION_STEPS) {
      throw failed(`Step '${id}': the results so far are too large to compare with 'when'`)
    }
    return when.check(this.#scope)
  }

  async #callEach(step: Step): Promise<unknown[]> {
    const items = guarded(`Step '${step.id}'`, () => step.items?.find(this.#scope)) ?? []
    if (!Array.isArray(items)) {
      throw failed(`Step '${step.id}': for_each needs an array, not ${quoted(items)}`)
    }
    if (items.length > step.maxItems) {
      const message = `Step '${step.id}' has ${items.length} items, more than the ${step.maxItems} that it allows`
      throw new ToolExecutionError('INVALID_PARAMETERS', message)
    }
    const calls = items.map((item, index) => this.#call(step, { ...this.#scope, item }, index))
    // All must have ended before the step has.
    const settled = await Promise.allSettled(calls)
    await Promise.all(calls)
    return settled.map((one) => (one.status === 'fulfilled' ? one.value : null))
  }

  #call(step: Step, scope: Scope, index?: number): Promise<unknown> {
    return this.#slots.run(() => this.#callNow(step, scope, index))
  }

  async #callNow(step: Step, scope: Scope, index: number | undefined): Promise<unknown> {
    const { id, tool, onError } = step
    const name = index === undefined ? `Step '${id}'` : `Step '${id}', item ${index}`
    try {
      if (this.#failure !== undefined || this.#context.signal.aborted) return null
      const params = guarded(name, () => step.params(scope))
      const key = index === undefined ? id : `${id}/${index}`
      const result = await this.#context.call?.(tool, params, { step: key, signal: this.#abort.signal })
      if (result?.success === true) return this.#counted(result.result)
      if (result === undefined) throw failed(`${name}: tools can't be called here`)
      if (onError !== undefined && this.#failure === undefined && !mustEnd(result)) return this.#counted(onError.value)
      throw this.#failureOf(name, result, () => missing(step, scope))
    } catch (error) {
      // Items that wait for a place must not start.
      this.#stop(error as ToolExecutionError)
      throw error
    }
  }

  #failureOf(name: string, failure: ToolFailure, hint: () => string): ToolExecutionError {
    const { error, error_code: code, outcome, suggestions, details: { approval, connect_url, provider } = {} } = failure
    const isOwn = code === 'INVALID_PARAMETERS' || code === 'TOOL_NOT_FOUND'
    // Without a key, a caller that repeats the pipeline would repeat its writes.
    const repeats = TOOL_ERRORS[code].retryable && this.#context.idempotencyKey === undefined && this.#hasWritten()
    const extras = {
      ...(outcome && { outcome }),
      ...(suggestions && { suggestions }),
      ...(approval && { details: { approval, steps: this.reports } }),
      // MCP clients repeat the call when the account is connected.
      ...(connect_url && provider && !this.#hasWritten() && { details: { connect_url, provider } }),
    }
    const more = code === 'INVALID_PARAMETERS' ? hint() : ''
    const message = code === 'APPROVAL_REQUIRED' ? `${name} waits: ${error}` : `${name} failed: ${error}${more}`
    return new ToolExecutionError(isOwn || repeats ? 'EXECUTION_ERROR' : code, message, extras)
  }

  #hasWritten(): boolean {
    return this.reports.some(
      ({ status, tool }) => status !== 'not_run' && status !== 'skipped' && this.#options.effectOf(tool) === 'write',
    )
  }

  /** Counts each result of a step with items, so that no more than the limit is in memory. */
  #counted(value: unknown): unknown {
    const { nodes, characters } = sizeOf(value)
    this.#size.nodes += nodes
    this.#size.characters += characters
    if (this.#size.characters > MAX_CHARACTERS) {
      const message = `The results of the steps are larger than ${MAX_CHARACTERS} characters: ask for less`
      throw new ToolExecutionError('RESULT_TOO_LARGE', message)
    }
    return value
  }

  #fail(step: Step, error: ToolExecutionError): void {
    const isFirst = this.#failure === undefined || this.#failure === error
    this.#stop(error)
    const { message, code, extras } = error
    const outcome = extras?.outcome && { outcome: extras.outcome }
    if (isFirst) this.#report(step, { status: 'failed', error: message, error_code: code, ...outcome })
    else this.#report(step, { status: code === 'APPROVAL_REQUIRED' ? 'failed' : 'cancelled', ...outcome })
  }

  /** Nothing else starts. If a person has to decide, the calls that run may end. */
  #stop(error: ToolExecutionError): void {
    this.#failure ??= error
    if (error.code !== 'APPROVAL_REQUIRED') this.#abort.abort(error)
  }

  #report({ id, tool }: Step, state: Omit<StepReport, 'id' | 'tool'>): void {
    const { status } = state
    this.#advance += advanceOf(status) - advanceOf(this.#reports.get(id)?.status)
    this.#reports.set(id, { id, tool, ...state })
    const [progress, total] = [this.#advance, this.#reports.size]
    this.#context.report({ step: id, tool, status, progress, total, message: `Step '${id}': ${status}` })
  }
}

/** A step that runs counts half, so that each report is an advance. */
const advanceOf = (status: StepReport['status'] = 'not_run'): number =>
  status === 'running' ? 0.5 : status === 'not_run' ? 0 : 1

/** Paths of a step that found nothing: the likely reason of invalid parameters. */
function missing({ paths }: Step, scope: Scope): string {
  const empty = [...paths].filter(([, path]) => path.find(scope) === null).map(([text]) => text)
  return empty.length === 0 ? '' : `. Found nothing: ${empty.join(', ')}`
}

/** A person must decide, or the caller is gone: another value would hide it. */
const mustEnd = ({ error_code: code }: ToolFailure): boolean => code === 'APPROVAL_REQUIRED' || code === 'CANCELLED'

const failed = (message: string): ToolExecutionError => new ToolExecutionError('EXECUTION_ERROR', message)

function guarded<Value>(place: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof PathTooMuch)) throw error
    throw failed(`${place}: a path takes too many steps through the results: ask for less`)
  }
}

function sizeOf(value: unknown, size: Size = { nodes: 0, characters: 0 }): Size {
  size.nodes++
  if (typeof value === 'string') size.characters += value.length
  else if (Array.isArray(value)) for (const one of value) sizeOf(one, size)
  else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      size.characters += key.length
      sizeOf(value[key], size)
    }
  } else size.characters += 4
  return size
}
