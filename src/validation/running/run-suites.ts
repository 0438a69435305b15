import { hash } from 'node:crypto'
import { join } from 'node:path'
import { LOCAL_TENANT } from '../../core/call.ts'
import type { CancelSignal } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import type { ModelValidationTracker } from '../model-validation-tracker.ts'
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

/** Which suites run with which models, and how often. */
export interface SuitesPlan {
  readonly suites: readonly HashedSuite[]
  readonly models: readonly TriedModel[]
  readonly repeat: number
}

interface SuitesWork extends SuitesPlan {
  readonly budget: BudgetLimits
  readonly concurrency?: number
  /** Starts over even if there is an unfinished run. */
  readonly fresh: boolean
  /** The trial file, and the plan's key in it. */
  readonly file: string
  readonly key: string
  readonly signal: CancelSignal
  readonly clock?: Clock
  /** Undefined if there is no store. */
  readonly recorder?: TrialRecorder
}

/** Receives progress. */
interface SuitesListener {
  /** Called once, before the first request. */
  begun(planned: readonly PlannedTrial[], left: readonly PlannedTrial[], file: string): void
  /** A trial is finished and in the file. */
  made(trial: Trial): void
  /** A model was stopped early. */
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

/** The trial file of a plan in the data folder. */
export const planFile = (folder: string, key: string): string => join(folder, 'validation', `${key.slice(0, 16)}.jsonl`)

/** All trials of a plan. */
export const trialsOf = ({ suites, models, repeat }: SuitesPlan): PlannedTrial[] =>
  models.flatMap((model) => planTrials(suites, model, repeat))

/** The trials that no earlier run has finished. */
export const trialsLeft = (planned: readonly PlannedTrial[], earlier: ReadonlyMap<string, Trial>): PlannedTrial[] =>
  planned.filter((trial) => !isDone(earlier.get(keyOf(trial))))

/** Runs suites, or resumes an interrupted run of the same plan. Rejects with a `TrialFileError`. */
export async function runSuites(work: SuitesWork, listener: SuitesListener): Promise<RanSuites> {
  const { budget: limits, fresh, key } = work
  const planned = trialsOf(work)
  const file = await TrialFile.open(work.file, { key, fresh })
  try {
    const earlier = file.read(planned)
    listener.begun(planned, trialsLeft(planned, earlier), file.path)
    const budget = new SuiteBudget(limits)
    const run = await runPlan(work, listener, { file, earlier, budget })
    if (planned.every((trial) => isDone(run.trials.get(keyOf(trial))))) await file.finish()
    return { run, file: file.path, spent: budget.total }
  } finally {
    await file.close()
  }
}

interface RunState {
  readonly file: TrialFile
  readonly earlier: ReadonlyMap<string, Trial>
  readonly budget: SuiteBudget
}

function runPlan(work: SuitesWork, listener: SuitesListener, { file, earlier, budget }: RunState): Promise<SuiteRun> {
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

interface TrialRecorderOptions {
  readonly tests: ModelValidationTracker
  readonly uses: ToolUseTracker
  readonly registry: ToolRegistry
  readonly tenant: string
}

/** Records trials in the store: each is a test of its model, and a use of the tools that its case is about. */
export class TrialRecorder {
  readonly #options: TrialRecorderOptions

  constructor(options: TrialRecorderOptions) {
    this.#options = options
  }

  async record(trial: Trial): Promise<void> {
    if (!isJudged(trial)) return
    const { tests, uses, tenant } = this.#options
    const { verdict, suite, repetition, case: asked, model } = trial
    const { id } = model.model
    const details = { suite: suite.suite.name, case: asked.id, repetition }
    if (verdict.passed) await tests.recordSuccess(id, details)
    else await tests.recordFailure(id, verdict.message, { ...details, kind: verdict.kind })
    for (const [tool] of byTool(trial, trial)) {
      const hash = this.#hashOf(trial, tool)
      if (hash === undefined) continue
      uses.record({ tenant, model: id, tool, schemaHash: hash, outcome: verdict, source: 'suite' })
    }
  }

  /** Undefined for tools that this installation doesn't have in the same form, such as those of BFCL. */
  #hashOf({ case: { tools } }: Trial, name: string): string | undefined {
    const { registry } = this.#options
    const offered = tools.find((tool) => tool.name === name)
    const registered = registry.get(name)
    if (offered === undefined || registered === undefined) return undefined
    const hash = schemaHash(offered)
    return hash === schemaHash(registry.definitionOf(registered)) ? hash : undefined
  }
}
