import type { ModelFigures, ModelMetrics } from '../../../core/storage/ledger.ts'
import type { StoredRun } from '../../../core/storage/run-store.ts'
import { TimeHistogram } from '../../../core/time-histogram.ts'
import type { ToolFigures } from '../../../core/tool-metrics.ts'
import { addHistogram, ByteReader, ByteWriter, checkVersion, writeHistogram } from './figure-bytes.ts'

/** What one cell holds: something to count in, and its form as bytes. */
export interface Figures {
  /** Starts with the version of its form. */
  encode(): Uint8Array
  /** Adds what another one encoded; throws where that cannot be read. */
  merge(data: Uint8Array): void
}

/** How often each of a few names was counted. */
export class Tally {
  readonly #counts = new Map<string, number>()

  add(name: string, count = 1): void {
    this.#counts.set(name, this.get(name) + count)
  }

  addAll(other: Tally): void {
    for (const [name, count] of other.#counts) this.add(name, count)
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  get total(): number {
    let total = 0
    for (const count of this.#counts.values()) total += count
    return total
  }

  names(): Iterable<string> {
    return this.#counts.keys()
  }

  toRecord(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }

  write(to: ByteWriter): void {
    to.whole(this.#counts.size)
    for (const [name, count] of this.#counts) {
      to.text(name)
      to.whole(count)
    }
  }

  /** Adds what `write` wrote. */
  read(from: ByteReader): void {
    for (let left = from.whole(); left > 0; left--) this.add(from.text(), from.whole())
  }
}

const CALL_VERSION = 1

/** Times and errors of calls. */
class CallSeries {
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
    to.byte(CALL_VERSION)
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
    checkVersion(from.byte(), CALL_VERSION)
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

const RUN_VERSION = 1

/** The runs of one tenant, by model; in the sum over all tenants also what each of them did. */
export class RunFigures implements Figures {
  readonly #models = new Map<string, RunSeries>()
  readonly tenants = new TenantSums()
  readonly #nameOf: (model: string) => string

  /** `nameOf` says under which name a model is counted that is merged: several under one are added up. */
  constructor(nameOf: (model: string) => string = (model) => model) {
    this.#nameOf = nameOf
  }

  find(model: string): RunSeries | undefined {
    return this.#models.get(model)
  }

  of(model: string): RunSeries {
    let series = this.#models.get(model)
    if (series === undefined) {
      series = new RunSeries()
      this.#models.set(model, series)
    }
    return series
  }

  encode(): Uint8Array {
    const to = new ByteWriter()
    to.byte(RUN_VERSION)
    to.whole(this.#models.size)
    for (const [model, series] of this.#models) {
      to.text(model)
      series.write(to)
    }
    this.tenants.write(to)
    return to.bytes()
  }

  merge(data: Uint8Array): void {
    const from = new ByteReader(data)
    checkVersion(from.byte(), RUN_VERSION)
    for (let left = from.whole(); left > 0; left--) this.of(this.#nameOf(from.text())).read(from)
    this.tenants.read(from)
  }

  figures(): Readonly<Record<string, ModelFigures>> {
    return Object.fromEntries(Array.from(this.#models, ([model, series]) => [model, series.figures()]))
  }
}

interface TenantSum {
  calls: number
  runs: number
  priced: number
  cost: number
}

/** What each tenant did, in a few numbers: kept with the sum over all tenants, so that nobody has to read them all. */
class TenantSums {
  readonly #sums = new Map<string, TenantSum>()

  call(tenant: string): void {
    this.#of(tenant).calls++
  }

  run(tenant: string, cost: number | null): void {
    const sum = this.#of(tenant)
    sum.runs++
    if (cost === null) return
    sum.priced++
    sum.cost += cost
  }

  write(to: ByteWriter): void {
    to.whole(this.#sums.size)
    for (const [tenant, { calls, runs, priced, cost }] of this.#sums) {
      to.text(tenant)
      to.whole(calls)
      to.whole(runs)
      to.whole(priced)
      to.number(cost)
    }
  }

  /** Adds what `write` wrote. */
  read(from: ByteReader): void {
    for (let left = from.whole(); left > 0; left--) {
      const sum = this.#of(from.text())
      sum.calls += from.whole()
      sum.runs += from.whole()
      sum.priced += from.whole()
      sum.cost += from.number()
    }
  }

  figures(): NonNullable<ModelMetrics['tenants']> {
    return Object.fromEntries(
      Array.from(this.#sums, ([tenant, { calls, runs, priced, cost }]) => [
        tenant,
        { calls, runs, cost: priced === 0 ? null : cost },
      ]),
    )
  }

  #of(tenant: string): TenantSum {
    let sum = this.#sums.get(tenant)
    if (sum === undefined) {
      sum = { calls: 0, runs: 0, priced: 0, cost: 0 }
      this.#sums.set(tenant, sum)
    }
    return sum
  }
}

/** The ends of a run that are its limits. */
const LIMITS = ['max_iterations', 'repeated_calls', 'timeout', 'budget']

/** The runs of one model, and the calls that it asked for. */
export class RunSeries {
  readonly #withTools = new TimeHistogram()
  readonly #withoutTools = new TimeHistogram()
  readonly #stopReasons = new Tally()
  /** What the model asked for, and what of it failed. */
  readonly calls = new Tally()
  readonly failed = new Tally()
  #toolCalls = 0
  #iterations = 0
  #mostIterations = 0
  #promptTokens = 0
  #completionTokens = 0
  /** How many runs said what they cost, and the sum. */
  #priced = 0
  #cost = 0

  record(run: StoredRun): void {
    const times = run.tool_calls > 0 ? this.#withTools : this.#withoutTools
    times.record(run.duration_ms)
    this.#stopReasons.add(run.stop_reason)
    this.#toolCalls += run.tool_calls
    this.#iterations += run.iterations
    this.#mostIterations = Math.max(this.#mostIterations, run.iterations)
    this.#promptTokens += run.prompt_tokens
    this.#completionTokens += run.completion_tokens
    if (run.cost !== null) {
      this.#priced++
      this.#cost += run.cost
    }
  }

  write(to: ByteWriter): void {
    writeHistogram(to, this.#withTools)
    writeHistogram(to, this.#withoutTools)
    for (const tally of [this.#stopReasons, this.calls, this.failed]) tally.write(to)
    to.whole(this.#toolCalls)
    to.whole(this.#iterations)
    to.whole(this.#mostIterations)
    to.whole(this.#promptTokens)
    to.whole(this.#completionTokens)
    to.whole(this.#priced)
    to.number(this.#cost)
  }

  /** Adds what `write` wrote. */
  read(from: ByteReader): void {
    addHistogram(from, this.#withTools)
    addHistogram(from, this.#withoutTools)
    for (const tally of [this.#stopReasons, this.calls, this.failed]) tally.read(from)
    this.#toolCalls += from.whole()
    this.#iterations += from.whole()
    this.#mostIterations = Math.max(this.#mostIterations, from.whole())
    this.#promptTokens += from.whole()
    this.#completionTokens += from.whole()
    this.#priced += from.whole()
    this.#cost += from.number()
  }

  figures(): ModelFigures {
    const runs = this.#withTools.total + this.#withoutTools.total
    const reasons = this.#stopReasons.toRecord()
    return {
      runs,
      runs_with_tools: this.#withTools.total,
      tool_calls: this.#toolCalls,
      avg_iterations: runs === 0 ? 0 : this.#iterations / runs,
      max_iterations: this.#mostIterations,
      limit_hits: Object.fromEntries(Object.entries(reasons).filter(([reason]) => LIMITS.includes(reason))),
      stop_reasons: reasons,
      with_tools: timesOf(this.#withTools),
      without_tools: timesOf(this.#withoutTools),
      prompt_tokens: this.#promptTokens,
      completion_tokens: this.#completionTokens,
      cost: this.#priced === 0 ? null : this.#cost,
      tools: Object.fromEntries(
        Array.from(this.calls.names(), (tool) => [
          tool,
          { calls: this.calls.get(tool), failed: this.failed.get(tool) },
        ]),
      ),
    }
  }
}

const timesOf = (times: TimeHistogram): ModelFigures['with_tools'] => ({
  avg_ms: times.averageMs,
  p50_ms: times.percentileMs(0.5),
  p95_ms: times.percentileMs(0.95),
  p99_ms: times.percentileMs(0.99),
})
