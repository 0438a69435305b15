import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { CallBatch, CallRecord, RecordSink } from '../core/recorder.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { ToolErrorCode } from '../core/tool-result.ts'
import { KnownNames } from './known-names.ts'

/** A gauge that another part of Toolyard measures. */
export interface GaugeSource {
  readonly name: string
  readonly help: string
  /** Called for each scrape. */
  read(): number | Promise<number>
}

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

const MAX_TOOLS = 500
const MAX_MODELS = 200
const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const RUN_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** Metrics of calls and runs, of one tenant or of all. */
class CallFigures {
  readonly #toolNames = new KnownNames(MAX_TOOLS, '(other tools)')
  readonly #modelNames = new KnownNames(MAX_MODELS, '(other models)')
  readonly #tools = new Map<string, ToolRow>()
  readonly #models = new Map<string, ModelRow>()

  get rows(): number {
    return this.#tools.size + this.#models.size
  }

  call(record: CallRecord): void {
    const row = rowOf(this.#tools, this.#toolNames.toolOf(record), () => new ToolRow())
    const { code, outcomeUnknown } = record
    if (code === undefined) row.successes++
    else add(outcomeUnknown ? row.unknowns : row.failures, code, 1)
    row.durations.record(record.executionTimeMs)
  }

  run({ model, stop_reason, duration_ms, prompt_tokens, completion_tokens, cost }: StoredRun): void {
    const row = rowOf(this.#models, this.#modelNames.nameOf(model), () => new ModelRow())
    add(row.ends, stop_reason, 1)
    row.durations.record(duration_ms)
    row.promptTokens += counted(prompt_tokens)
    row.completionTokens += counted(completion_tokens)
    if (cost !== null) row.cost = (row.cost ?? 0) + counted(cost)
  }

  families(): Family[] {
    const tools = [...this.#tools]
    const models = [...this.#models]
    return [
      {
        name: 'toolyard_tool_calls_total',
        help: 'Calls of tools, by what became of them.',
        type: 'counter',
        samples: tools.flatMap(([tool, row]) => row.calls(tool)),
      },
      {
        name: 'toolyard_tool_call_duration_seconds',
        help: 'How long calls of tools took.',
        type: 'histogram',
        samples: tools.flatMap(([tool, { durations }]) => durations.samples({ tool })),
      },
      {
        name: 'toolyard_runs_total',
        help: 'Runs of models with tools, by what ended them.',
        type: 'counter',
        samples: models.flatMap(([model, { ends }]) =>
          [...ends].map(([stop_reason, value]) => ({ labels: { model, stop_reason }, value })),
        ),
      },
      {
        name: 'toolyard_run_duration_seconds',
        help: 'How long runs took, from the question to the answer.',
        type: 'histogram',
        samples: models.flatMap(([model, { durations }]) => durations.samples({ model })),
      },
      {
        name: 'toolyard_run_tokens_total',
        help: 'Tokens that runs took.',
        type: 'counter',
        samples: models.flatMap(([model, { promptTokens, completionTokens }]) => [
          { labels: { model, type: 'prompt' }, value: promptTokens },
          { labels: { model, type: 'completion' }, value: completionTokens },
        ]),
      },
      {
        name: 'toolyard_run_cost_total',
        help: 'What runs cost, by the prices in the configuration.',
        type: 'counter',
        samples: models.flatMap(([model, { cost }]) =>
          cost === undefined ? [] : [{ labels: { model }, value: cost }],
        ),
      },
    ]
  }
}

class ToolRow {
  successes = 0
  readonly failures = new Map<ToolErrorCode, number>()
  /** Failed writes that may have happened. */
  readonly unknowns = new Map<ToolErrorCode, number>()
  readonly durations = new Durations(CALL_BOUNDS)

  calls(tool: string): Sample[] {
    const failed =
      (outcome: string) =>
      ([error_code, value]: [string, number]) => ({
        labels: { tool, outcome, error_code },
        value,
      })
    return [
      ...(this.successes > 0 ? [{ labels: { tool, outcome: 'success' }, value: this.successes }] : []),
      ...[...this.failures].map(failed('failure')),
      ...[...this.unknowns].map(failed('unknown')),
    ]
  }
}

class ModelRow {
  readonly ends = new Map<string, number>()
  readonly durations = new Durations(RUN_BOUNDS)
  promptTokens = 0
  completionTokens = 0
  /** Undefined if no run reported a cost. */
  cost: number | undefined = undefined
}

function rowOf<Row>(rows: Map<string, Row>, name: string, make: () => Row): Row {
  let row = rows.get(name)
  if (row === undefined) {
    row = make()
    rows.set(name, row)
  }
  return row
}

const add = <Key>(counts: Map<Key, number>, key: Key, count: number): void =>
  void counts.set(key, (counts.get(key) ?? 0) + count)

/** Counters only grow: other values count as 0. */
const counted = (value: number): number => (Number.isFinite(value) && value > 0 ? value : 0)

type Labels = Readonly<Record<string, string>>

interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram'
  readonly samples: readonly Sample[]
}

interface Sample {
  /** `_bucket`, `_sum` or `_count` in a histogram. */
  readonly suffix?: string
  readonly labels: Labels
  readonly value: number
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

function figureText(families: readonly Family[]): string {
  let text = ''
  for (const { name, help, type, samples } of families) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    for (const { suffix = '', labels, value } of samples) text += `${name}${suffix}${labelText(labels)} ${value}\n`
    text += '\n'
  }
  return text
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([key, value]) => `${key}="${value.replace(/[\\"\n]/g, (special) => ESCAPES[special] as string)}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** A Prometheus histogram of durations. One array increment per call keeps it cheap. */
class Durations {
  readonly #bounds: readonly number[]
  /** The last bucket is `+Inf`. */
  readonly #counts: Float64Array
  #sum = 0

  /** `bounds` are in seconds, in ascending order. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  record(ms: number): void {
    const seconds = ms / 1_000
    let bucket = 0
    while (bucket < this.#bounds.length && seconds > (this.#bounds[bucket] as number)) bucket++
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.#sum += seconds
  }

  samples(labels: Labels): Sample[] {
    const samples: Sample[] = []
    let total = 0
    for (const [bucket, count] of this.#counts.entries()) {
      total += count
      const le = bucket < this.#bounds.length ? String(this.#bounds[bucket]) : '+Inf'
      samples.push({ suffix: '_bucket', labels: { ...labels, le }, value: total })
    }
    samples.push({ suffix: '_sum', labels, value: this.#sum }, { suffix: '_count', labels, value: total })
    return samples
  }
}
