import { matchesGlobs } from '../../core/execution/permit.ts'
import { countTimes, type StoredTimes, TimeHistogram } from '../../core/records/time-histogram.ts'
import { CallSeries, figuresByTool, timesOf } from '../../core/records/tool-metrics.ts'
import type { ModelFigures, ModelMetrics, ObjectiveQuery } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'

/** The content of one cell: something to count in, stored as JSON. */
export interface Figures {
  encode(): Uint8Array
  /** Adds what another one encoded; throws if that cannot be read. */
  merge(data: Uint8Array): void
}

const VERSION = 2

/** Figures as bytes, with the version of their form. */
export const encodeFigures = (figures: unknown): Uint8Array => Buffer.from(JSON.stringify([VERSION, figures]))

/** Reads what `encodeFigures` gave. */
export function decodeFigures<Stored>(data: Uint8Array): Stored {
  const [version, figures] = JSON.parse(new TextDecoder().decode(data)) as [number, Stored]
  if (version !== VERSION) {
    throw new RangeError(`The metrics have version ${version}, but this version of Toolyard reads ${VERSION}`)
  }
  return figures
}

type StoredTally = readonly (readonly [name: string, count: number])[]

/** Counts by name. */
class Tally extends Map<string, number> {
  add(name: string, count = 1): void {
    this.set(name, (this.get(name) ?? 0) + count)
  }

  addAll(counts: Iterable<readonly [string, number]>): void {
    for (const [name, count] of counts) this.add(name, count)
  }

  toJSON(): StoredTally {
    return [...this]
  }
}

/** Figures of several tools or models, by name. */
abstract class SeriesByName<Series extends { toJSON(): Stored; merge(stored: Stored): void }, Stored> {
  protected readonly series = new Map<string, Series>()
  readonly #nameOf: (name: string) => string

  /** `nameOf` gives the name under which merged figures are counted: those with the same name are added up. */
  constructor(nameOf: (name: string) => string = (name) => name) {
    this.#nameOf = nameOf
  }

  protected abstract make(): Series

  find(name: string): Series | undefined {
    return this.series.get(name)
  }

  of(name: string): Series {
    let series = this.series.get(name)
    if (series === undefined) {
      series = this.make()
      this.series.set(name, series)
    }
    return series
  }

  protected mergeSeries(stored: readonly (readonly [name: string, series: Stored])[]): void {
    for (const [name, series] of stored) this.of(this.#nameOf(name)).merge(series)
  }
}

interface StoredCalls {
  readonly times: StoredTimes
  readonly errors: StoredTally
}

class StoredCallSeries extends CallSeries {
  toJSON(): StoredCalls {
    return { times: this.times.toJSON(), errors: [...this.errors] }
  }

  merge({ times, errors }: StoredCalls): void {
    this.times.merge(times)
    this.addErrors(errors)
  }
}

/** The calls of one tenant, by tool. */
export class CallFigures extends SeriesByName<StoredCallSeries, StoredCalls> implements Figures {
  protected make(): StoredCallSeries {
    return new StoredCallSeries()
  }

  encode(): Uint8Array {
    return encodeFigures([...this.series])
  }

  merge(data: Uint8Array): void {
    this.mergeSeries(decodeFigures(data))
  }

  /** Of all calls together, and of each tool. */
  figures(): ReturnType<typeof figuresByTool> {
    return figuresByTool(this.series)
  }
}

/** The calls that count for each objective. Adds up stored figures without their histograms, which are large. */
export class ObjectiveCounts {
  readonly counts: { calls: number; failed: number; slow: number }[]
  readonly #query: ObjectiveQuery
  readonly #without: ReadonlySet<string>

  constructor(query: ObjectiveQuery) {
    this.#query = query
    this.#without = new Set(query.without)
    this.counts = query.objectives.map(() => ({ calls: 0, failed: 0, slow: 0 }))
  }

  merge(data: Uint8Array): void {
    for (const [name, calls] of decodeFigures<(readonly [string, StoredCalls])[]>(data)) this.#add(name, calls)
  }

  #add(name: string, { times, errors }: StoredCalls): void {
    let [failed, left] = [0, 0]
    for (const [code, count] of errors) {
      if (this.#without.has(code)) left += count
      else failed += count
    }
    for (const [index, { tool, slowMs = Number.POSITIVE_INFINITY }] of this.#query.objectives.entries()) {
      if (tool !== undefined && !matchesGlobs([tool], name)) continue
      const { total, longer } = countTimes(times, slowMs)
      const counts = this.counts[index] as (typeof this.counts)[number]
      counts.calls += total - left
      counts.failed += failed
      // The times of the calls that don't count are among the others.
      counts.slow += Math.min(longer, total - left)
    }
  }
}

interface StoredRuns {
  readonly models: readonly (readonly [string, StoredRunSeries])[]
  readonly tenants: readonly (readonly [string, TenantSum])[]
}

/** The runs of one tenant, by model; in the sum over all tenants also what each of them did. */
export class RunFigures extends SeriesByName<RunSeries, StoredRunSeries> implements Figures {
  readonly tenants = new TenantSums()

