import { TimeHistogram } from '../../../core/time-histogram.ts'
import type { ToolFigures } from '../../../core/tool-metrics.ts'
import { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import { checkVersion } from './check-version.ts'
import type { Figures } from './figures.ts'
import { addHistogram, writeHistogram } from './histogram-bytes.ts'
import { Tally } from './tally.ts'

const VERSION = 1

/** Times and errors of calls. */
export class CallSeries {
  readonly times = new TimeHistogram()
  readonly errors = new Tally()

  record(durationMs: number, code: string | null): void {
    this.times.record(durationMs)
    if (code !== null) this.errors.add(code)
  }

  add(other: CallSeries): void {
    this.times.add(other.times)
    this.errors.addAll(other.errors)
  }

  figures(): ToolFigures {
    const { times, errors } = this
    return {
      total: times.total,
      success_rate: times.total === 0 ? 0 : (times.total - errors.total) / times.total,
      avg_ms: times.averageMs,
      p50_ms: times.percentileMs(0.5),
      p95_ms: times.percentileMs(0.95),
      p99_ms: times.percentileMs(0.99),
      errors: errors.toRecord(),
    }
  }
}

/** The calls of one tenant, by tool. */
export class CallFigures implements Figures {
  readonly #tools = new Map<string, CallSeries>()
  readonly #nameOf: (tool: string) => string

  /** `nameOf` says under which name a tool is counted that is merged: several under one are added up. */
  constructor(nameOf: (tool: string) => string = (tool) => tool) {
    this.#nameOf = nameOf
  }

  find(tool: string): CallSeries | undefined {
    return this.#tools.get(tool)
  }

  of(tool: string): CallSeries {
    let series = this.#tools.get(tool)
    if (series === undefined) {
      series = new CallSeries()
      this.#tools.set(tool, series)
    }
    return series
  }

  encode(): Uint8Array {
    const to = new ByteWriter()
    to.byte(VERSION)
    to.whole(this.#tools.size)
    for (const [tool, { times, errors }] of this.#tools) {
      to.text(tool)
      writeHistogram(to, times)
      errors.write(to)
    }
    return to.bytes()
  }

  merge(data: Uint8Array): void {
    const from = new ByteReader(data)
    checkVersion(from.byte(), VERSION)
    for (let left = from.whole(); left > 0; left--) {
      const { times, errors } = this.of(this.#nameOf(from.text()))
      addHistogram(from, times)
      errors.read(from)
    }
  }

  /** Of all calls together, and of each tool. */
  figures(): ToolFigures & { readonly tools: Readonly<Record<string, ToolFigures>> } {
    const all = new CallSeries()
    const tools: [string, ToolFigures][] = []
    for (const [tool, series] of this.#tools) {
      all.add(series)
      tools.push([tool, series.figures()])
    }
    return { ...all.figures(), tools: Object.fromEntries(tools) }
  }
}
