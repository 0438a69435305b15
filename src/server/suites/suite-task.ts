import type { Installation } from '../../config/installation.ts'
import { writeLog } from '../../core/log.ts'
import { ModelValidationTracker } from '../../validation/model-validation-tracker.ts'
import { buildReport } from '../../validation/reports/build-report.ts'
import type { ReportedTrial, ValidationReport } from '../../validation/reports/validation-report.ts'
import { runSuites, TrialRecorder } from '../../validation/running/run-suites.ts'
import { TrialFileError } from '../../validation/running/trial-file.ts'
import { HttpProblem } from '../http-problem.ts'
import { type Task, type TaskContext, TaskError, type TaskName } from '../jobs/task.ts'
import { prepareSuites } from './prepare-suites.ts'
import { SuiteCount } from './suite-progress.ts'
import { limitsOf, type SuiteRequest } from './suite-request.ts'

/** What the jobs that run suites are known by. */
export const SUITES: TaskName = 'toolyard/suites'

/** Trials that are shown whole; of the others only what was wrong. */
const MOST_WHOLE = 500

/** Runs suites as `toolyard validate` does, and puts their trials on record for the tenant. */
export const suiteTask = (installation: Installation): Task => ({
  async run(params, context) {
    try {
      return await run(installation, params as SuiteRequest, context)
    } catch (error) {
      if (error instanceof HttpProblem) throw new TaskError(error.message, { cause: error })
      if (!(error instanceof TrialFileError)) throw error
      writeLog(installation.log, 'error', { err: error }, 'The trials of a suite could not be written down')
      throw new TaskError('The trials could not be written down: the log of the server says more.', { cause: error })
    }
  },
})

async function run(
  installation: Installation,
  request: SuiteRequest,
  { tenant, signal, report }: TaskContext,
): Promise<ValidationReport> {
  const { storage, clock, log, toolUse: uses, manager } = installation
  const prepared = await prepareSuites(installation, tenant, request)
  const tests = new ModelValidationTracker({ store: storage.validations, tenant, clock })
  const recorder = new TrialRecorder({ tests, uses, tenant, registry: manager.getRegistry() })
  let count = new SuiteCount([], [])
  const tell = (): void => report(count.progress)
  const work = { ...prepared, budget: limitsOf(request), fresh: request.fresh === true, signal, clock, recorder }
  const { run: made } = await runSuites(work, {
    begun(planned, left) {
      count = new SuiteCount(planned, left)
      tell()
    },
    made(trial) {
      count.add(trial)
      tell()
    },
    stopped(model, stopped) {
      count.stop(model, stopped)
      tell()
    },
    notRecorded(err) {
      writeLog(log, 'error', { err }, 'The trials of a suite are not recorded from here on')
      count.notRecorded()
      tell()
    },
  })
  // What was counted is to be seen by whoever looks as soon as it is over.
  await uses.flush()
  const { suites, repeat: repetitions } = prepared
  const createdAt = new Date(clock.wall()).toISOString()
  return bounded(buildReport(made, { suites, repetitions, createdAt }))
}

/** What a model did is kept where it was wrong. */
function bounded(report: ValidationReport): ValidationReport {
  let whole = 0
  const trials = report.trials.map((trial): ReportedTrial => {
    if (trial.kind !== undefined && ++whole <= MOST_WHOLE) return trial
    const { turns: _turns, expected: _expected, actual: _actual, expectation: _expectation, ...rest } = trial
    return rest
  })
  return { ...report, trials }
}
