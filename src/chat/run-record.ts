import type { CallContext } from '../core/call-context.ts'
import type { Clock } from '../core/clock.ts'
import { inUnits } from '../core/costs.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { type Log, writeLog } from '../core/log.ts'
import { redact, redactedJson, redactText } from '../core/records/redact.ts'
import type { DurableRun } from '../core/storage/durable-run-store.ts'
import type { RunStep, StoredRun } from '../core/storage/run-store.ts'
import type { ToolResult } from '../core/tool-result.ts'
import { type TextMessage, textMessage } from '../models/content.ts'
import type { Message, OfferedTool, ToolCall, Usage } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { type ModelPrices, turnCost } from '../models/model-info.ts'
import { readArguments } from './call-batch.ts'
import type { JournalStep } from './journal.ts'
import type { Budget, RunAnswer, RunRequest, StopReason, TrackedCall } from './run.ts'
import type { RunObserver } from './run-observer.ts'
import type { TurnReader } from './turn-reader.ts'

interface RecordedRequest {
  readonly messages: readonly TextMessage[]
  readonly offered: readonly string[]
  /** Only tools that were called. */
  readonly tools: readonly OfferedTool[]
  readonly client_tools?: readonly OfferedTool[]
  readonly max_iterations: number
  readonly max_tokens?: number
  readonly temperature?: number
  readonly budget?: Budget
  readonly prices?: ModelPrices
}

interface RecordedModelCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly recovered?: true
}

export interface RecordedTurn {
  readonly text: string
  readonly calls: readonly RecordedModelCall[]
  /** A stop reason if the turn didn't finish. */
  readonly finish_reason: string
  readonly error?: string
  readonly usage?: Usage
  /** Since the start of the run. */
  readonly started_ms: number
  readonly duration_ms: number
}

/** Iteration 0 holds calls made before the model was asked. */
export interface RecordedCall extends TrackedCall {
  readonly index: number
  readonly started_ms: number
  readonly duration_ms: number
}

export interface RunRecording {
  /** Sentences about missing parts; empty if the recording is complete. */
  readonly incomplete: readonly string[]
  readonly request: RecordedRequest
  readonly turns: readonly RecordedTurn[]
  readonly calls: readonly RecordedCall[]
  readonly answer: Pick<RunAnswer, 'content' | 'stop_reason' | 'final_answer' | 'error'>
}

/** Characters per text, parameters or result. */
const MAX_VALUE_CHARACTERS = 65_536
/** Characters per run. */
const MAX_RECORDING_CHARACTERS = 262_144

interface Times {
  readonly started_ms: number
  readonly duration_ms: number
}

/** Records everything needed to replay a run, within limits and without secrets. */
class RecordingWriter {
  readonly #request: RunRequest
  readonly #incomplete = new Set<string>()
  /** Serialized. */
  readonly #turns: string[] = []
  readonly #calls: { readonly iteration: number; readonly index: number; readonly text: string }[] = []
  #length = 0

  constructor(request: RunRequest) {
    this.#request = request
  }

  turn({ text, calls, reason, usage, failure }: TurnReader, failed: StopReason | undefined, times: Times): void {
    const said: Pick<RecordedTurn, 'text' | 'calls' | 'error'> = {
      text: this.#short(text, 'a model response'),
      calls: calls.map(({ id, function: { name, arguments: written }, metadata }) => ({
        id,
        name,
        arguments: this.#short(written, 'the parameters of a call'),
        ...(metadata?.recovered === true && { recovered: true }),
      })),
      // Other errors may contain addresses.
      ...(failure?.thrown instanceof ModelError && { error: failure.thrown.message }),
    }
    const rest = { finish_reason: failed ?? reason, ...(usage !== undefined && { usage }), ...times }
    this.#append(joined(redactedJson(said), JSON.stringify(rest)), (text) => this.#turns.push(text))
  }

