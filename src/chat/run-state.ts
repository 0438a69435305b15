import { hash } from 'node:crypto'
import type { Allowance } from '../core/call-context.ts'
import { Cancellation, type CancelSignal } from '../core/cancellation.ts'
import { inUnits } from '../core/costs.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import type { GateDecision } from '../core/storage/run-store.ts'
import { resultContent } from '../models/content.ts'
import type { Message, Model, ModelRequest, OfferedTool, ToolCall, Usage } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { turnCost } from '../models/model-info.ts'
import type { CallBatch } from './call-batch.ts'
import { postponed } from './client-tools.ts'
import { Replay, type TurnJournal } from './journal.ts'
import type { RunAnswer, RunEvent, RunRequest, StopReason, TrackedCall } from './run.ts'
import { type Interruption, RunBudget, RunSignals, TIMED_OUT, wallTime } from './run-budget.ts'
import { RunCosts } from './run-costs.ts'
import { NO_OBSERVERS, type RunObserver } from './run-observer.ts'
import { Demands, type Draft, type Ending, type Settled } from './run-output.ts'
import { type SilenceWatch, TurnReader } from './turn-reader.ts'

const LIMIT_REACHED = 'I reached the maximum number of tool calls. Please try rephrasing your request.'
const NO_ANSWER = 'I encountered an issue processing your request.'

/** The answer if the model gave none. */
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
    case 'approval_required':
      return 'I am waiting for approval before I can go on.'
    default:
      return NO_ANSWER
  }
}

type EffectOf = NonNullable<ModelRequest['effectOf']>

/** The state of a run: its conversation, budget, signals and observers. */
export class RunState {
  readonly messages: Message[]
  readonly tracked: TrackedCall[]
  observers: readonly RunObserver[] = NO_OBSERVERS
  /** The decisions of the validation gate. */
  gate: readonly GateDecision[] | undefined = undefined
  readonly costs: RunCosts
  readonly #signals: RunSignals
  iteration = 0
  usage: Usage | undefined = undefined
  readonly #request: RunRequest
  readonly #silence: SilenceWatch
  readonly #effectOf: EffectOf
  readonly #budget: RunBudget | undefined
  /** Reused while only the messages change. */
  #question: ModelRequest | undefined = undefined
  #over = false
  /** Undefined if the model may answer as it likes. */
  readonly demands: Demands | undefined
  readonly #replay: Replay | undefined
  /** Whether the current turn is a stored one. */
  #replayed = false
  readonly #startedMs: number
  readonly #wallTimeMs: number | undefined

