import { Cancellation, type CancelSignal } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import type { GateDecision } from '../core/storage/run-store.ts'
import { costOf } from '../models/catalogue/cost-of.ts'
import type { Message, Model, ModelRequest, OfferedTool, ToolCall, Usage } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import type { CallBatch } from './call-batch.ts'
import { postponed } from './client-tools.ts'
import type { RunAnswer, RunEvent, RunRequest, StopReason, TrackedCall } from './run.ts'
import { RunBudget, workingTime } from './run-budget.ts'
import { NOBODY, type RunObserver } from './run-observer.ts'
import { type SilenceWatch, TurnReader } from './turn-reader.ts'

const LIMIT_REACHED = 'I reached the maximum number of tool calls. Please try rephrasing your request.'
const NO_ANSWER = 'I encountered an issue processing your request.'

/** What a run says where its model has not answered. */
function stopSentence(reason: StopReason, limit: string | undefined): string {
  switch (reason) {
    case 'max_iterations':
      return LIMIT_REACHED
    case 'repeated_calls':
      return 'I kept making the same tool calls without getting further. Please try rephrasing your request.'
    case 'timeout':
    case 'budget':
      return `I reached ${limit} before I could finish. Please ask for less at a time, or raise the limit.`
    case 'cancelled':
      return 'The request was cancelled before I could finish.'
    default:
      return NO_ANSWER
  }
}

/** Why a run has to end before its model is done. */
type Interruption = 'cancelled' | 'timeout'

/** What ends a run early: its caller, and the time it may take. `work` ends first, so that a last question fits in. */
class RunSignals {
  /** For the last question. */
  readonly whole = new Cancellation()
  /** For turns with tools, and their calls. */
  readonly work: Cancellation
  readonly #caller: CancelSignal | undefined
  readonly #callOff: (() => void)[] = []
  readonly #cancel = (): void => this.#end(this.#caller?.reason)

