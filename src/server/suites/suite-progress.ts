import { outcomeOf, type PlannedTrial, type Stopped, type Trial } from '../../validation/running/trial.ts'
import type { LatestTrial, ModelProgress, SuiteProgress } from './suite-views.ts'

const MOST_LATEST = 8
const LONGEST_MESSAGE = 300

/** Counts the trials of a run as they are made. */
export class SuiteCount {
  readonly #models = new Map<string, { -readonly [Key in keyof ModelProgress]: ModelProgress[Key] }>()
  readonly #planned: number
  readonly #before: number
  #made = 0
  #tokens = 0
  #cost = 0
  #latest: LatestTrial[] = []
  #notRecorded: string | undefined

  constructor(planned: readonly PlannedTrial[], left: readonly PlannedTrial[]) {
    this.#planned = planned.length
    this.#before = planned.length - left.length
    for (const { model } of planned) {
      const { id } = model.model
      const known = this.#models.get(id) ?? { id, trials: 0, passed: 0, failed: 0, not_answered: 0 }
      this.#models.set(id, { ...known, trials: known.trials + 1 })
    }
  }

  add(trial: Trial): void {
    const { verdict, suite, model, repetition, tokens, cost = 0 } = trial
    const outcome = outcomeOf(trial)
    const own = this.#models.get(model.model.id)
    if (own !== undefined && outcome !== 'not_run') own[outcome]++
    this.#made++
    this.#tokens += tokens
    this.#cost += cost
    const made: LatestTrial = {
      suite: suite.suite.name,
      model: model.model.id,
      case: trial.case.id,
      repetition,
      outcome,
      ...(!verdict.passed && { message: verdict.message.slice(0, LONGEST_MESSAGE) }),
    }
    this.#latest = [made, ...this.#latest].slice(0, MOST_LATEST)
  }

  stop(model: string, stopped: Stopped): void {
    const own = this.#models.get(model)
    if (own !== undefined) own.stopped = stopped
  }

  notRecorded(): void {
    this.#notRecorded = 'The store did not take the trials: they do not count for the models. Look into the log.'
  }

  get progress(): SuiteProgress {
    return {
      trials: this.#planned,
      made_before: this.#before,
      made: this.#made,
      tokens: this.#tokens,
      cost: this.#cost,
      models: [...this.#models.values()].map((one) => ({ ...one })),
      latest: this.#latest,
      ...(this.#notRecorded !== undefined && { not_recorded: this.#notRecorded }),
    }
  }
}
