import type { ToolRegistry } from '../../core/tool-registry.ts'
import type { ModelValidationTracker } from '../model-validation-tracker.ts'
import { byTool } from '../reports/build-report.ts'
import { schemaHash } from '../tool-use/schema-hash.ts'
import type { ToolUseTracker } from '../tool-use/tool-use-tracker.ts'
import { isJudged, type Trial } from './trial.ts'

export interface TrialRecorderOptions {
  /** Those of the tenant. */
  readonly tests: ModelValidationTracker
  readonly uses: ToolUseTracker
  readonly registry: ToolRegistry
  readonly tenant: string
}

/** Puts trials on record in the store: each is a test of its model, and a use of the tools that its case is about. */
export class TrialRecorder {
  readonly #options: TrialRecorderOptions

  constructor(options: TrialRecorderOptions) {
    this.#options = options
  }

  /** One that was not answered says nothing about the model, and is not recorded. */
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

  /** Only tools that this installation has, as it has them: those of a yardstick are nobody's here. */
  #hashOf({ case: { tools } }: Trial, name: string): string | undefined {
    const { registry } = this.#options
    const offered = tools.find((tool) => tool.name === name)
    const registered = registry.get(name)
    if (offered === undefined || registered === undefined) return undefined
    const hash = schemaHash(offered)
    return hash === schemaHash(registry.definitionOf(registered)) ? hash : undefined
  }
}
