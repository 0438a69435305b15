import { LRUCache } from 'lru-cache'
import type { ToolErrorCode } from '../tool-result.ts'
import { type CallBatch, type CallRecord, type RecordSink, toolIn } from './recorder.ts'
import { TimeHistogram } from './time-histogram.ts'

/** Call statistics since the start, of one tool or of all. */
export interface ToolFigures {
  readonly total: number
  readonly success_rate: number
  readonly avg_ms: number
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  readonly errors: { readonly [code in ToolErrorCode]?: number }
}

/** Calls of unknown tools are counted together: callers choose these names. */
const UNKNOWN = '(unknown tools)'

const MAX_TENANTS = 1_000

/** Times and errors of calls. */
export class CallSeries {
  protected readonly times = new TimeHistogram()
  protected readonly errors = new Map<string, number>()

  record(executionTimeMs: number, code: string | null | undefined): void {
    this.times.record(executionTimeMs)
    if (code) this.addErrors([[code, 1]])
  }

  add(other: CallSeries): void {
    this.times.add(other.times)
    this.addErrors(other.errors)
  }

  protected addErrors(errors: Iterable<readonly [code: string, count: number]>): void {
    for (const [code, count] of errors) this.errors.set(code, (this.errors.get(code) ?? 0) + count)
  }

  figures(): ToolFigures {
    const { total } = this.times
    const failed = this.errors.values().reduce((sum, count) => sum + count, 0)
    return {
      total,
      success_rate: total === 0 ? 0 : (total - failed) / total,
      ...timesOf(this.times),
      errors: Object.fromEntries(this.errors),
    }
  }
}

export const timesOf = (times: TimeHistogram): Pick<ToolFigures, 'avg_ms' | 'p50_ms' | 'p95_ms' | 'p99_ms'> => ({
  avg_ms: times.averageMs,
  p50_ms: times.percentileMs(0.5),
  p95_ms: times.percentileMs(0.95),
  p99_ms: times.percentileMs(0.99),
})

/** Of all calls together, and of each tool. */
export function figuresByTool(
  series: Iterable<readonly [tool: string, series: CallSeries]>,
): ToolFigures & { readonly tools: Readonly<Record<string, ToolFigures>> } {
  const all = new CallSeries()
  const tools: [string, ToolFigures][] = []
  for (const [tool, one] of series) {
    all.add(one)
    tools.push([tool, one.figures()])
  }
  return { ...all.figures(), tools: Object.fromEntries(tools) }
}

export class ToolMetrics implements RecordSink {
  readonly #series = new Map<string, CallSeries>()
  readonly #uses = new LRUCache<string, Map<string, number>>({ max: MAX_TENANTS })

  /** Records of one tool and tenant mostly follow each other: their maps are read once, because each look takes time. */
  write({ records }: CallBatch): void {
    let last: string | undefined
    let uses: Map<string, number> | undefined
    for (let at = 0, first = records[0]; first !== undefined; first = records[at]) {
      const { tool, tenant } = first
      let successes = 0
      let series: CallSeries | undefined
      for (let one: CallRecord | undefined = first; one?.tool === tool && one.tenant === tenant; one = records[++at]) {
        const { code, executionTimeMs } = one
        if (code === undefined) successes++
        const isUnknown = code === 'TOOL_NOT_FOUND'
        if (!isUnknown) series ??= this.#seriesOf(toolIn(one))
        const counted = isUnknown ? this.#seriesOf(UNKNOWN) : series
        counted?.record(executionTimeMs, code)
      }
      if (successes === 0) continue
      if (uses === undefined || tenant !== last) uses = this.#begin(tenant)
      last = tenant
      uses.set(tool, (uses.get(tool) ?? 0) + successes)
    }
  }

  figures(): ReturnType<typeof figuresByTool> {
    return figuresByTool(this.#series)
  }

  /** How often a tenant has called each tool with success. Tenants learn nothing about the others. */
  usesOf(tenant: string): ReadonlyMap<string, number> | undefined {
    return this.#uses.get(tenant)
  }

  #begin(tenant: string): Map<string, number> {
    const uses = this.#uses.get(tenant) ?? new Map<string, number>()
    this.#uses.set(tenant, uses)
    return uses
  }

  #seriesOf(name: string): CallSeries {
    let series = this.#series.get(name)
    if (series === undefined) {
      series = new CallSeries()
      this.#series.set(name, series)
    }
    return series
  }
}
