import { resolve } from 'node:path'
import { dataFolder } from '../../models/model-files/model-folder.ts'
import {
  planFile,
  planKey,
  type RanSuites,
  runSuites,
  type TrialRecorder,
} from '../../validation/running/run-suites.ts'
import type { HashedSuite, TriedModel } from '../../validation/running/trial.ts'
import { TrialFileError } from '../../validation/running/trial-file.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { tellEstimate } from './tell-estimate.ts'
import { TrialProgress } from './trial-progress.ts'
import type { ValidateSettings } from './validate-settings.ts'

export interface SuitesToRun {
  readonly suites: readonly HashedSuite[]
  readonly models: readonly TriedModel[]
  readonly settings: ValidateSettings
  readonly signal: AbortSignal
  /** Where there is a store. */
  readonly recorder: TrialRecorder | undefined
}

/** Runs or resumes the suites, and writes the estimated cost and the progress to stderr. */
export async function runWithProgress(terminal: Terminal, work: SuitesToRun): Promise<RanSuites> {
  const { suites, models, settings, signal, recorder } = work
  const { repeat, fresh, concurrency, budget, out } = settings
  const key = planKey({ suites, models, repeat })
  const file = resolve(out ?? planFile(dataFolder(), key))
  const known = { suites, models, repeat, fresh, concurrency, budget, file, key, signal }
  let progress: TrialProgress | undefined
  try {
    return await runSuites(recorder === undefined ? known : { ...known, recorder }, {
      begun(planned, left, path) {
        const done = planned.length - left.length
        if (done > 0) {
          const before = `${done} of ${planned.length} trials were made before`
          terminal.note(printableLine(`Going on: ${before}, in ${path} (--fresh starts over).`))
        }
        tellEstimate(terminal, left, budget)
        progress = new TrialProgress(terminal, { of: left.length })
      },
      made: (trial) => progress?.add(trial),
      stopped(model, { reason, message }) {
        if (reason !== 'cancelled') progress?.note(terminal.styleNote('red', printableLine(`${model}: ${message}`)))
      },
      notRecorded: (error) =>
        progress?.note(printableLine(`The trials are not recorded in the store from here on: ${messageOf(error)}`)),
    })
  } catch (error) {
    throw error instanceof TrialFileError ? new UsageError(error.message, { cause: error }) : error
  } finally {
    progress?.clear()
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
