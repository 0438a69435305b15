import { LOCAL_TENANT } from '../core/call.ts'
import type { CallContext } from '../core/call-context.ts'
import type { Clock } from '../core/clock.ts'
import { type Log, writeLog } from '../core/log.ts'
import { redact, redactedJson, redactText } from '../core/redact.ts'
import type { RunStep, StoredRun } from '../core/storage/run-store.ts'
import { costOf } from '../models/catalogue/cost-of.ts'
import type { Message, OfferedTool } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import type { RunAnswer, RunRequest, StopReason, TrackedCall } from './run.ts'
import type { RunObserver } from './run-observer.ts'
import type { RecordedTurn } from './run-recording.ts'
import type { TurnReader } from './turn-reader.ts'

/** In characters: of one text, of the parameters of one call, of one result. */
const LONGEST_VALUE = 65_536
/** Of one run. */
const LONGEST_RECORDING = 262_144

interface Times {
  readonly started_ms: number
  readonly duration_ms: number
}

/** Writes down what a run can be replayed from: whole, as long as it is of a sensible size, and without secrets. */
class RunTape {
  readonly #request: RunRequest
  readonly #incomplete = new Set<string>()
  /** JSON texts, each written once. */
  readonly #turns: string[] = []
  readonly #calls: { readonly iteration: number; readonly index: number; readonly text: string }[] = []
  #length = 0

  constructor(request: RunRequest) {
    this.#request = request
  }

  turn({ text, calls, reason, usage, failure }: TurnReader, failed: StopReason | undefined, times: Times): void {
    const said: Pick<RecordedTurn, 'text' | 'calls' | 'error'> = {
      text: this.#short(text, 'an answer of the model'),
      calls: calls.map(({ id, function: { name, arguments: written }, metadata }) => ({
        id,
        name,
        arguments: this.#short(written, 'the parameters of a call'),
        ...(metadata?.recovered === true && { recovered: true }),
      })),
      // Other errors may hold addresses, and are not shown either.
      ...(failure?.thrown instanceof ModelError && { error: failure.thrown.message }),
    }
    const rest = { finish_reason: failed ?? reason, ...(usage !== undefined && { usage }), ...times }
    this.#keep(joined(redactedJson(said), JSON.stringify(rest)), (text) => this.#turns.push(text))
  }

  call(call: TrackedCall, index: number, times: Times): void {
    const { iteration } = call
    let text = redactedJson({ ...call, index, ...times })
    if (text.length > LONGEST_VALUE) text = redactedJson({ ...this.#shortened(call), index, ...times })
    this.#keep(text, (text) => this.#calls.push({ iteration, index, text }))
  }

  /** The whole, as JSON text of a `RunRecording`. `tools` are those that were offered. */
  end(answer: RunAnswer, tools: readonly OfferedTool[], maxIterations: number): string {
    const { content, stop_reason, final_answer, error } = answer
    if (stop_reason === 'timeout') this.#incomplete.add('The run was ended by its time limit, which no replay reaches.')
    const request = this.#asked(answer, tools, maxIterations)
    const ended = redactedJson({
      content: this.#short(content, 'the answer'),
      stop_reason,
      ...(final_answer !== undefined && { final_answer: this.#short(final_answer, 'the answer') }),
      ...(error !== undefined && { error }),
    })
    // Calls end in any order; they are kept in the model's.
    const calls = this.#calls.sort((a, b) => a.iteration - b.iteration || a.index - b.index).map(({ text }) => text)
    const incomplete = JSON.stringify([...this.#incomplete])
    return `{"incomplete":${incomplete},"request":${request},"turns":[${this.#turns}],"calls":[${calls}],"answer":${ended}}`
  }

  #asked({ tool_calls }: RunAnswer, tools: readonly OfferedTool[], max_iterations: number): string {
    const { messages, client_tools, max_tokens, temperature, budget, prices } = this.#request
    const called = new Set(tool_calls.map(({ tool }) => tool))
    let said = '{"messages":[]}'
    this.#keep(redactedJson({ messages: messages.map((message) => this.#message(message)) }), (text) => {
      said = text
    })
    const rest = {
      offered: tools.map(({ name }) => name),
      tools: tools.filter(({ name }) => called.has(name)).map(shownOf),
      ...(client_tools !== undefined && { client_tools: client_tools.map(shownOf) }),
      max_iterations,
      ...(max_tokens !== undefined && { max_tokens }),
      ...(temperature !== undefined && { temperature }),
      ...(budget !== undefined && { budget }),
      ...(prices !== undefined && { prices }),
    }
    return joined(said, JSON.stringify(rest))
  }

  /** What only the provider understands is left out. */
  #message(message: Message): Message {
    if (message.role !== 'assistant') return { ...message, content: this.#short(message.content, 'a message') }
    const { role, content, tool_calls } = message
    const calls = tool_calls?.map(({ id, type, function: made }) => ({ id, type, function: made }))
    const text = content === null ? null : this.#short(content, 'a message')
    return { role, content: text, ...(calls !== undefined && { tool_calls: calls }) }
  }

  #shortened({ params, result, ...call }: TrackedCall): TrackedCall {
    const short = (value: unknown, what: string): unknown => {
      const { length } = JSON.stringify(value) ?? ''
      return length > LONGEST_VALUE ? this.#leftOut(length, what) : value
    }
    const kept = result.success ? { ...result, result: short(result.result, 'a result') } : result
    return { ...call, params: short(params, 'the parameters of a call'), result: kept }
  }

  #short(text: string, what: string): string {
    return text.length > LONGEST_VALUE ? this.#leftOut(text.length, what) : text
  }

  #leftOut(length: number, what: string): string {
    this.#incomplete.add(`${what} of more than ${LONGEST_VALUE} characters was left out.`)
    return `[${length} characters left out]`
  }

  #keep(text: string, add: (text: string) => void): void {
    this.#length += text.length
    if (this.#length <= LONGEST_RECORDING) add(text)
    else this.#incomplete.add(`Of a run longer than ${LONGEST_RECORDING} characters the rest was left out.`)
  }
}

const shownOf = ({ name, description, parameters }: OfferedTool): OfferedTool => ({ name, description, parameters })

/** Two objects in JSON as one. */
const joined = (a: string, b: string): string => `${a.slice(0, -1)},${b.slice(1)}`

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
