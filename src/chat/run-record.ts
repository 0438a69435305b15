import { LOCAL_TENANT } from '../core/call.ts'
import type { CallContext } from '../core/call-context.ts'
import type { Clock } from '../core/clock.ts'
import { type Log, writeLog } from '../core/log.ts'
import { redact, redactText } from '../core/redact.ts'
import type { RunStep, StoredRun } from '../core/storage/run-store.ts'
import { costOf } from '../models/catalogue/cost-of.ts'
import type { Message, OfferedTool } from '../models/model.ts'
import type { RunAnswer, RunRequest, StopReason, TrackedCall } from './run.ts'
import type { RunObserver } from './run-observer.ts'
import { RunTape } from './run-tape.ts'
import type { TurnReader } from './turn-reader.ts'

/** Who keeps runs, and what is needed to write them down. */
export interface RunKeeper {
  readonly onRun: (run: StoredRun) => void
  readonly clock: Clock
  readonly log: Log
  /** For runs that name none. */
  readonly maxIterations: number
}

/** Of one text, of the parameters of one call, of one result. */
const LONGEST_CONTENT = 2_000
/** Of one run; the others are counted, not kept. */
const MOST_STEPS = 200

interface PlacedStep {
  readonly index: number
  readonly step: RunStep
}

/** Writes down one run: every turn of the model and every call, bounded, without secrets. */
export class RunRecord implements RunObserver {
  readonly #keeper: RunKeeper
  readonly #request: RunRequest
  readonly #context: CallContext
  readonly #tools: readonly OfferedTool[]
  readonly #tape: RunTape
  readonly #steps: PlacedStep[] = []
  readonly #startedMs: number
  /** When the clock that times are taken by stood at 0: all times of a run are told by the same. */
  readonly #epochMs: number
  #turns = 0
  #turn: { readonly reader: TurnReader; readonly startedMs: number } | undefined

  constructor(keeper: RunKeeper, request: RunRequest, context: CallContext, tools: readonly OfferedTool[]) {
    this.#keeper = keeper
    this.#request = request
    this.#context = context
    this.#tools = tools
    this.#tape = new RunTape(request)
    const before = request.prior_calls ?? []
    this.#startedMs = keeper.clock.now() - before.reduce((ms, { result }) => ms + result.execution_time_ms, 0)
    this.#epochMs = keeper.clock.wall() - keeper.clock.now()
    let startedMs = this.#startedMs
    for (const [index, call] of before.entries()) {
      this.#called(call, index, startedMs)
      startedMs += call.result.execution_time_ms
    }
  }

  asked(reader: TurnReader): void {
    this.#turns++
    this.#turn = { reader, startedMs: this.#keeper.clock.now() }
  }

  heard(turn: TurnReader, failed?: StopReason): void {
    const { text, calls, reason, usage } = turn
    const cost = usage && costOf(this.#request.prices, usage.prompt_tokens, usage.completion_tokens)
    const startedMs = this.#turn?.startedMs ?? this.#keeper.clock.now()
    this.#turn = undefined
    const duration_ms = this.#since(startedMs)
    this.#tape.turn(turn, failed, { started_ms: this.#sinceStart(startedMs), duration_ms })
    this.#add(-1, {
      type: 'model',
      iteration: this.#turns,
      started_at: this.#wall(startedMs),
      duration_ms,
      finish_reason: failed ?? reason,
      text: redactText(text, LONGEST_CONTENT),
      tool_calls: calls.length,
      ...(usage !== undefined && { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens }),
      ...(cost !== undefined && { cost }),
    })
  }

  called(call: TrackedCall, index: number): void {
    this.#called(call, index, this.#keeper.clock.now() - call.result.execution_time_ms)
  }

  ended(answer: RunAnswer, iterations: number): void {
    // A run that was left in mid-turn has heard no more of it.
    if (this.#turn !== undefined) this.heard(this.#turn.reader, answer.stop_reason)
    try {
      this.#keeper.onRun(this.#run(answer, iterations))
    } catch (err) {
      writeLog(this.#keeper.log, 'error', { err, run_id: this.#context.runId }, 'The record of a run was lost')
    }
  }

  #called(call: TrackedCall, index: number, startedMs: number): void {
    const { tool, params, result, iteration, recovered } = call
    const { execution_time_ms } = result
    this.#tape.call(call, index, { started_ms: this.#sinceStart(startedMs), duration_ms: execution_time_ms })
    this.#add(index, {
      type: 'tool',
      iteration,
      started_at: this.#wall(startedMs),
      duration_ms: execution_time_ms,
      tool: redactText(tool),
      params: bounded(params),
      result: bounded(result),
      ...(recovered && { recovered }),
    })
  }

  #run(answer: RunAnswer, iterations: number): StoredRun {
    const { tenant = LOCAL_TENANT, caller = null, runId = '' } = this.#context
    const { model, messages } = this.#request
    return {
      id: runId,
      tenant,
      caller,
      model: model.id,
      service: answer.service,
      started_at: this.#wall(this.#startedMs),
      duration_ms: this.#since(this.#startedMs),
      stop_reason: answer.stop_reason,
      iterations,
      tool_calls: answer.tool_calls.length,
      prompt_tokens: answer.usage?.prompt_tokens ?? 0,
      completion_tokens: answer.usage?.completion_tokens ?? 0,
      cost: answer.cost ?? null,
      error: answer.error === undefined ? null : redactText(answer.error, LONGEST_CONTENT),
      question: redactText(questionOf(messages), LONGEST_CONTENT),
      answer: redactText(answer.content, LONGEST_CONTENT),
      // Calls end in any order; they are kept in the model's.
      steps: this.#steps
        .sort((a, b) => a.step.iteration - b.step.iteration || a.index - b.index)
        .map(({ step }) => step),
      ...(answer.gate !== undefined && { gate: answer.gate }),
      recording: this.#tape.end(answer, this.#tools, this.#request.max_iterations ?? this.#keeper.maxIterations),
    }
  }

  #add(index: number, step: RunStep): void {
    if (this.#steps.length < MOST_STEPS) this.#steps.push({ index, step })
  }

  #since(startedMs: number): number {
    return Math.round((this.#keeper.clock.now() - startedMs) * 1_000) / 1_000
  }

  #sinceStart(ms: number): number {
    return Math.round(Math.max(0, ms - this.#startedMs) * 1_000) / 1_000
  }

  #wall(ms: number): string {
    return new Date(this.#epochMs + ms).toISOString()
  }
}

const questionOf = (messages: readonly Message[]): string =>
  messages.findLast(({ role }) => role === 'user')?.content ?? ''

/** The value where it is short, else the beginning of its text. */
function bounded(value: unknown): unknown {
  const kept = redact(value)
  const text = JSON.stringify(kept) ?? ''
  return text.length > LONGEST_CONTENT ? redactText(text, LONGEST_CONTENT) : kept
}
