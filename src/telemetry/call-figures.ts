import type { CallRecord } from '../core/recorder.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { ToolErrorCode } from '../core/tool-error-code.ts'
import { KnownNames } from './known-names.ts'

const MAX_TOOLS = 500
const MAX_MODELS = 200
const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const RUN_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** Metrics of calls and runs, of one tenant or of all. */
export class CallFigures {
  readonly #toolNames = new KnownNames(MAX_TOOLS, '(other tools)')
  readonly #modelNames = new KnownNames(MAX_MODELS, '(other models)')
  readonly #tools = new Map<string, ToolRow>()
  readonly #models = new Map<string, ModelRow>()

  /** How many tools and models have metrics. */
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
  /** How often each stop reason ended a run. */
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

/** A metric family of Prometheus. */
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

/** Writes families in the text format of Prometheus. */
export function figureText(families: readonly Family[]): string {
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
