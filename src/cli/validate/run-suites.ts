import { hash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { dataFolder } from '../../models/model-files/model-folder.ts'
import { planTrials } from '../../validation/running/plan-trials.ts'
import { SuiteBudget } from '../../validation/running/suite-budget.ts'
import { type SuiteRun, SuiteRunner } from '../../validation/running/suite-runner.ts'
import {
  type HashedSuite,
  isJudged,
  keyOf,
  type Spent,
  type Trial,
  type TriedModel,
} from '../../validation/running/trial.ts'
import { TrialFile, TrialFileError } from '../../validation/running/trial-file.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { tellEstimate } from './tell-estimate.ts'
import { TrialProgress } from './trial-progress.ts'
import type { TrialRecorder } from './trial-recorder.ts'
import type { ValidateSettings } from './validate-settings.ts'

export interface SuitesToRun {
  readonly suites: readonly HashedSuite[]
  readonly models: readonly TriedModel[]
  readonly settings: ValidateSettings
  readonly signal: AbortSignal
  /** Where there is a store. */
  readonly recorder: TrialRecorder | undefined
}

/** What was run, and where it is written down. */
export interface RanSuites {
  readonly run: SuiteRun
  readonly file: string
  /** What it used up, without what was made before. */
  readonly spent: Spent
}

/** Runs the suites, or goes on with a run of the same that was broken off; says on stderr what it will cost, and how far it is. */
export async function runSuites(terminal: Terminal, work: SuitesToRun): Promise<RanSuites> {
  const { suites, models, settings } = work
  const { repeat, fresh } = settings
  const planned = models.flatMap((model) => planTrials(suites, model, repeat))
  const key = hash(
    'sha256',
    JSON.stringify([suites.map((one) => one.hash), models.map(({ model }) => model.id), repeat]),
  )
  const file = await openFile(settings.out ?? join(dataFolder(), 'validation', `${key.slice(0, 16)}.jsonl`), key, fresh)
  try {
    const earlier = file.read(planned)
    const left = planned.filter((trial) => !isDone(earlier.get(keyOf(trial))))
    const done = planned.length - left.length
    if (done > 0) {
      terminal.note(
        printableLine(
          `Going on: ${done} of ${planned.length} trials were made before, in ${file.path} (--fresh starts over).`,
        ),
      )
    }
    tellEstimate(terminal, left, settings.budget)
    const budget = new SuiteBudget(settings.budget)
    const run = await made(terminal, work, { file, earlier, budget, left: left.length })
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
  readonly left: number
}

async function made(
  terminal: Terminal,
  work: SuitesToRun,
  { file, earlier, budget, left }: Beginning,
): Promise<SuiteRun> {
  const { suites, models, settings, signal, recorder } = work
  const progress = new TrialProgress(terminal, { of: left })
  let recording = recorder
  const onTrial = async (trial: Trial): Promise<void> => {
    await file.add(trial)
    progress.add(trial)
    await recording?.record(trial).catch((error: unknown) => {
      recording = undefined
      progress.note(printableLine(`The trials are not recorded in the store from here on: ${messageOf(error)}`))
    })
  }
  const runner = new SuiteRunner({
    suites,
    models,
    repeat: settings.repeat,
    concurrency: settings.concurrency,
    budget,
    signal,
    earlier,
    onTrial,
    onStop: (model, { reason, message }) => {
      if (reason !== 'cancelled') progress.note(terminal.styleNote('red', printableLine(`${model}: ${message}`)))
    },
  })
  try {
    return await runner.run()
  } finally {
    progress.clear()
  }
}

const isDone = (trial: Trial | undefined): boolean => trial !== undefined && isJudged(trial)

async function openFile(path: string, key: string, fresh: boolean): Promise<TrialFile> {
  try {
    return await TrialFile.open(resolve(path), { key, fresh })
  } catch (error) {
    throw error instanceof TrialFileError ? new UsageError(error.message, { cause: error }) : error
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