  call(call: TrackedCall, index: number, times: Times): void {
    const { iteration } = call
    let text = redactedJson({ ...call, index, ...times })
    if (text.length > MAX_VALUE_CHARACTERS) text = redactedJson({ ...this.#shortened(call), index, ...times })
    this.#append(text, (text) => this.#calls.push({ iteration, index, text }))
  }

  /** Returns a `RunRecording` as JSON. */
  end(answer: RunAnswer, tools: readonly OfferedTool[], maxIterations: number): string {
    const { content, stop_reason, final_answer, error } = answer
    if (stop_reason === 'timeout') this.#incomplete.add('The time limit ended the run, which a replay cannot repeat.')
    const request = this.#asked(answer, tools, maxIterations)
    const ended = redactedJson({
      content: this.#short(content, 'the answer'),
      stop_reason,
      ...(final_answer !== undefined && { final_answer: this.#short(final_answer, 'the answer') }),
      ...(error !== undefined && { error }),
    })
    // Calls finish in any order.
    const calls = this.#calls.sort((a, b) => a.iteration - b.iteration || a.index - b.index).map(({ text }) => text)
    const incomplete = JSON.stringify([...this.#incomplete])
    return `{"incomplete":${incomplete},"request":${request},"turns":[${this.#turns}],"calls":[${calls}],"answer":${ended}}`
  }

  #asked({ tool_calls }: RunAnswer, tools: readonly OfferedTool[], max_iterations: number): string {
    const { messages, client_tools, max_tokens, temperature, budget, prices } = this.#request
    const called = new Set(tool_calls.map(({ tool }) => tool))
    let said = '{"messages":[]}'
    this.#append(redactedJson({ messages: messages.map((message) => this.#message(message)) }), (text) => {
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

  /** Omits media and provider metadata. */
  #message(given: Message): TextMessage {
    const message = textMessage(given)
    if (message.role !== 'assistant') return { ...message, content: this.#short(message.content, 'a message') }
    const { role, content, tool_calls } = message
    const calls = tool_calls?.map(({ id, type, function: made }) => ({ id, type, function: made }))
    const text = content === null ? null : this.#short(content, 'a message')
    return { role, content: text, ...(calls !== undefined && { tool_calls: calls }) }
  }

  #shortened({ params, result, ...call }: TrackedCall): TrackedCall {
    const short = (value: unknown, what: string): unknown => {
      const { length } = JSON.stringify(value) ?? ''
      return length > MAX_VALUE_CHARACTERS ? this.#leftOut(length, what) : value
    }
    const stored = result.success ? { ...result, result: short(result.result, 'a result') } : result
    return { ...call, params: short(params, 'the parameters of a call'), result: stored }
  }

  #short(text: string, what: string): string {
    return text.length > MAX_VALUE_CHARACTERS ? this.#leftOut(text.length, what) : text
  }

  #leftOut(length: number, what: string): string {
    this.#incomplete.add(`Left out ${what} of more than ${MAX_VALUE_CHARACTERS} characters.`)
    return `[${length} characters left out]`
  }

  #append(text: string, add: (text: string) => void): void {
    this.#length += text.length
    if (this.#length <= MAX_RECORDING_CHARACTERS) add(text)
    else this.#incomplete.add(`Left out everything after the first ${MAX_RECORDING_CHARACTERS} characters.`)
  }
}

const shownOf = ({ name, description, parameters }: OfferedTool): OfferedTool => ({ name, description, parameters })

/** Merges two JSON objects. */
const joined = (a: string, b: string): string => `${a.slice(0, -1)},${b.slice(1)}`

export interface RunRecordOptions {
  /** `stored`: false if the client wants nothing stored. */
  readonly onRun: (run: StoredRun, stored: boolean) => void
  readonly clock: Clock
  readonly log: Log
  readonly maxIterations: number
}

/** Characters per text, parameters or result. */
const MAX_CONTENT_CHARACTERS = 2_000
/** Further steps are counted but not stored. */
const MAX_STEPS = 200

interface PlacedStep {
  readonly index: number
  readonly step: RunStep
}

/** Records the turns and calls of a run, within limits and without secrets. */
export class RunRecord implements RunObserver {
  readonly #options: RunRecordOptions
  readonly #request: RunRequest
  readonly #context: CallContext
  readonly #tools: readonly OfferedTool[]
  readonly #recording: RecordingWriter
  readonly #steps: PlacedStep[] = []
  readonly #startedMs: number
  /** Converts the monotonic clock to wall time. */
  readonly #epochMs: number
  #turns = 0
  #turn: { readonly reader: TurnReader; readonly startedMs: number } | undefined

  constructor(options: RunRecordOptions, request: RunRequest, context: CallContext, tools: readonly OfferedTool[]) {
    this.#options = options
    this.#request = request
    this.#context = context
    this.#tools = tools
    this.#recording = new RecordingWriter(request)
    const before = request.prior_calls ?? []
    this.#epochMs = options.clock.wall() - options.clock.now()
    const { startedAt } = request.journal ?? {}
    let startedMs = options.clock.now() - before.reduce((ms, { result }) => ms + result.execution_time_ms, 0)
    this.#startedMs = startedAt === undefined ? startedMs : Math.min(startedMs, startedAt - this.#epochMs)
    for (const [index, call] of before.entries()) {
      this.#called(call, index, startedMs)
      startedMs += call.result.execution_time_ms
    }
  }

  turnStarted(reader: TurnReader): void {
    this.#turns++
    this.#turn = { reader, startedMs: this.#options.clock.now() }
  }

  turnEnded(turn: TurnReader, failed?: StopReason): void {
    const { text, calls, reason, usage } = turn
    const cost = turnCost(this.#request.prices, usage)
    const startedMs = this.#turn?.startedMs ?? this.#options.clock.now()
    this.#turn = undefined
    const duration_ms = this.#since(startedMs)
    this.#recording.turn(turn, failed, { started_ms: this.#sinceStart(startedMs), duration_ms })
    this.#add(-1, {
      type: 'model',
      iteration: this.#turns,
      started_at: this.#wall(startedMs),
      duration_ms,
      finish_reason: failed ?? reason,
      text: redactText(text, MAX_CONTENT_CHARACTERS),
      tool_calls: calls.length,
      ...(usage !== undefined && { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens }),
      ...(cost !== undefined && { cost: inUnits(cost) }),
    })
  }

  callEnded(call: TrackedCall, index: number): void {
    this.#called(call, index, this.#options.clock.now() - call.result.execution_time_ms)
  }

  runEnded(answer: RunAnswer, iterations: number): void {
    // It goes on later: the record is written at its end.
    if (answer.stop_reason === 'approval_required') return
    // The run ended during a turn.
    if (this.#turn !== undefined) this.turnEnded(this.#turn.reader, answer.stop_reason)
    try {
      this.#options.onRun(this.#run(answer, iterations), this.#context.stores !== false)
    } catch (err) {
      writeLog(this.#options.log, 'error', { err, run_id: this.#context.runId }, 'Could not store a run')
    }
  }

  #called(call: TrackedCall, index: number, startedMs: number): void {
    const { tool, params, result, iteration, recovered } = call
    const { execution_time_ms } = result
    this.#recording.call(call, index, { started_ms: this.#sinceStart(startedMs), duration_ms: execution_time_ms })
    this.#add(index, {
      type: 'tool',
      iteration,
      started_at: this.#wall(startedMs),
      duration_ms: execution_time_ms,
      tool: redactText(tool),
      params: bounded(params),
      result: boundedResult(result),
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
      error: answer.error === undefined ? null : redactText(answer.error, MAX_CONTENT_CHARACTERS),
      question: redactText(questionOf(messages), MAX_CONTENT_CHARACTERS),
      answer: redactText(answer.content, MAX_CONTENT_CHARACTERS),
      steps: this.#steps
        .sort((a, b) => a.step.iteration - b.step.iteration || a.index - b.index)
        .map(({ step }) => step),
      ...(answer.gate !== undefined && { gate: answer.gate }),
      ...(this.#request.parent_run !== undefined && { parent_run: this.#request.parent_run }),
      ...(this.#request.agent !== undefined && { agent: this.#request.agent }),
      ...(this.#request.mocked && { mocked: true }),
      recording: this.#recording.end(answer, this.#tools, this.#request.max_iterations ?? this.#options.maxIterations),
    }
  }

  #add(index: number, step: RunStep): void {
    if (this.#steps.length < MAX_STEPS) this.#steps.push({ index, step })
  }

  #since(startedMs: number): number {
    return Math.round((this.#options.clock.now() - startedMs) * 1_000) / 1_000
  }

  #sinceStart(ms: number): number {
    return Math.round(Math.max(0, ms - this.#startedMs) * 1_000) / 1_000
  }

  #wall(ms: number): string {
    return new Date(this.#epochMs + ms).toISOString()
  }
}

function questionOf(messages: readonly Message[]): string {
  const asked = messages.findLast(({ role }) => role === 'user')
  return (asked && textMessage(asked).content) ?? ''
}

/** Replaces a long value with the beginning of its JSON. */
function bounded(value: unknown): unknown {
  const stored = redact(value)
  const text = JSON.stringify(stored) ?? ''
  return text.length > MAX_CONTENT_CHARACTERS ? redactText(text, MAX_CONTENT_CHARACTERS) : stored
}

/** A long result is shortened inside its envelope. */
function boundedResult(result: ToolResult): unknown {
  const stored = bounded(result)
  if (typeof stored !== 'string') return stored
  if (result.success) return { ...(redact({ ...result, result: null }) as object), result: bounded(result.result) }
  const { details: _details, suggestions: _suggestions, ...rest } = result
  return redact(rest)
}

/** The record of a durable run by its stored steps, such as a run that was cancelled while it waited. */
export function endedRecord(
  { id, tenant, caller, model, created_at }: DurableRun,
  messages: readonly Message[],
  steps: readonly RunStep[],
  ended: { readonly at: number; readonly stop_reason: string; readonly error?: string },
): StoredRun {
  const turns = steps.filter(({ type }) => type === 'model')
  const sum = (name: 'tool_calls' | 'prompt_tokens' | 'completion_tokens'): number =>
    turns.reduce((total, { [name]: count = 0 }) => total + count, 0)
  return {
    ...{ id, tenant, caller, model, service: model.slice(0, Math.max(model.indexOf(':'), 0)) },
    started_at: new Date(created_at).toISOString(),
    duration_ms: ended.at - created_at,
    stop_reason: ended.stop_reason,
    iterations: turns.length,
    tool_calls: sum('tool_calls'),
    prompt_tokens: sum('prompt_tokens'),
    completion_tokens: sum('completion_tokens'),
    cost: null,
    error: ended.error ?? null,
    question: redactText(questionOf(messages), MAX_CONTENT_CHARACTERS),
    answer: '',
    steps: steps.slice(0, MAX_STEPS),
  }
}

/** The steps of a durable run as people see them: bounded and redacted. */
export class StepView {
  readonly #contents: boolean
  /** The end of the last step, in milliseconds since 1970. */
  #since: number
  #iteration = 0
  #calls: readonly ToolCall[] = []

  constructor(before: readonly JournalStep[], contents: boolean, startedAt: number) {
    this.#contents = contents
    this.#since = startedAt
    for (const step of before) this.#read(step)
  }

  /** A step that ended at this time. */
  of(step: JournalStep, at: number): readonly RunStep[] {
    this.#read(step)
    const since = Math.min(this.#since, at)
    this.#since = at
    if (step.kind === 'answer') {
      const { text, calls, reason, usage } = step
      return [
        {
          ...{ type: 'model' as const, iteration: this.#iteration, started_at: new Date(since).toISOString() },
          ...{ duration_ms: at - since, finish_reason: reason, tool_calls: calls.length },
          ...(this.#contents && { text: redactText(text, MAX_CONTENT_CHARACTERS) }),
          ...(usage && { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens }),
        },
      ]
    }
    return step.results.map(({ index, result }) => {
      const { name = '', arguments: given = '' } = this.#calls[index]?.function ?? {}
      const contents = this.#contents && { params: bounded(readArguments(given)), result: boundedResult(result) }
      const duration_ms = result.execution_time_ms
      return {
        ...({ type: 'tool', iteration: this.#iteration, duration_ms, tool: redactText(name) } as const),
        started_at: new Date(Math.max(since, at - duration_ms)).toISOString(),
        ...contents,
      }
    })
  }

  #read(step: JournalStep): void {
    if (step.kind !== 'answer') return
    this.#iteration++
    this.#calls = step.calls
  }
}
