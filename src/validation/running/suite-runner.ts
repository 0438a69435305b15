import { Cancellation, type CancelSignal } from '../../core/cancellation.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { CaseToolsCache, runTrial } from './run-trial.ts'
import { BudgetReachedError, SuiteBudget } from './suite-budget.ts'
import {
  type HashedSuite,
  isJudged,
  keyOf,
  type PlannedTrial,
  planTrials,
  type Stopped,
  type Trial,
  type TriedModel,
} from './trial.ts'

export interface SuiteRunnerOptions {
  readonly suites: readonly HashedSuite[]
  readonly models: readonly TriedModel[]
  /** How often each case is run with each model. */
  readonly repeat?: number
  /** The maximum number of concurrent trials per model. */
  readonly concurrency?: number
  readonly budget?: SuiteBudget
  readonly timeoutMs?: number
  readonly clock?: Clock
  readonly signal?: CancelSignal
  /** Trials of an earlier run, by `keyOf`; judged ones aren't repeated. */
  readonly earlier?: ReadonlyMap<string, Trial>
  /** Called after every trial, one at a time; a rejection ends the run. */
  readonly onTrial?: (trial: Trial) => Promise<void> | void
  /** Called when a model is stopped before its last trial. */
  readonly onStop?: (model: string, stopped: Stopped) => void
}

/** The result of a run. */
export interface SuiteRun {
  readonly planned: readonly PlannedTrial[]
  /** By `keyOf`; planned trials that are missing here were not run. */
  readonly trials: ReadonlyMap<string, Trial>
  /** The models that were stopped early, and why. */
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
  readonly #tools: CaseToolsCache
  readonly #signal: CancelSignal
  readonly #trials = new Map<string, Trial>()
  readonly #stopped = new Map<string, Stopped>()
  /** An error of the run itself, not of a model. */
  #failure: { readonly thrown: unknown } | undefined
  #notifying: Promise<void> = Promise.resolve()

  constructor(options: SuiteRunnerOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#budget = options.budget ?? new SuiteBudget()
    this.#tools = new CaseToolsCache(this.#clock)
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

  /** Runs one trial; undefined if the model was stopped. */
  async #try(planned: PlannedTrial): Promise<Trial | undefined> {
    const { timeoutMs = DEFAULT_TRIAL_TIMEOUT_MS } = this.#options
    try {
      const result = await runTrial(planned, {
        tools: this.#tools.of(planned.case),
        budget: this.#budget,
        clock: this.#clock,
        signal: this.#signal,
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
