import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { CancelSignal } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { ModelValidationTracker } from '../model-validation.ts'
import { schemaHash } from '../tool-use/tool-use.ts'
import type { ToolUseTracker } from '../tool-use/tool-use-tracker.ts'
import { type BudgetLimits, SuiteBudget } from './suite-budget.ts'
import { type SuiteRun, SuiteRunner } from './suite-runner.ts'
import {
  byTool,
  type HashedSuite,
  isJudged,
  keyOf,
  type PlannedTrial,
  planTrials,
  type Spent,
  type Stopped,
  type Trial,
  type TriedModel,
} from './trial.ts'
import { TrialFile } from './trial-file.ts'

export interface SuitesPlan {
  readonly suites: readonly HashedSuite[]
  readonly models: readonly TriedModel[]
  readonly repeat: number
}

interface SuitesWork extends SuitesPlan {
  readonly budget: BudgetLimits
  readonly concurrency?: number | undefined
  readonly fresh: boolean
  /** The trial file, and the plan's key in it. */
  readonly file: string
  readonly key: string
  readonly tenant?: string
  readonly signal: CancelSignal
  readonly clock?: Clock | undefined
  /** Undefined if there is no store. */
  readonly recorder?: TrialRecorder | undefined
}

interface SuitesListener {
  /** Called once, before the first request. */
  begun(planned: readonly PlannedTrial[], left: readonly PlannedTrial[], file: string): void
  /** A trial is finished and in the file. */
  made(trial: Trial): void
  stopped(model: string, stopped: Stopped): void
  /** The store rejected a trial: this and later ones are only in the file. */
  notRecorded(error: unknown): void
}

export interface RanSuites {
  readonly run: SuiteRun
  readonly file: string
  /** Without trials of earlier runs. */
  readonly spent: Spent
}

/** Identifies a plan of a tenant, so that the same plan is resumed. */
export function planKey({ suites, models, repeat }: SuitesPlan, tenant: string = LOCAL_TENANT): string {
  const plan = [suites.map((one) => one.hash), models.map(({ model }) => model.id), repeat]
  return hash('sha256', JSON.stringify(tenant === LOCAL_TENANT ? plan : [...plan, tenant]))
}

export const planFile = (folder: string, key: string): string => join(folder, 'validation', `${key.slice(0, 16)}.jsonl`)

export const trialsOf = ({ suites, models, repeat }: SuitesPlan): PlannedTrial[] =>
  models.flatMap((model) => planTrials(suites, model, repeat))

/** The trials that no earlier run has finished. */
export const trialsLeft = (planned: readonly PlannedTrial[], earlier: ReadonlyMap<string, Trial>): PlannedTrial[] =>
  planned.filter((trial) => !isDone(earlier.get(keyOf(trial))))

/** Runs suites, or resumes an interrupted run of the same plan. Rejects with a `TrialFileError`. */
export async function runSuites(work: SuitesWork, listener: SuitesListener): Promise<RanSuites> {
  const { suites, models, repeat, concurrency, signal, clock, fresh, key, tenant } = work
  let { recorder } = work
  const planned = trialsOf(work)
  const file = await TrialFile.open(work.file, { key, fresh })
  const onTrial = async (trial: Trial): Promise<void> => {
    await file.add(trial)
    listener.made(trial)
    await recorder?.(trial).catch((error: unknown) => {
      recorder = undefined
      listener.notRecorded(error)
    })
  }
  try {
    const earlier = file.read(planned)
    listener.begun(planned, trialsLeft(planned, earlier), file.path)
    const budget = new SuiteBudget(work.budget)
    const run = await new SuiteRunner({
      suites,
      models,
      repeat,
      budget,
      signal,
      tenant,
      earlier,
      onTrial,
      onStop: (model, stopped) => listener.stopped(model, stopped),
      ...(concurrency !== undefined && { concurrency }),
      ...(clock !== undefined && { clock }),
    }).run()
    if (planned.every((trial) => isDone(run.trials.get(keyOf(trial))))) await file.finish()
    return { run, file: file.path, spent: budget.total }
  } finally {
    await file.close()
  }
}

const isDone = (trial: Trial | undefined): boolean => trial !== undefined && isJudged(trial)

interface TrialRecorderOptions {
  readonly tests: ModelValidationTracker
  readonly uses: ToolUseTracker
  readonly registry: ToolRegistry
  readonly tenant: string
}

/** Records a trial in the store. */
export type TrialRecorder = (trial: Trial) => Promise<void>

/** Records each trial as a test of its model, and as a use of the tools that its case is about. */
export const trialRecorder =
  ({ tests, uses, registry, tenant }: TrialRecorderOptions): TrialRecorder =>
  async (trial) => {
    if (!isJudged(trial)) return
    const { verdict, suite, repetition, case: asked, model } = trial
    const { id } = model.model
    const details = { suite: suite.suite.name, case: asked.id, repetition }
    if (verdict.passed) await tests.recordSuccess(id, details)
    else await tests.recordFailure(id, verdict.message, { ...details, kind: verdict.kind })
    for (const [tool] of byTool(trial, trial)) {
      const offered = asked.tools.find(({ name }) => name === tool)
      const registered = registry.get(tool)
      if (offered === undefined || registered === undefined) continue
      // Tools of BFCL, for example, aren't registered in the same form.
      const hash = schemaHash(offered)
      if (hash !== schemaHash(registry.definitionOf(registered))) continue
      uses.record({ tenant, model: id, tool, schemaHash: hash, outcome: verdict, source: 'suite' })
    }
  }
