import { hash } from 'node:crypto'
import { join } from 'node:path'
import { LOCAL_TENANT } from '../../core/call.ts'
import type { CancelSignal } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import { planTrials } from './plan-trials.ts'
import { type BudgetLimits, SuiteBudget } from './suite-budget.ts'
import { type SuiteRun, SuiteRunner } from './suite-runner.ts'
import {
  type HashedSuite,
  isJudged,
  keyOf,
  type PlannedTrial,
  type Spent,
  type Stopped,
  type Trial,
  type TriedModel,
} from './trial.ts'
import { TrialFile } from './trial-file.ts'
import type { TrialRecorder } from './trial-recorder.ts'

/** What is put to whom, and how often. */
export interface SuitesPlan {
  readonly suites: readonly HashedSuite[]
  readonly models: readonly TriedModel[]
  readonly repeat: number
}

export interface SuitesWork extends SuitesPlan {
  readonly budget: BudgetLimits
  readonly concurrency?: number
  /** Starts over, whatever was made before. */
  readonly fresh: boolean
  /** Where the trials are written down, under the plan's key. */
  readonly file: string
  readonly key: string
  readonly signal: CancelSignal
  readonly clock?: Clock
  /** Where there is a store. */
  readonly recorder?: TrialRecorder
}

/** Who is told how it goes. */
export interface SuitesListener {
  /** Told once, before anything is asked. */
  begun(planned: readonly PlannedTrial[], left: readonly PlannedTrial[], file: string): void
  /** A trial was made, and is written down. */
  made(trial: Trial): void
  /** No more trials are made with a model. */
  stopped(model: string, stopped: Stopped): void
  /** The store did not take a trial: it and those after it are only in the file. */
  notRecorded(error: unknown): void
}

/** What was run, and where it is written down. */
export interface RanSuites {
  readonly run: SuiteRun
  readonly file: string
  /** What it used up, without what was made before. */
  readonly spent: Spent
}

/** What tells a plan from another: the same one goes on where it was broken off. Every tenant has its own. */
export function planKey({ suites, models, repeat }: SuitesPlan, tenant: string = LOCAL_TENANT): string {
  const plan = [suites.map((one) => one.hash), models.map(({ model }) => model.id), repeat]
  return hash('sha256', JSON.stringify(tenant === LOCAL_TENANT ? plan : [...plan, tenant]))
}

/** Where the trials of a plan are written down in the data folder. */
export const planFile = (folder: string, key: string): string => join(folder, 'validation', `${key.slice(0, 16)}.jsonl`)

/** All trials of a plan. */
export const trialsOf = ({ suites, models, repeat }: SuitesPlan): PlannedTrial[] =>
  models.flatMap((model) => planTrials(suites, model, repeat))

/** Those that no earlier run has made, and had judged. */
export const trialsLeft = (planned: readonly PlannedTrial[], earlier: ReadonlyMap<string, Trial>): PlannedTrial[] =>
  planned.filter((trial) => !isDone(earlier.get(keyOf(trial))))

/** Runs suites, or goes on with a run of the same that was broken off. Rejects with a `TrialFileError`. */
export async function runSuites(work: SuitesWork, listener: SuitesListener): Promise<RanSuites> {
  const { budget: limits, fresh, key } = work
  const planned = trialsOf(work)
  const file = await TrialFile.open(work.file, { key, fresh })
  try {
    const earlier = file.read(planned)
    listener.begun(planned, trialsLeft(planned, earlier), file.path)
    const budget = new SuiteBudget(limits)
    const run = await made(work, listener, { file, earlier, budget })
    if (planned.every((trial) => isDone(run.trials.get(keyOf(trial))))) await file.finish()
    return { run, file: file.path, spent: budget.total }
  } finally {
    await file.close()
  }
}

interface Beginning {
  readonly file: TrialFile
  readonly earlier: ReadonlyMap<string, Trial>
  readonly budget: SuiteBudget
}

function made(work: SuitesWork, listener: SuitesListener, { file, earlier, budget }: Beginning): Promise<SuiteRun> {
  const { suites, models, repeat, concurrency, signal, clock, recorder } = work
  let recording = recorder
  const onTrial = async (trial: Trial): Promise<void> => {
    await file.add(trial)
    listener.made(trial)
    await recording?.record(trial).catch((error: unknown) => {
      recording = undefined
      listener.notRecorded(error)
    })
  }
  return new SuiteRunner({
    suites,
    models,
    repeat,
    budget,
    signal,
    earlier,
    onTrial,
    onStop: (model, stopped) => listener.stopped(model, stopped),
    ...(concurrency !== undefined && { concurrency }),
    ...(clock !== undefined && { clock }),
  }).run()
}

const isDone = (trial: Trial | undefined): boolean => trial !== undefined && isJudged(trial)
