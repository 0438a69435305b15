import { redactedJson } from '../core/redact.ts'
import type { Message, OfferedTool } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import type { RunAnswer, RunRequest, StopReason, TrackedCall } from './run.ts'
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
export class RunTape {
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
