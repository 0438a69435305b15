import { Cancellation, type CancelSignal } from '../../core/cancellation.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { MockYards, runTrial } from './run-trial.ts'
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
  /** Trials of one model at a time; models do not wait for each other. */
  readonly concurrency?: number
  readonly budget?: SuiteBudget
  readonly timeoutMs?: number
  readonly clock?: Clock
  readonly signal?: CancelSignal
  /** Trials of an earlier run, by `keyOf`: those that were judged are not made again. */
  readonly earlier?: ReadonlyMap<string, Trial>
  /** Told of every trial that was made, one at a time; what it rejects with ends the run. */
  readonly onTrial?: (trial: Trial) => Promise<void> | void
  /** Told when no more trials are made with a model. */
  readonly onStop?: (model: string, stopped: Stopped) => void
}

/** What became of all that was planned. */
export interface SuiteRun {
  readonly planned: readonly PlannedTrial[]
  /** By `keyOf`; what is planned and not here was not run. */
  readonly trials: ReadonlyMap<string, Trial>
  /** The models that were not asked to the end, and why. */
  readonly stopped: ReadonlyMap<string, Stopped>
}

export const DEFAULT_CONCURRENCY = 4
export const DEFAULT_TRIAL_TIMEOUT_MS = 120_000
/** A model that did not answer so often in a row is not asked any more. */
export const MOST_UNANSWERED = 5

/** Runs suites with models: every trial through the real loop and executor, on tools that are mocks. */
export class SuiteRunner {
  readonly #options: SuiteRunnerOptions
  readonly #clock: Clock
  readonly #budget: SuiteBudget
  readonly #yards: MockYards
  readonly #signal: CancelSignal
  readonly #trials = new Map<string, Trial>()
  readonly #stopped = new Map<string, Stopped>()
  /** What ended the run, where that was none of its models. */
  #failure: { readonly thrown: unknown } | undefined
  #telling: Promise<void> = Promise.resolve()

  constructor(options: SuiteRunnerOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#budget = options.budget ?? new SuiteBudget()
    this.#yards = new MockYards(this.#clock)
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
    await this.#telling
    if (this.#failure !== undefined) throw this.#failure.thrown
    return { planned, trials: this.#trials, stopped: this.#stopped }
  }

  /** A few workers that take trials off one list. */
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
        this.#tell(trial)
        if (unanswered >= MOST_UNANSWERED && next < trials.length) this.#giveUp(id, trial)
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, trials.length) }, worker))
  }

  /** Makes one trial; gives nothing where the model is not to be asked any more. */
  async #try(planned: PlannedTrial): Promise<Trial | undefined> {
    const { timeoutMs = DEFAULT_TRIAL_TIMEOUT_MS } = this.#options
    try {
      const result = await runTrial(planned, {
        yard: this.#yards.of(planned.case),
        budget: this.#budget,
        clock: this.#clock,
        signal: this.#signal,
        timeoutMs,
      })
      if (result !== undefined) return { ...planned, ...result, at: new Date(this.#clock.wall()).toISOString() }
      this.#stop(planned.model.model.id, { reason: 'cancelled', message: 'It was interrupted.' })
    } catch (error) {
      if (error instanceof BudgetReachedError) {
        this.#stop(planned.model.model.id, { reason: 'budget', message: error.message })
      } else this.#failure ??= { thrown: error }
    }
    return undefined
  }

  #isOver(id: string): boolean {
    if (this.#signal.aborted) this.#stop(id, { reason: 'cancelled', message: 'It was interrupted.' })
    return this.#failure !== undefined || this.#stopped.has(id)
  }

  #giveUp(id: string, { verdict }: Trial): void {
    const why = verdict.passed ? '' : verdict.message
    const message = `It did not answer ${MOST_UNANSWERED} times in a row, so it was not asked any more. ${why}`
    this.#stop(id, { reason: 'not_answered', message })
  }

  #stop(id: string, stopped: Stopped): void {
    if (this.#stopped.has(id)) return
    this.#stopped.set(id, stopped)
    this.#options.onStop?.(id, stopped)
  }

  /** One after the other, so that whoever writes them down need not queue them. */
  #tell(trial: Trial): void {
    this.#trials.set(keyOf(trial), trial)
    this.#telling = this.#telling
      .then(() => (this.#failure === undefined ? this.#options.onTrial?.(trial) : undefined))
      .catch((thrown: unknown) => {
        this.#failure ??= { thrown }
      })
  }
}
