import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { CallBatch, RecordSink } from '../core/recorder.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import { CallFigures, figureText } from './call-figures.ts'

/** A gauge that another part of Toolyard measures. */
export interface GaugeSource {
  readonly name: string
  readonly help: string
  /** Called for each scrape. */
  read(): number | Promise<number>
}

/** A gauge with a value per tool. */
export interface ToolGaugeSource {
  readonly name: string
  readonly help: string
  read(): Iterable<readonly [tool: string, value: number]>
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
  /** Process metrics and gauges. */
  readonly #rest = new Registry()
  #rows = 0
  #watchesProcess = false

  write({ records }: CallBatch): void {
    for (const record of records) {
      this.#all.call(record)
      const figures = this.#figuresOf(record.tenant)
      const before = figures.rows
      figures.call(record)
      if (figures.rows > before) this.#grown(record.tenant)
    }
  }

  /** Counts a finished run. */
  run(run: StoredRun): void {
    this.#all.run(run)
    const figures = this.#figuresOf(run.tenant)
    const before = figures.rows
    figures.run(run)
    if (figures.rows > before) this.#grown(run.tenant)
  }

  /** Adds a gauge to the totals. It is left out while it can't be read. */
  gauge({ name, help, read }: GaugeSource): void {
    new Gauge({
      name,
      help,
      registers: [this.#rest],
      async collect() {
        const value = await soon(read)
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  }

  /** Adds a gauge per tool to the totals. */
  toolGauge({ name, help, read }: ToolGaugeSource): void {
    new Gauge({
      name,
      help,
      labelNames: ['tool'],
      registers: [this.#rest],
      collect() {
        this.reset()
        for (const [tool, value] of read()) this.set({ tool }, value)
      },
    })
  }

  /** The metrics of a tenant; without a tenant the totals, process metrics and gauges. */
  async text(tenant: string | undefined): Promise<string> {
    if (tenant !== undefined) return figureText((this.#tenants.get(tenant) ?? new CallFigures()).families())
    // Process metrics cost time, so they start with the first scrape.
    if (!this.#watchesProcess) collectDefaultMetrics({ register: this.#rest })
    this.#watchesProcess = true
    return `${figureText(this.#all.families())}${await this.#rest.metrics()}`
  }

  #figuresOf(tenant: string): CallFigures {
    const figures = this.#tenants.get(tenant) ?? new CallFigures()
    this.#tenants.delete(tenant)
    this.#tenants.set(tenant, figures)
    return figures
  }

  /** Counts a new row, and removes the least recently active tenants above the limits. */
  #grown(tenant: string): void {
    this.#rows++
    for (const [other, { rows }] of this.#tenants) {
      if (other === tenant || (this.#tenants.size <= MAX_TENANTS && this.#rows <= MAX_ROWS)) break
      this.#tenants.delete(other)
      this.#rows -= rows
    }
  }
}

/** A slow store must not block the scrape. */
async function soon(read: () => number | Promise<number>): Promise<number | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), READ_TIMEOUT_MS)
  })
  try {
    const value = await Promise.race([read(), late])
    return Number.isFinite(value) ? value : undefined
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