  protected make(): RunSeries {
    return new RunSeries()
  }

  encode(): Uint8Array {
    return encodeFigures({ models: [...this.series], tenants: this.tenants })
  }

  merge(data: Uint8Array): void {
    const { models, tenants } = decodeFigures<StoredRuns>(data)
    this.mergeSeries(models)
    for (const [tenant, sum] of tenants) this.tenants.add(tenant, sum)
  }

  figures(): Readonly<Record<string, ModelFigures>> {
    return Object.fromEntries(Array.from(this.series, ([model, series]) => [model, series.figures()]))
  }
}

interface TenantSum {
  readonly calls: number
  readonly runs: number
  readonly priced: number
  readonly cost: number
}

/** What each tenant did, stored with the sum over all tenants, so that a query need not read the cells of all of them. */
class TenantSums {
  readonly #sums = new Map<string, TenantSum>()

  add(tenant: string, more: Partial<TenantSum>): void {
    const sum = this.#sums.get(tenant)
    this.#sums.set(tenant, {
      calls: (sum?.calls ?? 0) + (more.calls ?? 0),
      runs: (sum?.runs ?? 0) + (more.runs ?? 0),
      priced: (sum?.priced ?? 0) + (more.priced ?? 0),
      cost: (sum?.cost ?? 0) + (more.cost ?? 0),
    })
  }

  toJSON(): StoredRuns['tenants'] {
    return [...this.#sums]
  }

  figures(): NonNullable<ModelMetrics['tenants']> {
    return Object.fromEntries(
      Array.from(this.#sums, ([tenant, { calls, runs, priced, cost }]) => [
        tenant,
        { calls, runs, cost: priced === 0 ? null : cost },
      ]),
    )
  }
}

/** The stop reasons that are limits. */
const LIMITS = ['max_iterations', 'repeated_calls', 'timeout', 'budget']

interface StoredRunSeries {
  readonly withTools: StoredTimes
  readonly withoutTools: StoredTimes
  readonly stopReasons: StoredTally
  readonly calls: StoredTally
  readonly failed: StoredTally
  readonly sums: StoredTally
  readonly maxIterations: number
}

/** The runs of one model, and the calls that it asked for. */
class RunSeries {
  readonly #withTools = new TimeHistogram()
  readonly #withoutTools = new TimeHistogram()
  readonly #stopReasons = new Tally()
  /** Calls that the model asked for, and those that failed, by tool. */
  readonly calls = new Tally()
  readonly failed = new Tally()
  /** `priced` counts the runs that reported a cost. */
  readonly #sums = new Tally()
  #maxIterations = 0

  record(run: StoredRun): void {
    const times = run.tool_calls > 0 ? this.#withTools : this.#withoutTools
    times.record(run.duration_ms)
    this.#stopReasons.add(run.stop_reason)
    for (const name of ['tool_calls', 'iterations', 'prompt_tokens', 'completion_tokens'] as const) {
      this.#sums.add(name, run[name])
    }
    if (run.cost !== null) {
      this.#sums.add('priced')
      this.#sums.add('cost', run.cost)
    }
    this.#maxIterations = Math.max(this.#maxIterations, run.iterations)
  }

  toJSON(): StoredRunSeries {
    return {
      withTools: this.#withTools.toJSON(),
      withoutTools: this.#withoutTools.toJSON(),
      stopReasons: this.#stopReasons.toJSON(),
      calls: this.calls.toJSON(),
      failed: this.failed.toJSON(),
      sums: this.#sums.toJSON(),
      maxIterations: this.#maxIterations,
    }
  }

  merge({ withTools, withoutTools, stopReasons, calls, failed, sums, maxIterations }: StoredRunSeries): void {
    this.#withTools.merge(withTools)
    this.#withoutTools.merge(withoutTools)
    this.#stopReasons.addAll(stopReasons)
    this.calls.addAll(calls)
    this.failed.addAll(failed)
    this.#sums.addAll(sums)
    this.#maxIterations = Math.max(this.#maxIterations, maxIterations)
  }

  figures(): ModelFigures {
    const sum = (name: string): number => this.#sums.get(name) ?? 0
    const runs = this.#withTools.total + this.#withoutTools.total
    const reasons = Object.fromEntries(this.#stopReasons)
    return {
      runs,
      runs_with_tools: this.#withTools.total,
      tool_calls: sum('tool_calls'),
      avg_iterations: runs === 0 ? 0 : sum('iterations') / runs,
      max_iterations: this.#maxIterations,
      limit_hits: Object.fromEntries(Object.entries(reasons).filter(([reason]) => LIMITS.includes(reason))),
      stop_reasons: reasons,
      with_tools: timesOf(this.#withTools),
      without_tools: timesOf(this.#withoutTools),
      prompt_tokens: sum('prompt_tokens'),
      completion_tokens: sum('completion_tokens'),
      cost: sum('priced') === 0 ? null : sum('cost'),
      tools: Object.fromEntries(
        Array.from(this.calls, ([tool, calls]) => [tool, { calls, failed: this.failed.get(tool) ?? 0 }]),
      ),
    }
  }
}
