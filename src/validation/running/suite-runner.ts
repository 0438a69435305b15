import type { RunAnswer, RunEvent, TrackedCall } from '../../chat/run.ts'
import { promptBound, textBound } from '../../chat/run-budget.ts'
import { ToolLoop, type ToolLoopOptions } from '../../chat/tool-loop.ts'
import type { CallContext } from '../../core/call-context.ts'
import { Cancellation, type CancelSignal } from '../../core/cancellation.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { ToolExecutor } from '../../core/execution/tool-executor.ts'
import { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { isRefused, ToolExecutionError } from '../../core/tool-result.ts'
import { mock } from '../../kinds/kinds.ts'
import type { Message, Model, ModelEvent, ModelRequest, Usage } from '../../models/model.ts'
import { costOf } from '../../models/model-info.ts'
import type { ObservedCall, ObservedTurn, SuiteCase, Verdict } from '../suites/suite.ts'
import { BudgetReachedError, SuiteBudget } from './suite-budget.ts'
import {
  type HashedSuite,
  isJudged,
  keyOf,
  type PlannedTrial,
  planTrials,
  type Stopped,
  type Trial,
  type TrialResult,
  type TriedModel,
} from './trial.ts'

export interface SuiteRunnerOptions {
  readonly suites: readonly HashedSuite[]
  readonly models: readonly TriedModel[]
  readonly repeat?: number
  readonly concurrency?: number
  readonly budget?: SuiteBudget
  readonly timeoutMs?: number
  readonly clock?: Clock
  readonly signal?: CancelSignal
  /** Whose turn the trials take at a model that tenants share. */
  readonly tenant?: string | undefined
  /** Trials of an earlier run, by `keyOf`; judged ones aren't repeated. */
  readonly earlier?: ReadonlyMap<string, Trial>
  /** Called after every trial, one at a time; a rejection ends the run. */
  readonly onTrial?: (trial: Trial) => Promise<void> | void
  readonly onStop?: (model: string, stopped: Stopped) => void
}

export interface SuiteRun {
  readonly planned: readonly PlannedTrial[]
  /** By `keyOf`; planned trials that are missing here were not run. */
  readonly trials: ReadonlyMap<string, Trial>
  readonly stopped: ReadonlyMap<string, Stopped>
}

export const DEFAULT_CONCURRENCY = 4
const DEFAULT_TRIAL_TIMEOUT_MS = 120_000
/** A model is stopped after this many unanswered trials in a row. */
export const MAX_UNANSWERED = 5

/** Runs suites with models, through the real loop and executor but with mock tools. */
export class SuiteRunner {
  readonly #options: SuiteRunnerOptions
  readonly #clock: Clock
  readonly #budget: SuiteBudget
  readonly #signal: CancelSignal
  readonly #trials = new Map<string, Trial>()
  readonly #stopped = new Map<string, Stopped>()
  #failure: { readonly thrown: unknown } | undefined
  #notifying: Promise<void> = Promise.resolve()

  constructor(options: SuiteRunnerOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#budget = options.budget ?? new SuiteBudget()
    this.#signal = options.signal ?? new Cancellation()
  }

  async run(): Promise<SuiteRun> {
    const { suites, models, repeat = 1, earlier } = this.#options
    const planned: PlannedTrial[] = []
    const work: Promise<void>[] = []
    for (const model of models) {
      const trials = planTrials(suites, model, repeat)
      planned.push(...trials)
      const left = trials.filter((trial) => {
        const known = earlier?.get(keyOf(trial))
        if (known === undefined || !isJudged(known)) return true
        this.#trials.set(keyOf(trial), known)
        return false
      })
      work.push(this.#runModel(model.model.id, left))
    }
    await Promise.all(work)
    await this.#notifying
    if (this.#failure !== undefined) throw this.#failure.thrown
    return { planned, trials: this.#trials, stopped: this.#stopped }
  }

  async #runModel(id: string, trials: readonly PlannedTrial[]): Promise<void> {
    const { concurrency = DEFAULT_CONCURRENCY } = this.#options
    let next = 0
    let unanswered = 0
    const worker = async (): Promise<void> => {
      for (let planned = trials[next++]; planned !== undefined; planned = trials[next++]) {
        if (this.#isOver(id)) return
        const trial = await this.#try(planned)
        if (trial === undefined) return
        unanswered = isJudged(trial) ? 0 : unanswered + 1
        this.#notify(trial)
        if (unanswered >= MAX_UNANSWERED && next < trials.length) this.#giveUp(id, trial)
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, trials.length) }, worker))
  }

  async #try(planned: PlannedTrial): Promise<Trial | undefined> {
    const { timeoutMs = DEFAULT_TRIAL_TIMEOUT_MS, tenant } = this.#options
    try {
      const result = await runTrial(planned, {
        tools: caseTools(planned.case, this.#clock),
        budget: this.#budget,
        clock: this.#clock,
        context: { tenant, signal: this.#signal },
        timeoutMs,
      })
      if (result !== undefined) return { ...planned, ...result, at: new Date(this.#clock.wall()).toISOString() }
      this.#stop(planned.model.model.id, { reason: 'cancelled', message: 'The run was cancelled.' })
    } catch (error) {
      if (error instanceof BudgetReachedError) {
        this.#stop(planned.model.model.id, { reason: 'budget', message: error.message })
      } else this.#failure ??= { thrown: error }
    }
    return undefined
  }

  #isOver(id: string): boolean {
    if (this.#signal.aborted) this.#stop(id, { reason: 'cancelled', message: 'The run was cancelled.' })
    return this.#failure !== undefined || this.#stopped.has(id)
  }

  #giveUp(id: string, { verdict }: Trial): void {
    const why = verdict.passed ? '' : verdict.message
    const message = `Stopped after ${MAX_UNANSWERED} unanswered trials in a row. ${why}`
    this.#stop(id, { reason: 'not_answered', message })
  }

  #stop(id: string, stopped: Stopped): void {
    if (this.#stopped.has(id)) return
    this.#stopped.set(id, stopped)
    this.#options.onStop?.(id, stopped)
  }

  /** Calls `onTrial` one trial at a time, so that it needs no queue. */
  #notify(trial: Trial): void {
    this.#trials.set(keyOf(trial), trial)
    this.#notifying = this.#notifying
      .then(() => (this.#failure === undefined ? this.#options.onTrial?.(trial) : undefined))
      .catch((thrown: unknown) => {
        this.#failure ??= { thrown }
      })
  }
}

const MAX_TOKENS = 2_048

interface TrialOptions {
  readonly tools: CaseTools
  readonly budget: SuiteBudget
  readonly clock: Clock
  readonly timeoutMs: number
  readonly context: CallContext
}

/** The model caused these stop reasons itself; with any other it isn't judged. */
const JUDGED: ReadonlySet<RunAnswer['stop_reason']> = new Set(['stop', 'max_iterations', 'repeated_calls', 'length'])

interface Turn {
  readonly observed: ObservedTurn
  readonly answer: RunAnswer
  readonly messages: readonly Message[]
}

/** Runs and judges a case. Undefined if cancelled; rejects with a `BudgetReachedError`. */
async function runTrial(planned: PlannedTrial, options: TrialOptions): Promise<TrialResult | undefined> {
  const { case: asked } = planned
  const { clock, tools, timeoutMs } = options
  const model = new TrialModel(planned.model, options.budget, asked.tools.length > 0)
  const startedMs = clock.now()
  const turns: ObservedTurn[] = []
  const result = (verdict: Verdict): TrialResult => ({
    verdict,
    turns,
    tokens: model.tokens,
    duration_ms: Math.round(clock.now() - startedMs),
    ...(model.cost !== undefined && { cost: model.cost }),
    ...(model.usage !== undefined && { usage: model.usage }),
  })
  if (tools.problem !== undefined) return result(notAnswered(tools.problem))
  let history: readonly Message[] = []
  for (const turn of asked.turns) {
    const leftMs = startedMs + timeoutMs - clock.now()
    if (leftMs <= 0) return result(notAnswered(`The trial took longer than ${timeoutMs / 1_000} s.`))
    const run = tools.loop.run({
      model,
      messages: [...history, ...turn],
      max_iterations: asked.max_iterations,
      max_tokens: MAX_TOKENS,
      budget: { wall_time_ms: leftMs },
      context: options.context,
    })
    const { observed, answer, messages } = await follow(run)
    if (answer.stop_reason === 'cancelled') return undefined
    if (model.refused !== undefined) throw model.refused
    turns.push(observed)
    if (!JUDGED.has(answer.stop_reason)) return result(notAnswered(reasonOf(answer, timeoutMs)))
    history = messages
  }
  return result(asked.judge(turns))
}

async function follow(run: AsyncIterable<RunEvent>): Promise<Turn> {
  let text = ''
  for await (const event of run) {
    if (event.type === 'tool-call-end') text = ''
    if (event.type === 'text-delta') text += event.text
    if (event.type !== 'answer') continue
    const { answer, messages } = event
    // The loop adds a substitute answer if the model gave none; it doesn't belong in the conversation.
    const own = answer.stop_reason === 'stop' && answer.content !== ''
    const calls = answer.tool_calls.map(observedCall)
    return { observed: { calls, answer: text }, answer, messages: own ? messages : messages.slice(0, -1) }
  }
  throw new Error('The run ended without an answer')
}

function observedCall({ tool, params, result }: TrackedCall): ObservedCall {
  const refused = !result.success && isRefused(result.error_code) ? { refused: result.error_code } : undefined
  return { tool, params: isObject(params) ? params : undefined, ...refused }
}

const notAnswered = (message: string): Verdict => ({ passed: false, kind: 'not_answered', message })

function reasonOf({ stop_reason, error, model }: RunAnswer, timeoutMs: number): string {
  if (error !== undefined) return error
  if (stop_reason === 'timeout') return `Model ${model} took longer than ${timeoutMs / 1_000} s for the trial.`
  if (stop_reason === 'content_filter') return `The provider of model ${model} withheld its answer.`
  return `Model ${model} ended its answer with an error.`
}

/** Reserves the budget before each request and counts usage. Skips the loop's final request without tools. */
class TrialModel implements Model {
  readonly id: string
  readonly #tried: TriedModel
  readonly #budget: SuiteBudget
  readonly #hasTools: boolean
  tokens = 0
  cost: number | undefined
  usage: Usage | undefined
  /** Set if the budget didn't allow the request. */
  refused: Error | undefined

  constructor(tried: TriedModel, budget: SuiteBudget, hasTools: boolean) {
    this.id = tried.model.id
    this.#tried = tried
    this.#budget = budget
    this.#hasTools = hasTools
    this.cost = tried.prices && 0
  }

  async *stream(request: ModelRequest): AsyncIterable<ModelEvent> {
    if (this.#hasTools && request.tools.length === 0) {
      yield { type: 'finish', reason: 'stop' }
      return
    }
    const { prices, model } = this.#tried
    const prompt = promptBound(request.messages, request.tools)
    const settle = await this.#budget.hold(prices, prompt, request.max_tokens ?? 0).catch((error: Error) => {
      this.refused = error
      throw error
    })
    let completion = 0
    let started = false
    let settled = false
    // Without usage from the provider, assume the upper bound; nothing if the response never started.
    const done = (usage: Usage | undefined): void => {
      if (settled) return
      settled = true
      settle(this.#add(usage?.prompt_tokens ?? (started ? prompt : 0), usage?.completion_tokens ?? completion, usage))
    }
    try {
      request.signal?.throwIfAborted()
      for await (const event of model.stream(request)) {
        started = true
        if (event.type === 'text-delta') completion += textBound(event.text)
        if (event.type === 'tool-call-end')
          completion += textBound(event.call.function.name + event.call.function.arguments)
        // Settle here: readers stop at the finish event.
        if (event.type === 'finish') done(event.usage)
        yield event
      }
    } catch (thrown) {
      // Models throw no errors of tools: a budget of the server refuses the request.
      if (thrown instanceof ToolExecutionError) this.refused = new BudgetReachedError(thrown.message)
      throw thrown
    } finally {
      done(undefined)
    }
  }

  #add(prompt: number, completion: number, usage: Usage | undefined) {
    const cost = costOf(this.#tried.prices, prompt, completion)
    const tokens = Math.max(usage?.total_tokens ?? 0, prompt + completion)
    this.tokens += tokens
    if (cost !== undefined) this.cost = (this.cost ?? 0) + cost
    const before = this.usage
    this.usage = {
      prompt_tokens: (before?.prompt_tokens ?? 0) + prompt,
      completion_tokens: (before?.completion_tokens ?? 0) + completion,
      total_tokens: (before?.total_tokens ?? 0) + tokens,
    }
    return { tokens, ...(cost !== undefined && { cost }) }
  }
}

interface CaseTools {
  readonly loop: ToolLoop
  /** Why a tool can't be offered, in a sentence. */
  readonly problem?: string
}

const DEFAULT_MOCK = { ok: true }

/** A loop with tools of the mock kind only, so that no real tool can run. */
export function mockedLoop(
  { tools, mocks }: Pick<SuiteCase, 'tools' | 'mocks'>,
  options: ToolLoopOptions & { readonly clock: Clock },
): { readonly loop: ToolLoop; readonly registry: ToolRegistry } {
  const registry = new ToolRegistry()
  // Leave out the tool's limits, permissions and cache: they say nothing about the model.
  for (const { name, description, parameters } of tools) {
    const mock_response = Object.hasOwn(mocks, name) ? mocks[name] : DEFAULT_MOCK
    registry.register({ name, description, parameters, implementation: { type: 'mock', mock_response } })
  }
  const executor = new ToolExecutor(registry, { kinds: { mock }, clock: options.clock })
  return { registry, loop: new ToolLoop(registry, executor, options) }
}

function caseTools(given: SuiteCase, clock: Clock): CaseTools {
  const { loop, registry } = mockedLoop(given, { clock })
  const { tools } = given
  const broken = tools.find(({ name }) => registry.invalidReason(name) !== undefined)
  if (broken === undefined) return { loop }
  return { loop, problem: `Tool '${broken.name}' has an invalid schema: ${registry.invalidReason(broken.name)}` }
}