  constructor(request: RunRequest, tools: readonly OfferedTool[], silence: SilenceWatch, effectOf: EffectOf) {
    const { messages, budget, prices, context } = request
    this.#request = request
    this.#silence = silence
    this.#effectOf = effectOf
    this.messages = [...messages]
    this.costs = new RunCosts(request, this.messages)
    this.tracked = [...(request.prior_calls ?? [])]
    const outer = context?.allowance
    this.#budget =
      budget?.tokens === undefined && budget?.cost === undefined && outer === undefined
        ? undefined
        : new RunBudget(budget ?? {}, prices, messages, tools, outer)
    this.demands =
      request.tool_choice === undefined && request.output === undefined
        ? undefined
        : new Demands(request, this.messages, (message) => this.#budget?.grow([message], []))
    this.#replay = request.journal && new Replay(request.journal.steps)
    const usedMs = this.#replay?.usedMs ?? 0
    this.#startedMs = silence.clock.now() - usedMs
    this.#wallTimeMs = wallTime(budget?.wall_time_ms, context?.parent, silence.clock)
    this.#signals = new RunSignals(context?.signal, this.#wallTimeMs, usedMs, silence.clock)
  }

  /** Sends a request unless a limit forbids it. The last request offers no tools and may use the reserve. */
  ask(offered: readonly OfferedTool[], last: boolean): TurnReader | Ending | Promise<TurnReader | Ending> {
    const { model } = this.#request
    const tools = this.demands?.toolsOf(offered) ?? offered
    const stored = last ? undefined : this.#replay?.answer(model.id)
    this.#replayed = stored !== undefined
    if (stored !== undefined) {
      const request = { messages: this.messages, tools }
      return this.#begun(new TurnReader(stored, request, new Cancellation(), this.#silence))
    }
    const { interruption, whole } = this.#signals
    if (interruption !== undefined && (!last || whole.aborted)) return this.#interrupted(interruption)
    const max_tokens = this.#budget?.allow(this.#request.max_tokens, last) ?? this.#request.max_tokens
    if (typeof max_tokens === 'object') return { reason: 'budget', limit: max_tokens.limit }
    if (this.costs.budgets === undefined) return this.#send(tools, max_tokens, last)
    return this.costs.take(this.iteration > 0).then((refused) => {
      if (refused === undefined) return this.#send(tools, max_tokens, last)
      this.#budget?.release()
      return refused
    })
  }

  #send(tools: readonly OfferedTool[], max_tokens: number | undefined, last: boolean): TurnReader {
    const { model, temperature, context } = this.#request
    const cancellation = last ? this.#signals.whole : this.#signals.work
    const { tools: before, max_tokens: most } = this.#question ?? {}
    const isUsual = !last && !this.demands?.holdText
    if (isUsual && this.#question !== undefined && before === tools && most === max_tokens) {
      return this.#begun(new TurnReader(model, this.#question, cancellation, this.#silence), tools)
    }
    const request: Draft = {
      messages: this.messages,
      tools,
      // A hash takes as long as a call, and few models use it.
      cache: new CacheKey(this.#request),
      effectOf: this.#effectOf,
      signal: cancellation.signal,
    }
    if (max_tokens !== undefined) request.max_tokens = max_tokens
    if (temperature !== undefined) request.temperature = temperature
    if (context?.tenant !== undefined) request.tenant = context.tenant
    this.demands?.addTo(request, last)
    if (isUsual) this.#question = request
    return this.#begun(new TurnReader(model, request, cancellation, this.#silence), tools)
  }

  failed(turn: TurnReader): Ending {
    const { interruption } = this.#signals
    this.#budget?.release()
    for (const observer of this.observers) observer.turnEnded?.(turn, interruption ?? 'error')
    this.costs.charge(turn, interruption !== undefined)
    if (interruption !== undefined) return this.#interrupted(interruption)
    const thrown = turn.failure?.thrown
    return { reason: 'error', content: turn.text, error: problemOf(thrown, this.model.id), provider: failureOf(thrown) }
  }

  spent(turn: TurnReader): void {
    const { usage, text, calls } = turn
    for (const observer of this.observers) observer.turnEnded?.(turn)
    this.costs.charge(turn, this.#signals.interruption !== undefined)
    if (usage !== undefined) this.usage = this.usage === undefined ? usage : sum(this.usage, usage)
    this.#budget?.spend(
      usage,
      calls.reduce((said, call) => said + call.function.name + call.function.arguments, text),
      this.#replayed,
    )
  }

  /** Undefined if the provider doesn't report usage. */
  usageOf({ usage }: TurnReader): RunEvent | undefined {
    if (usage === undefined) return undefined
    const cost = turnCost(this.#request.prices, usage)
    return { type: 'usage', usage, ...(cost !== undefined && { cost: inUnits(cost) }) }
  }

  add(calls: readonly ToolCall[], tracked: readonly TrackedCall[]): void {
    for (let index = 0; index < tracked.length; index++) {
      const call = tracked[index] as TrackedCall
      const {
        id,
        function: { name },
      } = calls[index] as ToolCall
      const content = resultContent(call.result, this.model.accepts)
      const message = { role: 'tool', tool_call_id: id, name, content } as const
      this.messages.push(message)
      this.#budget?.grow([message], [])
      this.tracked.push(call)
    }
  }

  /** Tools that the next requests offer in addition. */
  offer(added: readonly OfferedTool[]): void {
    if (added.length > 0) this.#budget?.grow([], added)
  }

  /** Stores the calls of a turn before they run, unless they are stored. Returns the results so far. */
  async beginCalls(
    turn: TurnReader,
    claims: boolean,
    versions: Readonly<Record<string, string>>,
  ): Promise<TurnJournal | undefined> {
    const { journal } = this.#request
    if (journal === undefined) return undefined
    await this.#storeAnswer(turn, { versions }, claims ? 'claims' : undefined)
    const stored = this.#replay?.results() ?? new Map()
    if (this.#replayed && this.#replay?.spent !== undefined) this.#budget?.restore(this.#replay.spent)
    return { keyed: journal.keyed, replayed: this.#replayed, stored }
  }

  /** Checks a turn against what the run demands, and stores one that the model has to correct. */
  async settle(demands: Demands, turn: TurnReader, ending: Ending | undefined): Promise<Settled> {
    const settled = await demands.settle(turn, ending, this.#replayed ? this.#replay?.again : undefined)
    if (settled.again !== undefined) await this.#storeAnswer(turn, { again: settled.again })
    return settled
  }

  /** Stores the answer of a turn, unless it is a stored one. */
  async #storeAnswer(
    { text, calls, reason, rawReason, usage, metadata }: TurnReader,
    more: { readonly versions?: Readonly<Record<string, string>>; readonly again?: string },
    how?: 'claims',
  ): Promise<void> {
    if (this.#replayed) return
    const step = {
      ...({ kind: 'answer', text, calls, reason, ...more, used_ms: this.#usedMs() } as const),
      ...(rawReason !== undefined && { raw_reason: rawReason }),
      ...(usage !== undefined && { usage }),
      ...(metadata !== undefined && { metadata }),
    }
    await this.#request.journal?.append(step, how)
  }

  /** Stores the results that are new. Ends the run if calls wait for approval. */
  async endCalls({ tracked, approvals }: CallBatch, { stored }: TurnJournal): Promise<Ending | undefined> {
    const waits = approvals.length > 0
    const results = tracked
      .map(({ result }, index) => ({ index, result }))
      .filter(({ index, result }) => stored.get(index) !== result)
    if (results.length > 0 || waits) {
      await this.#request.journal?.append(
        { kind: 'results', results, ...(this.#budget && { spent: this.#budget.spent }), used_ms: this.#usedMs() },
        waits ? 'waits' : undefined,
      )
    }
    return waits ? { reason: 'approval_required', approvals } : undefined
  }

  #usedMs(): number {
    return Math.round(this.#silence.clock.now() - this.#startedMs)
  }

  heard({ text, calls, metadata }: TurnReader): void {
    this.messages.push({
      role: 'assistant',
      content: text === '' ? null : text,
      tool_calls: calls,
      ...(metadata !== undefined && { metadata }),
    })
  }

  /** Ends the run if the turn calls client tools; its other calls aren't run. */
  handBack(turn: TurnReader): Ending | undefined {
    const { client_tools } = this.#request
    if (client_tools === undefined) return undefined
    const calls = turn.calls.filter((call) => client_tools.some(({ name }) => name === call.function.name))
    return calls.length === 0 ? undefined : { reason: 'stop', content: turn.text, handBack: { turn, calls } }
  }

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

  get over(): boolean {
    return this.#over
  }

  /** The caller left before the answer: notifies observers when all calls have ended. */
  async left(calls: CallBatch | undefined): Promise<void> {
    if (this.observers === NO_OBSERVERS && this.#request.journal === undefined) return
    while ((await calls?.next(0))?.length);
    this.#tellEnd(this.#answer({ reason: 'cancelled' }, ''))
  }

  #answer({ reason, limit, error, provider, handBack, approvals }: Ending, said: string): RunAnswer {
    const { id } = this.model
    const colon = id.indexOf(':')
    const limitReached = reason === 'max_iterations'
    const content =
      said === '' && reason === 'stop' ? '' : limitReached || said === '' ? stopSentence(reason, limit) : said
    const { usage, gate, costs } = this
    return {
      content,
      service: this.#request.service ?? id.slice(0, Math.max(colon, 0)),
      model: id.slice(colon + 1),
      tool_calls: this.tracked,
      stop_reason: reason,
      ...(approvals !== undefined && { status: 'waiting' as const, approvals }),
      ...(gate !== undefined && { gate }),
      ...(costs.warnings.length > 0 && { warnings: costs.warnings }),
      ...(handBack !== undefined && { client_calls: handBack.calls }),
      ...(limitReached && { max_iterations_reached: true as const }),
      ...(limitReached && said !== '' && { final_answer: said }),
      ...(this.demands?.output !== undefined && { output: this.demands.output }),
      ...(error !== undefined && { error }),
      ...provider,
      ...(usage !== undefined && { usage }),
      ...costs.sum(this.tracked),
    }
  }

  #tellEnd(answer: RunAnswer): void {
    this.#over = true
    if (this.#request.journal?.abandoned?.()) return
    for (const observer of this.observers) observer.runEnded(answer, this.iteration)
  }

  #begun(turn: TurnReader, tools?: readonly OfferedTool[]): TurnReader {
    this.costs.begin(turn, tools)
    for (const observer of this.observers) observer.turnStarted?.(turn)
    return turn
  }

  /** What agents that are called may spend. */
  get allowance(): Allowance | undefined {
    return this.#budget
  }

  close(): void {
    this.#budget?.release()
    this.costs.close(this.#signals.interruption !== undefined)
    this.#signals.close(this.#over)
  }

  get model(): Model {
    return this.#request.model
  }

  get signal(): CancelSignal {
    return this.#signals.work
  }

  #interrupted(reason: Interruption): Ending {
    return { reason, limit: `the time limit of ${(this.#wallTimeMs ?? 0) / 1_000} s` }
  }
}

/** Tenants share no cache, so that none learns from its speed what others ask. */
class CacheKey {
  readonly #request: RunRequest

  constructor(request: RunRequest) {
    this.#request = request
  }

  get key(): string {
    const { context, cache_key = '' } = this.#request
    return hash('sha256', JSON.stringify([context?.tenant ?? LOCAL_TENANT, cache_key])).slice(0, 32)
  }
}

/** Other errors may contain addresses. */
function problemOf(thrown: unknown, id: string): string {
  return thrown instanceof ModelError ? thrown.message : `Model ${id} failed. See the log`
}

const BUSY: ReadonlySet<number | undefined> = new Set([429, 503, 529])

function failureOf(thrown: unknown): NonNullable<Ending['provider']> {
  const { status, retryAfterMs } = thrown instanceof ModelError ? thrown : {}
  return {
    error_status: TIMED_OUT.has(status) ? 504 : BUSY.has(status) ? 503 : 502,
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
  }
}

function sum(a: Usage, b: Usage): Usage {
  return {
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    ...(a.cached_tokens || b.cached_tokens ? { cached_tokens: (a.cached_tokens ?? 0) + (b.cached_tokens ?? 0) } : {}),
  }
}
