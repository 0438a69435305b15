import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { systemClock, within } from '../core/clock.ts'
import { inUnits } from '../core/costs.ts'
import type { CallBatch, CallRecord, RecordSink } from '../core/records/recorder.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import { KnownNames } from './known-names.ts'

/** A gauge that another part of Toolyard measures. */
interface GaugeSource {
  readonly name: string
  readonly help: string
  /** Called for each scrape. */
  read(): number | Promise<number>
}

type Labelled<Label extends string> = readonly (readonly [
  labels: Readonly<Partial<Record<Label, string>>>,
  value: number,
])[]

/** A gauge with a value for each of several things. */
interface LabelledGaugeSource<Label extends string> extends Omit<GaugeSource, 'read'> {
  readonly labels: readonly Label[]
  read(): Promise<Labelled<Label>>
}

const MAX_TENANTS = 1_000
/** Limit for all tenants together; a row is a tool or a model of one tenant. */
const MAX_ROWS = 20_000
const READ_TIMEOUT_MS = 1_000

/**
 * Metrics for Prometheus, per tenant and in total. Totals have no `tenant` label: tenants times tools would be too many
 * series. If there are too many tenants, the least recently active ones are dropped and restart at 0; totals keep
 * their values.
 */
export class Prometheus implements RecordSink {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #all = new CallFigures()
  /** Least recently active tenant first. */
  readonly #tenants = new Map<string, CallFigures>()
  #lastTenant: string | undefined = undefined
  readonly #rest = new Registry()
  #rows = 0
  #watchesProcess = false

  write({ records }: CallBatch): void {
    for (const record of records) this.#count(record.tenant, (figures) => figures.call(record))
  }

  run(run: StoredRun): void {
    this.#count(run.tenant, (figures) => figures.run(run))
  }

  /** Adds a gauge to the totals. It is left out while it can't be read. */
  gauge({ name, help, read }: GaugeSource): void {
    new Gauge({
      name,
      help,
      registers: [this.#rest],
      async collect() {
        const value = await soon(read)
        if (!Number.isFinite(value)) this.remove()
        else this.set(value as number)
      },
    })
  }

  labelledGauge<Label extends string>({ name, help, labels, read }: LabelledGaugeSource<Label>): void {
    new Gauge<Label>({
      name,
      help,
      labelNames: [...labels],
      registers: [this.#rest],
      async collect() {
        const values = (await soon(read)) ?? []
        this.reset()
        for (const [names, value] of values) this.set(names, value)
      },
    })
  }

  /** The metrics of a tenant; without a tenant the totals, process metrics and gauges. */
  async text(tenant: string | undefined): Promise<string> {
    if (tenant !== undefined) return (this.#tenants.get(tenant) ?? new CallFigures()).registry.metrics()
    // Process metrics cost time, so they start with the first scrape.
    if (!this.#watchesProcess) collectDefaultMetrics({ register: this.#rest })
    this.#watchesProcess = true
    return `${await this.#all.registry.metrics()}\n${await this.#rest.metrics()}`
  }

  /** Counts for all and for a tenant, and removes the least recently active tenants above the limits. */
  #count(tenant: string, count: (figures: CallFigures) => void): void {
    count(this.#all)
    const known = this.#tenants.get(tenant)
    const figures = known ?? new CallFigures()
    const before = known?.rows ?? 0
    count(figures)
    this.#rows += figures.rows - before
    if (tenant !== this.#lastTenant) {
      this.#tenants.delete(tenant)
      this.#tenants.set(tenant, figures)
      this.#lastTenant = tenant
    }
    if (this.#tenants.size <= MAX_TENANTS && this.#rows <= MAX_ROWS) return
    for (const [other, { rows }] of this.#tenants) {
      if (other === tenant || (this.#tenants.size <= MAX_TENANTS && this.#rows <= MAX_ROWS)) break
      this.#tenants.delete(other)
      this.#rows -= rows
    }
  }
}

/** A slow store must not block the scrape. */
const soon = <Value>(read: () => Value | Promise<Value>): Promise<Value | undefined> =>
  within(READ_TIMEOUT_MS, Promise.try(read), systemClock).catch(() => undefined)

const MAX_TOOLS = 500
const MAX_MODELS = 200
const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const RUN_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

const CALL_LABELS = ['tool', 'outcome', 'error_code', 'version'] as const

/** Metrics of calls and runs, of one tenant or of all. */
class CallFigures {
  readonly registry = new Registry()
  readonly #tools = new KnownNames(MAX_TOOLS, '(other tools)')
  readonly #models = new KnownNames(MAX_MODELS, '(other models)')
  readonly #calls = this.#counter('tool_calls_total', 'Tool calls, by outcome.', CALL_LABELS)
  readonly #callTimes = this.#histogram('tool_call_duration_seconds', 'Duration of tool calls.', 'tool', CALL_BOUNDS)
  readonly #callCost = this.#counter('tool_cost_total', 'Cost of tool calls, as far as it is known.', ['tool'])
  readonly #runs = this.#counter('runs_total', 'Model runs, by stop reason.', ['model', 'stop_reason'])
  readonly #runTimes = this.#histogram(
    'run_duration_seconds',
    'Duration of runs, from question to answer.',
    'model',
    RUN_BOUNDS,
  )
  readonly #tokens = this.#counter('run_tokens_total', 'Tokens used by runs.', ['model', 'type'])
  readonly #cost = this.#counter('run_cost_total', 'Cost of runs, with their tool calls.', ['model'])

  /** The number of tools and models, at least one. */
  get rows(): number {
    return Math.max(1, this.#tools.size + this.#models.size)
  }

  call(record: CallRecord): void {
    const { code, outcomeUnknown, executionTimeMs } = record
    const tool = this.#tools.toolOf(record)
    const versioned = record.version === undefined ? {} : { version: record.version }
    if (code === undefined) this.#calls.inc({ tool, outcome: 'success', ...versioned })
    else this.#calls.inc({ tool, outcome: outcomeUnknown ? 'unknown' : 'failure', error_code: code, ...versioned })
    this.#callTimes.observe({ tool }, executionTimeMs / 1_000)
    if (record.cost !== undefined) this.#callCost.inc({ tool }, inUnits(record.cost))
  }

  run({ model: name, stop_reason, duration_ms, prompt_tokens, completion_tokens, cost }: StoredRun): void {
    const model = this.#models.nameOf(name)
    this.#runs.inc({ model, stop_reason })
    this.#runTimes.observe({ model }, duration_ms / 1_000)
    this.#tokens.inc({ model, type: 'prompt' }, counted(prompt_tokens))
    this.#tokens.inc({ model, type: 'completion' }, counted(completion_tokens))
    if (cost !== null) this.#cost.inc({ model }, counted(cost))
  }

  #counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name: `toolyard_${name}`, help, labelNames: [...labelNames], registers: [this.registry] })
  }

  #histogram<Label extends string>(name: string, help: string, label: Label, buckets: number[]): Histogram<Label> {
    return new Histogram({ name: `toolyard_${name}`, help, labelNames: [label], buckets, registers: [this.registry] })
  }
}

/** Counters only grow: other values count as 0. */
const counted = (value: number): number => (Number.isFinite(value) && value > 0 ? value : 0)