  constructor(caller: CancelSignal | undefined, wallTimeMs: number | undefined, clock: Clock) {
    this.#caller = caller
    const workingMs = wallTimeMs && workingTime(wallTimeMs)
    this.work = workingMs === wallTimeMs ? this.whole : new Cancellation()
    if (wallTimeMs !== undefined && workingMs !== undefined) {
      const late = new DOMException('The run took too long', 'TimeoutError')
      this.#callOff.push(clock.after(workingMs, () => this.work.abort(late)))
      this.#callOff.push(clock.after(wallTimeMs, () => this.#end(late)))
    }
    if (caller?.aborted) this.#cancel()
    else caller?.addEventListener('abort', this.#cancel)
  }

  /** Why the work is over, where it is. */
  get interruption(): Interruption | undefined {
    if (this.#caller?.aborted) return 'cancelled'
    return this.work.aborted ? 'timeout' : undefined
  }

  /** Ends what still runs, and lets go of timers and of the caller's signal. */
  close(): void {
    for (const callOff of this.#callOff) callOff()
    this.#caller?.removeEventListener('abort', this.#cancel)
    this.#end(undefined)
  }

  #end(reason: unknown): void {
    this.work.abort(reason)
    this.whole.abort(reason)
  }
}

/** The effect of a tool that the server runs. */
type EffectOf = NonNullable<ModelRequest['effectOf']>

/** How the work of a run came to its end. */
export interface Ending {
  readonly reason: StopReason
  /** What the model said. */
  readonly content?: string
  readonly error?: string
  /** The limit that was reached, as a part of a sentence. */
  readonly limit?: string
  /** The turn that asked for tools of the client, and what it asked of them. */
  readonly handBack?: { readonly turn: TurnReader; readonly calls: readonly ToolCall[] }
}

/** Everything that a run knows while it goes on. */
export class RunState {
  readonly messages: Message[]
  readonly tracked: TrackedCall[]
  /** Who follows the run. */
  observers: readonly RunObserver[] = NOBODY
  /** What was decided about tools that the model fails with. */
  gate: readonly GateDecision[] | undefined = undefined
  readonly #signals: RunSignals
  iteration = 0
  usage: Usage | undefined = undefined
  readonly #request: RunRequest
  readonly #silence: SilenceWatch
  readonly #effectOf: EffectOf
  readonly #budget: RunBudget | undefined
  /** The question as last put: the next is the same, with more messages in it. */
  #question: ModelRequest | undefined = undefined
  #over = false

  constructor(request: RunRequest, tools: readonly OfferedTool[], silence: SilenceWatch, effectOf: EffectOf) {
    const { messages, budget, prices, context } = request
    this.#request = request
    this.#silence = silence
    this.#effectOf = effectOf
    this.messages = [...messages]
    this.tracked = [...(request.prior_calls ?? [])]
    this.#budget =
      budget?.tokens === undefined && budget?.cost === undefined
        ? undefined
        : new RunBudget(budget, prices, messages, tools)
    this.#signals = new RunSignals(context?.signal, budget?.wall_time_ms, silence.clock)
  }

  /** Asks the model, unless a limit forbids it; the last question offers no tools and may use what was kept back. */
  ask(tools: readonly OfferedTool[], last: boolean): TurnReader | Ending {
    const { model, temperature } = this.#request
    const { interruption, whole, work } = this.#signals
    if (interruption !== undefined && (!last || whole.aborted)) return this.#interrupted(interruption)
    const max_tokens = this.#budget?.allow(this.#request.max_tokens, last) ?? this.#request.max_tokens
    if (typeof max_tokens === 'object') return { reason: 'budget', limit: max_tokens.limit }
    const cancellation = last ? whole : work
    if (!last && this.#question !== undefined && this.#question.max_tokens === max_tokens) {
      return this.#begun(new TurnReader(model, this.#question, cancellation, this.#silence))
    }
    const request: { -readonly [Key in keyof ModelRequest]: ModelRequest[Key] } = {
      messages: this.messages,
      tools,
      effectOf: this.#effectOf,
      // A model that does not look costs no signal.
      get signal() {
        return cancellation.signal
      },
    }
    if (max_tokens !== undefined) request.max_tokens = max_tokens
    if (temperature !== undefined) request.temperature = temperature
    if (!last) this.#question = request
    return this.#begun(new TurnReader(model, request, cancellation, this.#silence))
  }

  /** Why the turn failed: it was ended from outside, or the model did not answer. */
  failed(turn: TurnReader): Ending {
    const { interruption } = this.#signals
    for (const observer of this.observers) observer.heard(turn, interruption ?? 'error')
    if (interruption !== undefined) return this.#interrupted(interruption)
    return { reason: 'error', content: turn.text, error: problemOf(turn.failure?.thrown, this.model.id) }
  }

  /** Takes note of what a turn cost. */
  spent(turn: TurnReader): void {
    const { usage, text, calls } = turn
    for (const observer of this.observers) observer.heard(turn)
    if (usage !== undefined) this.usage = this.usage === undefined ? usage : sum(this.usage, usage)
    this.#budget?.spend(
      usage,
      calls.reduce((said, call) => said + call.function.name + call.function.arguments, text),
    )
  }

  /** What a turn used up, to be told; nothing where its provider does not say. */
  usageOf({ usage }: TurnReader): RunEvent | undefined {
    if (usage === undefined) return undefined
    const cost = costOf(this.#request.prices, usage.prompt_tokens, usage.completion_tokens)
    return { type: 'usage', usage, ...(cost !== undefined && { cost }) }
  }

  /** Adds the results of calls, each to its own message. */
  add(calls: readonly ToolCall[], tracked: readonly TrackedCall[]): void {
    for (let index = 0; index < tracked.length; index++) {
      const call = tracked[index] as TrackedCall
      const {
        id,
        function: { name },
      } = calls[index] as ToolCall
      const message = { role: 'tool', tool_call_id: id, name, content: JSON.stringify(call.result) } as const
      this.messages.push(message)
      this.#budget?.grow(message)
      this.tracked.push(call)
    }
  }

  /** Adds what the model said to the conversation. */
  heard({ text, calls, metadata }: TurnReader): void {
    this.messages.push({
      role: 'assistant',
      content: text === '' ? null : text,
      tool_calls: calls,
      ...(metadata !== undefined && { metadata }),
    })
  }

  /** Ends the run where a turn calls tools of the client: nothing else that it asks for is run. */
  handBack(turn: TurnReader): Ending | undefined {
    const { client_tools } = this.#request
    if (client_tools === undefined) return undefined
    const calls = turn.calls.filter((call) => client_tools.some(({ name }) => name === call.function.name))
    return calls.length === 0 ? undefined : { reason: 'stop', content: turn.text, handBack: { turn, calls } }
  }

  /** The answer, and the conversation with it. */
  answered(ending: Ending, said: string): RunEvent {
    const answer = this.#answer(ending, said)
    if (ending.handBack === undefined) this.messages.push({ role: 'assistant', content: answer.content })
    else {
      const { turn, calls } = ending.handBack
      this.heard(turn)
      for (const call of turn.calls) if (!calls.includes(call)) this.messages.push(postponed(call))
    }
    this.#tellEnd(answer)
    return { type: 'answer', answer, messages: this.messages }
  }

  /** The run has its answer. */
  get over(): boolean {
    return this.#over
  }

  /** The run is left before its answer: tells so when the calls have ended. */
  async left(calls: CallBatch | undefined): Promise<void> {
    if (this.observers === NOBODY) return
    await calls?.ended()
    this.#tellEnd(this.#answer({ reason: 'cancelled' }, ''))
  }

  #answer({ reason, limit, error, handBack }: Ending, said: string): RunAnswer {
    const { id } = this.model
    const colon = id.indexOf(':')
    const limitReached = reason === 'max_iterations'
    const content =
      said === '' && reason === 'stop' ? '' : limitReached || said === '' ? stopSentence(reason, limit) : said
    const { usage, cost, gate } = this
    return {
      content,
      service: this.#request.service ?? id.slice(0, Math.max(colon, 0)),
      model: id.slice(colon + 1),
      tool_calls: this.tracked,
      stop_reason: reason,
      ...(gate !== undefined && { gate }),
      ...(handBack !== undefined && { client_calls: handBack.calls }),
      ...(limitReached && { max_iterations_reached: true as const }),
      ...(limitReached && said !== '' && { final_answer: said }),
      ...(error !== undefined && { error }),
      ...(usage !== undefined && { usage }),
      ...(cost !== undefined && { cost }),
    }
  }

  #tellEnd(answer: RunAnswer): void {
    this.#over = true
    for (const observer of this.observers) observer.ended(answer, this.iteration)
  }

  #begun(turn: TurnReader): TurnReader {
    for (const observer of this.observers) observer.asked(turn)
    return turn
  }

  /** Ends what still runs, and lets go of timers and of the caller's signal. */
  close(): void {
    this.#signals.close()
  }

  get model(): Model {
    return this.#request.model
  }

  /** Ends the turns, and the calls made in them. */
  get signal(): CancelSignal {
    return this.#signals.work
  }

  /** What all turns cost together, where the prices are known. */
  get cost(): number | undefined {
    const { usage } = this
    return usage && costOf(this.#request.prices, usage.prompt_tokens, usage.completion_tokens)
  }

  #interrupted(reason: Interruption): Ending {
    return { reason, limit: `the time limit of ${(this.#request.budget?.wall_time_ms ?? 0) / 1_000} s` }
  }
}

/** Only what was meant to be read is passed on: other errors may hold addresses. */
function problemOf(thrown: unknown, id: string): string {
  return thrown instanceof ModelError ? thrown.message : `Model ${id} failed. The log says more`
}

function sum(a: Usage, b: Usage): Usage {
  return {
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
  }
}
