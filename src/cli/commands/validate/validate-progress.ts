import { type Clock, systemClock } from '../../../core/clock.ts'
import { dataFolder } from '../../../core/environment.ts'
import { counted } from '../../../core/schema/problem-words.ts'
import {
  planFile,
  planKey,
  type RanSuites,
  runSuites,
  type TrialRecorder,
} from '../../../validation/running/run-suites.ts'
import { type BudgetLimits, DEFAULT_UNPRICED_TOKENS } from '../../../validation/running/suite-budget.ts'
import {
  estimate,
  type HashedSuite,
  isJudged,
  type PlannedTrial,
  type Trial,
  type TriedModel,
} from '../../../validation/running/trial.ts'
import { TrialFileError } from '../../../validation/running/trial-file.ts'
import { type Output, ProgressLine, printableLine, type Terminal, UsageError } from '../../common/terminal.ts'
import type { ValidateSettings } from './validate-settings.ts'

interface SuitesToRun {
  readonly suites: readonly HashedSuite[]
  readonly models: readonly TriedModel[]
  readonly settings: ValidateSettings
  readonly signal: AbortSignal
  /** Undefined if there is no store. */
  readonly recorder: TrialRecorder | undefined
}

/** Runs or resumes the suites, and writes the estimated cost and the progress to stderr. */
export async function runWithProgress(terminal: Terminal, work: SuitesToRun): Promise<RanSuites> {
  const { suites, models, settings, signal, recorder } = work
  const { repeat, fresh, concurrency, budget, out } = settings
  const key = planKey({ suites, models, repeat })
  const file = terminal.path(out ?? planFile(dataFolder(terminal.env), key))
  const known = { suites, models, repeat, fresh, concurrency, budget, file, key, signal }
  let progress: TrialProgress | undefined
  try {
    return await runSuites(
      { ...known, recorder },
      {
        begun(planned, left, path) {
          const done = planned.length - left.length
          if (done > 0) {
            const before = `${done} of ${planned.length} trials are done`
            terminal.note(printableLine(`Continuing: ${before}, in ${path} (--fresh starts over).`))
          }
          tellEstimate(terminal, left, budget)
          progress = new TrialProgress(terminal, { of: left.length })
        },
        made: (trial) => progress?.add(trial),
        stopped(model, { reason, message }) {
          if (reason !== 'cancelled') progress?.note(terminal.styleNote('red', printableLine(`${model}: ${message}`)))
        },
        notRecorded: (error) =>
          progress?.note(printableLine(`The trials are no longer recorded in the store: ${messageOf(error)}`)),
      },
    )
  } catch (error) {
    throw error instanceof TrialFileError ? new UsageError(error.message, { cause: error }) : error
  } finally {
    progress?.clear()
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

interface ProgressOptions {
  /** The number of trials. */
  readonly of: number
  readonly stream?: Output
  readonly clock?: Clock
}

/** Shows the progress of trials on stderr, with the remaining time. */
export class TrialProgress extends ProgressLine {
  readonly #clock: Clock
  readonly #of: number
  readonly #startedMs: number
  #done = 0
  #passed = 0
  #unanswered = 0

  constructor(terminal: Terminal, { of, clock = systemClock, ...options }: ProgressOptions) {
    super(terminal, { ...options, clock })
    this.#clock = clock
    this.#of = of
    this.#startedMs = clock.now()
  }

  add(trial: Trial): void {
    this.#done++
    if (trial.verdict.passed) this.#passed++
    if (!isJudged(trial)) this.#unanswered++
    const unanswered = this.#unanswered > 0 ? `, ${this.#unanswered} not answered` : ''
    const leftMs = ((this.#clock.now() - this.#startedMs) / this.#done) * (this.#of - this.#done)
    const text = `${this.#done} of ${this.#of} trials, ${this.#passed} passed${unanswered}, ${timeLeft(leftMs)} left`
    this.show(this.#done / this.#of, text)
  }
}

function timeLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}

/** Shows the estimated usage of the remaining trials, and its limits. */
function tellEstimate(
  terminal: Terminal,
  left: readonly PlannedTrial[],
  { cost: most, tokens: mostTokens, currency }: BudgetLimits,
) {
  const { tokens, cost } = estimate(left)
  const models = [...new Set(left.map(({ model }) => model))]
  const unpriced = models.filter(({ prices }) => prices === undefined)
  const free = models.every(isFree)
  const limited = `limited to ${money(most, currency)} (--budget)`
  const price = free ? ' at no cost' : cost === undefined ? '' : ` and ${money(cost, currency)}, ${limited}`
  terminal.note(`${counted(left.length, 'trial')}: about ${figure(tokens)} tokens${price}.`)
  if (mostTokens !== undefined) terminal.note(`Limited to ${figure(mostTokens)} tokens (--budget-tokens).`)
  for (const { model } of unpriced) {
    const bound =
      mostTokens === undefined
        ? `. Its limit is ${figure(DEFAULT_UNPRICED_TOKENS)} tokens instead (--budget-tokens)`
        : ''
    terminal.note(printableLine(`The price of ${model.id} is unknown: set it in models[].prices${bound}.`))
  }
  if (cost !== undefined && cost > most) {
    terminal.note('The budget is probably too low for all trials. Run the same command again to continue.')
  }
}

const isFree = ({ prices }: TriedModel): boolean => prices?.input === 0 && prices.output === 0

export const figure = (number: number): string => number.toLocaleString('en-US')

export const money = (cost: number, currency = 'USD'): string =>
  `${cost < 0.01 && cost > 0 ? cost.toFixed(4) : cost.toFixed(2)} ${currency}`
