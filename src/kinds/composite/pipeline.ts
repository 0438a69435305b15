import { LRUCache } from 'lru-cache'
import type { Handler, Kind } from '../../core/handler.ts'
import { suggest } from '../../core/suggest.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { type CompositeParts, strongestEffect } from './callees.ts'
import { type Plan, planOf } from './pipeline-plan.ts'
import { PipelineRun, type ShownStep } from './pipeline-run.ts'
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
  readonly #parts: CompositeParts
  readonly #plans = new WeakMap<ToolDefinition, Plan>()
  readonly #faults = new WeakMap<ToolDefinition, { readonly version: number; readonly fault: string | undefined }>()
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
    const fault = this.#faultOf(tool)
    this.#faults.set(tool, { version, fault })
    return fault
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
      if (one.implementation.type !== tool.implementation.type || this.problem(one) !== undefined) return undefined
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

const runKey = ({ name }: ToolDefinition, tenant: string): string => JSON.stringify([tenant, name])
