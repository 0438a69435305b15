import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { CallBatch, RecordSink } from '../core/recorder.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import { CallFigures, figureText } from './call-figures.ts'

/** Something that somebody else knows how to measure. */
export interface GaugeSource {
  readonly name: string
  readonly help: string
  /** Asked when the figures are. */
  read(): number | Promise<number>
}

/** A figure that each tool has, where there is anything to say of it. */
export interface ToolGaugeSource {
  readonly name: string
  readonly help: string
  read(): Iterable<readonly [tool: string, value: number]>
}

const MOST_TENANTS = 1_000
/** Of all tenants together: a row is a tool or a model of one tenant. */
const MOST_ROWS = 20_000
const LONGEST_READ_MS = 1_000

/**
 * Figures for Prometheus: those of each tenant, and the sums of all. The sums have no `tenant` label, since tenants
 * times tools would be more series than a server should hand out. Of the tenants that call least often, figures are
 * let go of when there are too many; theirs begin at 0 again, and the sums keep what they had.
 */
export class Prometheus implements RecordSink {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #all = new CallFigures()
  /** Those who called last stand last. */
  readonly #tenants = new Map<string, CallFigures>()
  /** What the process takes, and the gauges. */
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

  /** Counts a run that is over. */
  run(run: StoredRun): void {
    this.#all.run(run)
    const figures = this.#figuresOf(run.tenant)
    const before = figures.rows
    figures.run(run)
    if (figures.rows > before) this.#grown(run.tenant)
  }

  /** Shows a figure of somebody else's beside the sums. One that cannot be read is left out until it can. */
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

  /** Shows a figure of tools beside the sums. */
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

  /** The figures of a tenant; without one, the sums of all, what the process takes, and the gauges. */
  async text(tenant: string | undefined): Promise<string> {
    if (tenant !== undefined) return figureText((this.#tenants.get(tenant) ?? new CallFigures()).families())
    // Watching costs something: it begins when somebody looks.
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

  /** A tenant has a row more: others may have to go for it, those first who have not called for longest. */
  #grown(tenant: string): void {
    this.#rows++
    for (const [other, { rows }] of this.#tenants) {
      if (other === tenant || (this.#tenants.size <= MOST_TENANTS && this.#rows <= MOST_ROWS)) break
      this.#tenants.delete(other)
      this.#rows -= rows
    }
  }
}

/** Who asks for figures does not wait for a store that does not answer. */
async function soon(read: () => number | Promise<number>): Promise<number | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), LONGEST_READ_MS)
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
