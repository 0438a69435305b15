import type { CallBatch, RecordSink } from './recorder.ts'
import { TimeHistogram } from './time-histogram.ts'
import type { ToolErrorCode } from './tool-result.ts'

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

class Series {
  readonly times = new TimeHistogram()
  readonly errors = new Map<ToolErrorCode, number>()

  record(executionTimeMs: number, code: ToolErrorCode | undefined): void {
    this.times.record(executionTimeMs)
    if (code !== undefined) this.fail(code, 1)
  }

  add(other: Series): void {
    this.times.add(other.times)
    for (const [code, count] of other.errors) this.fail(code, count)
  }

  fail(code: ToolErrorCode, count: number): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + count)
  }

  figures(): ToolFigures {
    const { times } = this
    let failed = 0
    for (const count of this.errors.values()) failed += count
    return {
      total: times.total,
      success_rate: times.total === 0 ? 0 : (times.total - failed) / times.total,
      avg_ms: times.averageMs,
      p50_ms: times.percentileMs(0.5),
      p95_ms: times.percentileMs(0.95),
      p99_ms: times.percentileMs(0.99),
      errors: Object.fromEntries(this.errors),
    }
  }
}

export class ToolMetrics implements RecordSink {
  readonly #series = new Map<string, Series>()

  write({ records }: CallBatch): void {
    for (const { tool, code, executionTimeMs } of records) {
      this.#seriesOf(code === 'TOOL_NOT_FOUND' ? UNKNOWN : tool).record(executionTimeMs, code)
    }
  }

  figures(): ToolFigures & { readonly tools: Readonly<Record<string, ToolFigures>> } {
    const all = new Series()
    const tools: [string, ToolFigures][] = []
    for (const [name, series] of this.#series) {
      all.add(series)
      tools.push([name, series.figures()])
    }
    return { ...all.figures(), tools: Object.fromEntries(tools) }
  }

  #seriesOf(name: string): Series {
    let series = this.#series.get(name)
    if (series === undefined) {
      series = new Series()
      this.#series.set(name, series)
    }
    return series
  }
}
