import type { ModelFigures } from '../../../core/storage/metrics.ts'
import type { StoredRun } from '../../../core/storage/run-store.ts'
import { TimeHistogram } from '../../../core/time-histogram.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { addHistogram, writeHistogram } from './histogram-bytes.ts'
import { Tally } from './tally.ts'

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
